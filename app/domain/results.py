"""What work brings back: a worker's output, the supervisor's synthesis, the result of a run."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from app.domain.artifacts import Artifact, ListedArtifact
from app.domain.codes import TaskErrorCode
from app.domain.coverage import Coverage, ReducedGroup
from app.domain.flaws import Flaw
from app.domain.questions import Assumption
from app.domain.reviews import Review
from app.domain.selection import Selection
from app.domain.strategies import USUAL, Strategy


class _Value(BaseModel):
    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)


class Problem(_Value):
    """Why something failed: a stable code, and a sentence for people."""

    code: str
    """What happened, for programs."""
    message: str
    """What happened, for people."""


class Claim(_Value):
    """What one task says about a topic."""

    task: str
    """Id of the task."""
    claim: str
    """What its result says."""


class Conflict(_Value):
    """Results that contradict each other, and what became of it."""

    id: str
    """Its id in the result."""
    topic: str
    """What the results disagree about."""
    claims: tuple[Claim, ...]
    """What each of them says."""
    status: Literal["resolved", "unresolved"]
    """Whether it could be settled."""
    resolution: str | None = None
    """What the answer holds to be right; null while unresolved."""
    method: str | None = None
    """How it was settled: by `evidence` or `majority` as the supervisor saw them, by a `judge`, by a `tie_break` task,
    or by a `human` who was asked; null while unresolved."""
    confidence: float | None = None
    """0 to 1, how sure the supervisor or the judge is of that; null when it did not say."""


class Gap(_Value):
    """A task that delivered nothing."""

    task: str
    """Id of the task."""
    reason: TaskErrorCode
    """The error code of the task."""
    impact: str = ""
    """What its absence means for the answer, in the words of the supervisor."""
    redispatched_as: str | None = None
    """Id of the task that was planned in its place; null when none was."""


class NestedResult(_Value):
    """What a nested run says of its result beside the result itself."""

    run: str
    """Id of the run; its plan, tasks and trace are its own."""
    status: Literal["succeeded", "partial"]
    """What it ended as."""
    stop_reason: str
    """Why it ended this way."""
    gaps: tuple[Gap, ...] = ()
    """What is missing from its answer; the tasks are those of its own plan."""
    conflicts: tuple[Conflict, ...] = ()
    """Where results of its tasks contradict each other."""
    assumptions: tuple[Assumption, ...] = ()
    """What was taken for granted in it where nobody answered a question."""
    files_left: tuple[str, ...] = ()
    """Names of files that were not handed on, since they are more or larger than one result may hand over: the nested
    run has them."""

    @property
    def unresolved(self) -> list[Conflict]:
        """The conflicts that it leaves open."""
        return [each for each in self.conflicts if each.status == "unresolved"]


class Delivered(_Value):
    """The structured result of a task, without the files that come with it."""

    summary: str
    """The result in a few sentences."""
    data: Any = None
    """Structured data, when the worker has an output schema."""
    text: str = ""
    """The full result, Markdown."""
    confidence: float | None = None
    """0 to 1 as the worker judges it; null when it did not say."""
    sources: tuple[str, ...] = ()
    """What the result rests on: URLs, input names."""
    free_form: bool = False
    """True when the worker did not keep to the form of a report: what it wrote was taken for the result as it stood."""
    partial: bool = False
    """True when the worker stopped before the end, and the supervisor took what it had."""
    tool_calls: int | None = None
    """Tool calls of the attempt that delivered it; null in results of earlier releases."""
    unverified: bool = False
    """True when each of these calls failed, or none was made and the result seems to say that something was done in the
    world: it rests on nothing but the worker's word."""
    instruction_like: bool = False
    """True when it speaks as the system or a user would, or in the marks of a prompt: it is material all the same."""
    nested: NestedResult | None = None
    """What the nested run that delivered it says of it; null when a worker delivered it itself."""


class Output(Delivered):
    """The structured result of a task."""

    artifacts: tuple[Artifact, ...] = ()
    """Files that it hands over."""

    @property
    def texts(self) -> tuple[str, ...]:
        """What it says in running text, in its files too."""
        return (self.summary, self.text, *(each.text for each in self.artifacts if each.text is not None))


EscalationDecision = Literal["retry_stronger_model", "reassign", "split", "ask_human", "accept_partial", "give_up"]
"""What a supervisor may make of an escalation."""
EscalationReason = Literal["out_of_scope", "ambiguous_input", "confidence_too_low", "timeout"]


class Escalation(_Value):
    """A worker's word that it cannot or should not finish the task."""

    reason: EscalationReason
    """Why the worker stops."""
    message: str
    """The same in its own words."""
    partial: str | None = None
    """What it has so far."""
    decision: str | None = None
    """What the supervisor made of it; null while nothing was decided."""


class Statement(_Value):
    """A sentence of the answer and the tasks it rests on."""

    text: str
    """What the answer says."""
    tasks: tuple[str, ...]
    """Ids of the tasks it rests on; only such as delivered."""


class DataSource(_Value):
    """Where a value of the caller's data comes from."""

    pointer: str
    """JSON pointer to the value, or to what holds it."""
    tasks: tuple[str, ...]
    """Ids of the tasks it comes from; only such as delivered."""


class RejectedAnswer(_Value):
    """An answer that was turned down: what it said, and what is wrong with it."""

    answer: str
    """The answer, Markdown. Nothing vouches for it."""
    errors: tuple[Flaw, ...]
    """What is wrong with it."""


class Synthesis(_Value):
    """The supervisor's reconciliation, before code adds what it knows better."""

    answer: str
    """The answer, Markdown."""
    confidence: float | None = None
    """0 to 1 as the supervisor judges it; null when it did not say."""
    statements: tuple[Statement, ...] = ()
    """The sentences of the answer with the tasks they rest on."""
    conflicts: tuple[Conflict, ...] = ()
    """Where results contradict each other."""
    impacts: dict[str, str] = Field(default_factory=dict)
    """What the absence of a task means for the answer, by task id."""
    free_form: bool = False
    """True when the reply was prose, taken for the answer as it stood: it has no statements then."""
    data: Any = None
    """The answer in the form that the job asks for; null when it asks for none."""
    data_sources: tuple[DataSource, ...] = ()
    """Where the values of `data` come from."""
    artifacts: tuple[Artifact, ...] = ()
    """Files that go out with the answer."""


class TaskReport(_Value):
    """A task's result as the run shows it."""

    task: str
    """Id of the task."""
    worker: str
    """The worker that made the last attempt."""
    status: str
    """What the task ended as."""
    summary: str | None = None
    """Its result in a few sentences; null when it delivered nothing."""
    data: Any = None
    """Its structured data, when the worker has an output schema."""
    text: str | None = None
    """The result, Markdown; a very long one is shortened with a notice. Null when the task delivered nothing."""
    omitted: int = 0
    """Characters left out of the middle of `text`; the task itself has all of it."""
    confidence: float | None = None
    """0 to 1 as the worker judges it; null when it did not say."""
    sources: tuple[str, ...] = ()
    """What the result rests on: URLs, input names."""
    error: Problem | None = None
    """Why the task delivered nothing; null when it delivered, or ended with a run that was cancelled around it."""
    free_form: bool = False
    """True when the worker did not keep to the form of a report: what it wrote was taken for the result as it stood."""
    partial: bool = False
    """True when the worker stopped before the end, and the supervisor took what it had."""
    tool_calls: int | None = None
    """Tool calls of the attempt that delivered; null when none did, and in results of earlier releases."""
    unverified: bool = False
    """True when each of these calls failed, or none was made and the result seems to say that something was done in the
    world: it rests on nothing but the worker's word."""
    instruction_like: bool = False
    """True when it speaks as the system or a user would, or in the marks of a prompt: it is material all the same."""
    nested: NestedResult | None = None
    """What the nested run that delivered it says of it; null when a worker delivered it itself."""


class Result(_Value):
    """What a run brought back."""

    answer: str | None
    """Markdown; null when no synthesis was possible, while `outputs` still holds what the workers delivered."""
    rejected_answer: RejectedAnswer | None = None
    """The best answer that was turned down, and why, where there is no other; null otherwise."""
    data: Any = None
    """What fits the `output_schema` of the job, or else of the team. Without one: the structured data of the only task
    of a run, or of the task that was chosen, when its worker has an output schema."""
    data_sources: tuple[DataSource, ...] = ()
    """Which tasks the values of `data` come from, where the job or the team has an output schema."""
    confidence: float | None = None
    """0 to 1, how far the answer can be trusted; null when nobody said."""
    statements: tuple[Statement, ...] = ()
    """What the answer says, and which tasks each statement rests on."""
    conflicts: tuple[Conflict, ...] = ()
    """Where results contradict each other."""
    gaps: tuple[Gap, ...] = ()
    """Tasks that delivered nothing."""
    assumptions: tuple[Assumption, ...] = ()
    """What was taken for granted where nobody answered a question; the answer names it too."""
    coverage: Coverage
    """Required tasks against delivered ones."""
    strategy: Strategy = USUAL
    """How the results became the answer: what the plan says, or `merge` where no choice could be had."""
    selection: Selection | None = None
    """What was chosen, where the plan selects; null where nothing was, or not yet."""
    reductions: tuple[ReducedGroup, ...] = ()
    """The groups of results beneath the answer, the lowest first; empty where all results fitted into one request."""
    rounds: int = 1
    """Rounds of work and synthesis."""
    review: Review | None = None
    """A critic's judgement; null when there was no critic."""
    outputs: tuple[TaskReport, ...] = ()
    """What each task brought, or why it brought nothing, whatever became of the answer."""
    artifacts: tuple[ListedArtifact, ...] = ()
    """Files that the tasks and the answer hand over, to be downloaded."""
    free_form: bool = False
    """True when the answer is what a model wrote without keeping to the form it was asked for."""
