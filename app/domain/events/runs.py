"""What happens to a run as a whole: from the job that was accepted to the end."""

from datetime import datetime
from decimal import Decimal
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from app.domain.artifacts import Artifact
from app.domain.codes import StopReason
from app.domain.events.fact import Fact
from app.domain.job import ApprovalLimits, DryRunLimits, Limits
from app.domain.media_types import DOCUMENTS, essence_of
from app.domain.nested import ChildStopped, Parent
from app.domain.origin import ReusedTask, RunOrigin
from app.domain.plan import Plan, Planning, PlanSource
from app.domain.questions import Assumption, OnQuestion
from app.domain.results import Problem, Result
from app.domain.states import WaitReason
from app.domain.strategies import Strategy
from app.domain.team import TeamRef
from app.domain.usage import Amount, Money, Usage


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)


class InputListed(_Part):
    """An input of the job, without its content: `GET /v1/runs/{id}/inputs/{name}` has that."""

    name: str
    """The name by which tools read it."""
    media_type: str
    """Its media type."""
    characters: int
    """Length of its content in characters."""

    @property
    def told(self) -> dict[str, str | int]:
        """What those who see no content are told of it: of a document, its size as a file."""
        about: dict[str, str | int] = {"name": self.name, "media_type": self.media_type}
        if (kind := DOCUMENTS.get(essence_of(self.media_type))) is not None:
            return about | {"document": kind, "bytes": self.characters * 3 // 4}
        return about | {"characters": self.characters}


class CostAsked(_Part):
    """What a run might have cost by its own limit, had it not been cut."""

    usd: Money | None
    """US dollars; null for no limit."""


class RunQueued(Fact):
    """The job was accepted; its run waits for an engine."""

    type = "run.queued"

    objective: str
    """What the job is to achieve."""
    team: TeamRef
    """The team, pinned to a version."""
    limits: Limits | DryRunLimits | ApprovalLimits
    """The limits as applied, defaults filled in; `dry_run` is among them where nothing is to be executed, `approval`
    where the job wants its plan approved."""
    inputs: tuple[InputListed, ...] = ()
    """The inputs, without their content."""
    plan: Plan | None = None
    """The plan that the run comes with, validated; null when it is still to be made."""
    plan_source: PlanSource | None = None
    """Who has made that plan: the `client`, the `template` of the team, or the `run` that this one comes from; null
    without one, and in runs of earlier releases."""
    planning: Planning | None = None
    """Whom the job wants its plan from: the `model` or the `template` of the team; null where it leaves that open."""
    on_question: OnQuestion | None = None
    """What becomes of a question to a person; null is `ask`."""
    output_schema: dict[str, Any] | None = None
    """JSON Schema that the `data` of the result must fit; null where the job brings none."""
    rubric: str | None = None
    """What a critic goes by; null where the job brings none."""
    strategy: Strategy | None = None
    """How results become the answer; null where the job leaves that open."""
    origin: RunOrigin | None = None
    """The run whose results this one begins with; null for a job of its own."""
    models: dict[str, str] = Field(default_factory=dict)
    """Models that differ from the team's: a tier or a model id by worker, or `supervisor`."""
    parent: Parent | None = None
    """The attempt that this run does the work of; null for a job of a client."""
    ends_by: datetime | None = None
    """When the run ends at the latest, whenever it starts; null when only its own limit says."""
    request_id: str | None = None
    """Id of the request that brought the job, as the log has it."""
    traceparent: str | None = None
    """Where the job stands in the client's own trace (W3C Trace Context), if it said so."""
    cost_asked: CostAsked | None = Field(default=None, exclude_if=lambda asked: asked is None)
    """What it might have cost by its own limit, where what its tenant or key may spend has cut that; else it is left
    out."""


class ResultsReused(Fact):
    """The run begins with what tasks of another one brought: no worker is called for these, nothing is counted twice.

    It stands behind `run.queued`. Older releases cannot read it, so none of them does that work again.
    """

    type = "results.reused"

    run: str
    """The run that they were done in."""
    tasks: tuple[ReusedTask, ...] = ()
    """What became of them there."""
    assumptions: tuple[Assumption, ...] = ()
    """What their results rest on that was taken for granted."""


class _Claimed(Fact):
    engine: str
    """Which process executes the run from here on."""
    epoch: int
    """Rises with every claim; writes of an older epoch are refused."""


class RunStarted(_Claimed):
    """An engine has taken the run for the first time; the deadline counts from here."""

    type = "run.started"


class RunResumed(_Claimed):
    """An engine has taken the run again: after a wait, or because the process before it ended."""

    type = "run.resumed"

    lost_calls: int = 0
    """Model calls that were under way when the process before this one ended."""
    usage: Usage = Usage()
    """What those calls are reckoned to have cost."""
    unsettled: Amount = Amount()
    """What they may have cost beyond that. It counts towards the run's limits, and nowhere else."""


class RunWaiting(Fact):
    """The run has given its place back. It goes on at the time named, or as soon as there is news for it."""

    type = "run.waiting"

    reason: WaitReason
    """What the run waits for: `provider`, that its model provider takes requests again; `answer`, that somebody answers
    a question; `plan_approval`, that somebody decides on the plan; `children`, that nested runs end."""
    until: datetime | None = None
    """When it goes on at the latest; null when it goes on only once what it waits for has come."""


class RunCancelRequested(Fact):
    """A client asked for the end of the run; what is under way is being stopped."""

    type = "run.cancel_requested"

    reason: str | None = None
    """The client's words; null when it gave none."""


class _Ended(Fact):
    stop_reason: StopReason
    """Why the run ended this way."""
    result: Result
    """What the run brought back."""
    artifacts: tuple[Artifact, ...] = ()
    """Files that come with the end: those of the answer, and those that were made of the result. The result names
    them, and those of the tasks."""


class RunSucceeded(_Ended):
    """The end: every required task delivered, and here is the answer. Of a dry run: there is its plan."""

    type = "run.succeeded"


class RunPartial(_Ended):
    """The end: there is a usable result, and something is missing from it. The result says what."""

    type = "run.partial"


class RunFailed(Fact):
    """The end: there is nothing usable. `error` says why."""

    type = "run.failed"

    stop_reason: StopReason
    """Why the run failed."""
    error: Problem
    """The same for people."""
    result: Result | None = None
    """What was delivered before the failure."""
    artifacts: tuple[Artifact, ...] = ()
    """Files that were made of that."""


class TaskStopped(_Part):
    """What a cancellation did to one task."""

    task: str
    """Id of the task."""
    status: str
    """What the task ended as."""
    stopped_at: datetime | None
    """Null for a task that had ended before the request."""


class Cancellation(_Part):
    """The receipt: what a cancellation stopped, and what was still spent after it was asked for."""

    requested_at: datetime
    """When the client asked."""
    completed_at: datetime | None = None
    """When the last thing had stopped; null until then."""
    reason: str | None = None
    """The client's words; null when it gave none."""
    tasks: tuple[TaskStopped, ...] = ()
    """Every task of the plan, with what became of it."""
    children: tuple[ChildStopped, ...] = ()
    """The nested runs that were under way, with what became of them."""
    cost_usd_after_request: Money = Decimal(0)
    """What calls cost that were under way when the client asked."""


class RunCancelled(Cancellation, Fact):
    """The end: a client asked for it. The data is the receipt."""

    type = "run.cancelled"
