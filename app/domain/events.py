"""Every durable fact about a run, one class a type. The same form is stored, streamed and shown in the trace.

`seq` numbers the events of a run 1, 2, 3 … without gaps; it is 0 until the journal has given it one. `task_id` and
`attempt` say whose event it is. Older processes ignore fields they do not know. The module is longer than most, so that
all there is to know about a log is in one file.
"""

from datetime import datetime
from decimal import Decimal
from typing import Annotated, Any, Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

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
    model_config = ConfigDict(frozen=True)


FactT = TypeVar("FactT", bound=BaseModel)


class BaseEvent(BaseModel, Generic[FactT]):
    """The envelope."""

    model_config = ConfigDict(frozen=True)

    seq: int = 0
    type: str
    at: datetime
    run_id: str
    task_id: str | None = None
    attempt: int | None = None
    data: FactT


class InputListed(_Fact):
    name: str
    media_type: str
    characters: int


class JobAccepted(_Fact):
    objective: str
    team: TeamRef
    limits: Limits
    inputs: tuple[InputListed, ...] = ()
    plan: Plan | None = None
    """The client's own plan, validated."""


class Claimed(_Fact):
    engine: str
    """Which process executes the run from here on."""
    epoch: int
    """Rises with every claim; writes of an older epoch are refused."""


class Resumed(Claimed):
    lost_calls: int = 0
    """Model calls that were under way when the process before this one ended."""
    usage: Usage = Usage()
    """What those calls are reckoned to have cost."""


class Waiting(_Fact):
    reason: Literal["provider"]
    """What the run waits for: `provider`, that its model provider takes requests again."""
    until: datetime


class CancelRequested(_Fact):
    reason: str | None = None


class Ended(_Fact):
    stop_reason: str
    result: Result


class EndedInFailure(_Fact):
    stop_reason: str
    error: Problem
    result: Result | None = None
    """What was delivered before the failure."""


class TaskStopped(_Fact):
    task: str
    status: str
    stopped_at: datetime | None
    """Null for a task that had ended before the request."""


class Cancellation(_Fact):
    """The receipt: what a cancellation stopped, and what was still spent after it was asked for."""

    requested_at: datetime
    completed_at: datetime | None = None
    reason: str | None = None
    tasks: tuple[TaskStopped, ...] = ()
    cost_usd_after_request: Money = Decimal(0)


class Rejected(_Fact):
    errors: tuple[Finding, ...]
    note: str | None
    """What the model was told; null when it was not asked again."""


class AttemptStarted(_Fact):
    worker: str
    model: str
    instruction: str
    tools: tuple[str, ...] = ()


class Failed(_Fact):
    error: Problem


class Stopped(_Fact):
    error: Problem | None = None
    """Set when it was stopped for lack of time or money; null when the run ended around it."""


class Retrying(_Fact):
    error: Problem
    next_attempt: int
    not_before: datetime
    refine: bool
    """Whether the supervisor rewrites the instruction first."""


class Refined(_Fact):
    instruction: str
    refined_from: int
    """The attempt whose failure led to it."""
    change: str = ""


class Opening(_Fact):
    """How a conversation was opened."""

    system: str
    message: str
    tools: tuple[str, ...] = ()


class ModelCall(_Fact):
    purpose: Purpose
    model: str
    usage: Usage
    duration_ms: int
    request_id: str | None = None
    opening: Opening | None = None
    """Set on the first call of a conversation; later calls send what the events before them hold."""


class ModelReplied(ModelCall):
    stop_reason: str
    content: list[dict[str, Any]]


class ModelFailed(ModelCall):
    error: Problem
    retry_at: datetime | None = None
    """When the same request is sent again; null when it is not."""


class ToolCalled(_Fact):
    call_id: str
    name: str
    input: Any = None
    effect: Effect
    key: str
    """The idempotency key: the same for every repetition of this call."""


class ToolReturned(_Fact):
    call_id: str
    name: str
    output: str
    """As the model sees it."""
    omitted: int = 0
    """Characters left out of the middle."""
    duration_ms: int
    provider: bool = False
    """True for a tool that the model's provider ran."""


class ToolBroke(_Fact):
    call_id: str
    name: str
    error: Problem
    duration_ms: int
    provider: bool = False


class RunQueued(BaseEvent[JobAccepted]):
    type: Literal["run.queued"] = "run.queued"


class RunStarted(BaseEvent[Claimed]):
    type: Literal["run.started"] = "run.started"


class RunResumed(BaseEvent[Resumed]):
    type: Literal["run.resumed"] = "run.resumed"


class RunWaiting(BaseEvent[Waiting]):
    type: Literal["run.waiting"] = "run.waiting"


class RunCancelRequested(BaseEvent[CancelRequested]):
    type: Literal["run.cancel_requested"] = "run.cancel_requested"


class RunSucceeded(BaseEvent[Ended]):
    type: Literal["run.succeeded"] = "run.succeeded"


class RunPartial(BaseEvent[Ended]):
    type: Literal["run.partial"] = "run.partial"


class RunFailed(BaseEvent[EndedInFailure]):
    type: Literal["run.failed"] = "run.failed"


class RunCancelled(BaseEvent[Cancellation]):
    type: Literal["run.cancelled"] = "run.cancelled"


class PlanCreated(BaseEvent[Plan]):
    type: Literal["plan.created"] = "plan.created"


class PlanInvalid(BaseEvent[Rejected]):
    type: Literal["plan.invalid"] = "plan.invalid"


class TaskStarted(BaseEvent[AttemptStarted]):
    type: Literal["task.started"] = "task.started"


class TaskSucceeded(BaseEvent[Output]):
    type: Literal["task.succeeded"] = "task.succeeded"


class TaskFailed(BaseEvent[Failed]):
    type: Literal["task.failed"] = "task.failed"


class TaskRetrying(BaseEvent[Retrying]):
    type: Literal["task.retrying"] = "task.retrying"


class TaskRefined(BaseEvent[Refined]):
    type: Literal["task.refined"] = "task.refined"


class TaskRejected(BaseEvent[Rejected]):
    type: Literal["task.rejected"] = "task.rejected"


class TaskEscalated(BaseEvent[Escalation]):
    type: Literal["task.escalated"] = "task.escalated"


class TaskSkipped(BaseEvent[Failed]):
    type: Literal["task.skipped"] = "task.skipped"


class TaskCancelled(BaseEvent[Stopped]):
    type: Literal["task.cancelled"] = "task.cancelled"


class LlmCompleted(BaseEvent[ModelReplied]):
    type: Literal["llm.completed"] = "llm.completed"


class LlmFailed(BaseEvent[ModelFailed]):
    type: Literal["llm.failed"] = "llm.failed"


class ToolStarted(BaseEvent[ToolCalled]):
    type: Literal["tool.started"] = "tool.started"


class ToolCompleted(BaseEvent[ToolReturned]):
    type: Literal["tool.completed"] = "tool.completed"


class ToolFailed(BaseEvent[ToolBroke]):
    type: Literal["tool.failed"] = "tool.failed"


class SynthesisCompleted(BaseEvent[Synthesis]):
    type: Literal["synthesis.completed"] = "synthesis.completed"


class SynthesisRejected(BaseEvent[Rejected]):
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

RUN_ENDS = frozenset(type_ for (_, type_), status in RUN_MOVES.items() if status in TERMINAL_RUN)
"""The types that end a run, and its stream."""
