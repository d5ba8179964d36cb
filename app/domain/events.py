"""Every durable fact about a run, one class a type. The same form is stored, streamed and shown in the trace.

`seq` numbers the events of a run 1, 2, 3 … without gaps; it is 0 until the journal has given it one. `task_id` and
`attempt` say whose event it is. Older processes ignore fields they do not know. The module is longer than most, so that
all there is to know about a log is in one file.
"""

from datetime import datetime
from decimal import Decimal
from typing import Annotated, Any, Generic, Literal, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from app.domain.codes import StopReason
from app.domain.job import Limits
from app.domain.plan import Finding, Plan
from app.domain.results import Escalation, Output, Problem, Result, Synthesis
from app.domain.states import RUN_MOVES, TERMINAL_RUN
from app.domain.team import TeamRef
from app.domain.usage import Money, Usage

Purpose = Literal["plan", "work", "refine", "synthesize"]
"""Why a model is called."""
Effect = Literal["read", "idempotent", "once"]
"""What a tool does: `read` may be repeated freely, `idempotent` only with the same key, `once` never."""


class _Fact(BaseModel):
    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)


FactT = TypeVar("FactT", bound=BaseModel)


class BaseEvent(BaseModel, Generic[FactT]):
    """The envelope of every event."""

    # Docstrings of the fields would be read anew for each of the classes below, which takes seconds at every start.
    model_config = ConfigDict(frozen=True)

    seq: int = Field(default=0, description="Its number in the run: 1, 2, 3 … without gaps.")
    type: str = Field(description="What happened.")
    at: datetime = Field(description="When it happened.")
    run_id: str = Field(description="The run it belongs to.")
    task_id: str | None = Field(default=None, description="The task it is about; null for the run as a whole.")
    attempt: int | None = Field(
        default=None,
        description="The attempt at the task it belongs to; null for the task or the run as a whole.",
    )
    data: FactT = Field(description="What there is to know about it.")


class InputListed(_Fact):
    """An input of the job, without its content: `GET /v1/runs/{id}/inputs/{name}` has that."""

    name: str
    """The name by which tools read it."""
    media_type: str
    """Its media type."""
    characters: int
    """Length of its content in characters."""


class JobAccepted(_Fact):
    """The job as the run will do it."""

    objective: str
    """What the job is to achieve."""
    team: TeamRef
    """The team, pinned to a version."""
    limits: Limits
    """The limits as applied, defaults filled in."""
    inputs: tuple[InputListed, ...] = ()
    """The inputs, without their content."""
    plan: Plan | None = None
    """The client's own plan, validated."""
    request_id: str | None = None
    """Id of the request that brought the job, as the log has it."""
    traceparent: str | None = None
    """Where the job stands in the client's own trace (W3C Trace Context), if it said so."""


class Claimed(_Fact):
    """Which engine has the run now."""

    engine: str
    """Which process executes the run from here on."""
    epoch: int
    """Rises with every claim; writes of an older epoch are refused."""


class Resumed(Claimed):
    """Which engine has the run now, and what was lost on the way."""

    lost_calls: int = 0
    """Model calls that were under way when the process before this one ended."""
    usage: Usage = Usage()
    """What those calls are reckoned to have cost."""


class Waiting(_Fact):
    """What the run waits for."""

    reason: Literal["provider"]
    """What the run waits for: `provider`, that its model provider takes requests again."""
    until: datetime
    """When it goes on at the latest."""


class CancelRequested(_Fact):
    """Why the client wants the run to end."""

    reason: str | None = None
    """The client's words; null when it gave none."""


class Ended(_Fact):
    """How the run ended, and what it hands over."""

    stop_reason: StopReason
    """Why the run ended this way."""
    result: Result
    """What the run brought back."""


class EndedInFailure(_Fact):
    """Why the run failed, and what it hands over all the same."""

    stop_reason: StopReason
    """Why the run failed."""
    error: Problem
    """The same for people."""
    result: Result | None = None
    """What was delivered before the failure."""


class TaskStopped(_Fact):
    """What a cancellation did to one task."""

    task: str
    """Id of the task."""
    status: str
    """What the task ended as."""
    stopped_at: datetime | None
    """Null for a task that had ended before the request."""


class Cancellation(_Fact):
    """The receipt: what a cancellation stopped, and what was still spent after it was asked for."""

    requested_at: datetime
    """When the client asked."""
    completed_at: datetime | None = None
    """When the last thing had stopped; null until then."""
    reason: str | None = None
    """The client's words; null when it gave none."""
    tasks: tuple[TaskStopped, ...] = ()
    """Every task of the plan, with what became of it."""
    cost_usd_after_request: Money = Decimal(0)
    """What calls cost that were under way when the client asked."""


class Rejected(_Fact):
    """What is wrong with what a model wrote."""

    errors: tuple[Finding, ...]
    """What is wrong, place by place."""
    note: str | None
    """What the model was told; null when it was not asked again."""


class AttemptStarted(_Fact):
    """Who works on what, with which tools."""

    worker: str
    """The worker that makes the attempt."""
    model: str
    """Id of the model that plays the worker."""
    instruction: str
    """What the worker is told to do."""
    tools: tuple[str, ...] = ()
    """Names of the tools it may use."""


class Failed(_Fact):
    """Why it failed."""

    error: Problem
    """The failure."""


class Stopped(_Fact):
    """Why it was stopped."""

    error: Problem | None = None
    """Set when it was stopped for lack of time or money; null when the run ended around it."""


class Retrying(_Fact):
    """Why the attempt failed, and when the next one may start."""

    error: Problem
    """The failure of the attempt that ended."""
    next_attempt: int
    """Number of the attempt to come."""
    not_before: datetime
    """When it starts at the earliest."""
    refine: bool
    """Whether the supervisor rewrites the instruction first."""


class Refined(_Fact):
    """The new instruction, and what is different about it."""

    instruction: str
    """The instruction of the next attempt."""
    refined_from: int
    """The attempt whose failure led to it."""
    change: str = ""
    """What the supervisor changed, in its words."""
    free_form: bool = False
    """True when the reply was prose, taken for the instruction as it stood."""


class Opening(_Fact):
    """How a conversation was opened."""

    system: str
    """The system prompt."""
    message: str
    """The first message."""
    tools: tuple[str, ...] = ()
    """Names of the tools the model was offered."""


class Terms(_Fact):
    """What a model is offered and held to beside its prompt: the same for all calls of a conversation."""

    tools: tuple[dict[str, Any], ...] = ()
    """The tools, as they are declared to the provider: name, description, input schema."""
    output_schema: dict[str, Any] | None = None
    """JSON schema that the final text must fit."""


class ModelCall(_Fact):
    """A model call: why, of which model, and what it took."""

    purpose: Purpose
    """Why the model was called."""
    model: str
    """Id of the model."""
    usage: Usage
    """What the call consumed."""
    duration_ms: int
    """Milliseconds from the request to its end."""
    request_id: str | None = None
    """The provider's id of the request, where it gave one."""
    waited_ms: int = 0
    """How long it waited to be sent: for a slot, or since the provider had asked for a pause."""
    silent_ms: int = 0
    """How long the provider then said nothing; the worker's own time begins with the first word of a reply."""
    opening: Opening | None = None
    """Set on the first call of a conversation; later calls send what the events before them hold."""
    max_tokens: int | None = None
    """The cap on the reply's tokens that was asked for; null where the call was recorded before this was."""
    terms_id: str | None = None
    """Names the tools and the output schema of the call; equal terms have equal names."""
    terms: Terms | None = None
    """The terms themselves: set on the first call of the run that is made under them."""


class ModelReplied(ModelCall):
    """A model call and its reply."""

    stop_reason: str
    """Why the model stopped, in the words of the Messages API."""
    content: list[dict[str, Any]]
    """The content blocks of the reply, in the form of the Messages API."""
    left_out: tuple[str, ...] = ()
    """What the request went without, since the provider does not take it."""
    thrown_away: Problem | None = None
    """Why nothing of the reply is used: it was cut, refused, or ended otherwise than a reply may. Null for one that is
    read; when reading finds it unusable, the next event (`plan.invalid`, `task.rejected` and the like) says so."""


class ModelFailed(ModelCall):
    """A model call and why it brought nothing."""

    error: Problem
    """What went wrong."""
    retry_at: datetime | None = None
    """When the same request is sent again; null when it is not."""
    not_before: datetime | None = None
    """When the provider wanted to be asked again; null when it did not say."""
    sent: bool = True
    """False for a call that never left: it cost nothing, and counts as no failure."""


class ToolCalled(_Fact):
    """A tool call as the model made it."""

    call_id: str
    """The model's id of the call."""
    name: str
    """Name of the tool."""
    input: Any = None
    """What the model passed to it."""
    effect: Effect
    """What a call of this tool does, and so whether it may be repeated after a crash."""
    key: str
    """The idempotency key: the same for every repetition of this call."""


class ToolReturned(_Fact):
    """A tool call and its result."""

    call_id: str
    """The model's id of the call."""
    name: str
    """Name of the tool."""
    output: str
    """As the model sees it."""
    omitted: int = 0
    """Characters left out of the middle."""
    duration_ms: int
    """Milliseconds that the call took."""
    provider: bool = False
    """True for a tool that the model's provider ran."""
    input: Any = None
    """What the provider asked its own tool; null for our tools, whose `tool.started` has it."""


class ToolBroke(_Fact):
    """A tool call and its failure."""

    call_id: str
    """The model's id of the call."""
    name: str
    """Name of the tool."""
    error: Problem
    """What went wrong, as the model sees it."""
    duration_ms: int
    """Milliseconds that the call took."""
    provider: bool = False
    """True for a tool that the model's provider ran."""
    input: Any = None
    """What the provider asked its own tool; null for our tools, whose `tool.started` has it."""


class RunQueued(BaseEvent[JobAccepted]):
    """The job was accepted; its run waits for an engine."""

    type: Literal["run.queued"] = "run.queued"


class RunStarted(BaseEvent[Claimed]):
    """An engine has taken the run for the first time; the deadline counts from here."""

    type: Literal["run.started"] = "run.started"


class RunResumed(BaseEvent[Resumed]):
    """An engine has taken the run again: after a wait, or because the process before it ended."""

    type: Literal["run.resumed"] = "run.resumed"


class RunWaiting(BaseEvent[Waiting]):
    """The run has given its place back and goes on by itself at the time named."""

    type: Literal["run.waiting"] = "run.waiting"


class RunCancelRequested(BaseEvent[CancelRequested]):
    """A client asked for the end of the run; what is under way is being stopped."""

    type: Literal["run.cancel_requested"] = "run.cancel_requested"


class RunSucceeded(BaseEvent[Ended]):
    """The end: every required task delivered, and here is the answer."""

    type: Literal["run.succeeded"] = "run.succeeded"


class RunPartial(BaseEvent[Ended]):
    """The end: there is a usable result, and something is missing from it. The result says what."""

    type: Literal["run.partial"] = "run.partial"


class RunFailed(BaseEvent[EndedInFailure]):
    """The end: there is nothing usable. `error` says why."""

    type: Literal["run.failed"] = "run.failed"


class RunCancelled(BaseEvent[Cancellation]):
    """The end: a client asked for it. The data is the receipt."""

    type: Literal["run.cancelled"] = "run.cancelled"


class PlanCreated(BaseEvent[Plan]):
    """The plan is sound, and its tasks may start."""

    type: Literal["plan.created"] = "plan.created"


class PlanInvalid(BaseEvent[Rejected]):
    """What the supervisor wrote cannot be carried out; it is asked once more or the run fails."""

    type: Literal["plan.invalid"] = "plan.invalid"


class TaskStarted(BaseEvent[AttemptStarted]):
    """An attempt at the task begins."""

    type: Literal["task.started"] = "task.started"


class TaskSucceeded(BaseEvent[Output]):
    """The task has delivered."""

    type: Literal["task.succeeded"] = "task.succeeded"


class TaskFailed(BaseEvent[Failed]):
    """The task has failed for good; no attempt is left, or none would help."""

    type: Literal["task.failed"] = "task.failed"


class TaskRetrying(BaseEvent[Retrying]):
    """The attempt failed and there will be another one."""

    type: Literal["task.retrying"] = "task.retrying"


class TaskRefined(BaseEvent[Refined]):
    """The supervisor rewrote the instruction for the next attempt."""

    type: Literal["task.refined"] = "task.refined"


class TaskRejected(BaseEvent[Rejected]):
    """What the worker handed in does not fit its output schema."""

    type: Literal["task.rejected"] = "task.rejected"


class TaskEscalated(BaseEvent[Escalation]):
    """The worker says that it cannot or should not finish the task."""

    type: Literal["task.escalated"] = "task.escalated"


class TaskSkipped(BaseEvent[Failed]):
    """The task never starts, since one that it depends on has failed."""

    type: Literal["task.skipped"] = "task.skipped"


class TaskCancelled(BaseEvent[Stopped]):
    """The task was stopped, by the end of the run or for lack of time or money."""

    type: Literal["task.cancelled"] = "task.cancelled"


class LlmCompleted(BaseEvent[ModelReplied]):
    """A model replied."""

    type: Literal["llm.completed"] = "llm.completed"


class LlmFailed(BaseEvent[ModelFailed]):
    """A model call brought no usable reply."""

    type: Literal["llm.failed"] = "llm.failed"


class ToolStarted(BaseEvent[ToolCalled]):
    """A tool call is about to be carried out."""

    type: Literal["tool.started"] = "tool.started"


class ToolCompleted(BaseEvent[ToolReturned]):
    """A tool call brought a result."""

    type: Literal["tool.completed"] = "tool.completed"


class ToolFailed(BaseEvent[ToolBroke]):
    """A tool call failed; the worker reads why and goes on."""

    type: Literal["tool.failed"] = "tool.failed"


class SynthesisCompleted(BaseEvent[Synthesis]):
    """The supervisor has reconciled what the tasks delivered."""

    type: Literal["synthesis.completed"] = "synthesis.completed"


class SynthesisRejected(BaseEvent[Rejected]):
    """The supervisor's synthesis does not fit what was asked of it."""

    type: Literal["synthesis.rejected"] = "synthesis.rejected"


Event = Annotated[
    RunQueued | RunStarted | RunResumed | RunWaiting | RunCancelRequested
    | RunSucceeded | RunPartial | RunFailed | RunCancelled
    | PlanCreated | PlanInvalid
    | TaskStarted | TaskSucceeded | TaskFailed | TaskRetrying | TaskRefined | TaskRejected | TaskEscalated
    | TaskSkipped | TaskCancelled
    | LlmCompleted | LlmFailed | ToolStarted | ToolCompleted | ToolFailed
    | SynthesisCompleted | SynthesisRejected,
    Field(discriminator="type"),
]  # fmt: skip

ANY_EVENT: TypeAdapter[Event] = TypeAdapter(Event)

EVENT_TYPES = frozenset(kind.model_fields["type"].default for kind in get_args(get_args(Event)[0]))
RUN_ENDS = frozenset(type_ for (_, type_), status in RUN_MOVES.items() if status in TERMINAL_RUN)
"""The types that end a run, and its stream."""
