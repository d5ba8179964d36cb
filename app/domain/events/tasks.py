"""What happens to a task and to the attempts at it."""

from datetime import datetime
from typing import Literal

from app.domain.events.fact import Fact, Rejected
from app.domain.results import Escalation, Output, Problem


class TaskStarted(Fact):
    """An attempt at the task begins."""

    type = "task.started"

    worker: str
    """The worker that makes the attempt."""
    model: str
    """Id of the model that plays the worker."""
    instruction: str
    """What the worker is told to do."""
    tools: tuple[str, ...] = ()
    """Names of the tools it may use."""
    beside: int | None = None
    """The attempt at whose side this one is made, since that takes long; null for one that begins alone."""


class TaskSucceeded(Output, Fact):
    """The task has delivered."""

    type = "task.succeeded"


class _Failed(Fact):
    error: Problem
    """The failure."""


class TaskFailed(_Failed):
    """The task has failed for good; no attempt is left, or none would help."""

    type = "task.failed"

    decision: str | None = None
    """`give_up` when the supervisor ruled so on the worker's escalation."""


class TaskSkipped(_Failed):
    """The task is left out: one that it depends on has failed, or nobody has answered its question."""

    type = "task.skipped"


class TaskCancelled(Fact):
    """The task was stopped, by the end of the run or for lack of time or money."""

    type = "task.cancelled"

    error: Problem | None = None
    """Set when it was stopped for lack of time or money; null when the run ended around it."""


class TaskDropped(Fact):
    """The run goes on to its answer without the task, which takes much longer than the others. What it still delivers
    before the end is used."""

    type = "task.dropped"

    after_s: float
    """Seconds after which it was a straggler."""


class AttemptFailed(_Failed):
    """One of two attempts side by side has failed; the other goes on."""

    type = "attempt.failed"


class AttemptCancelled(Fact):
    """An attempt was stopped, since the one beside it has delivered, or the task has ended otherwise."""

    type = "attempt.cancelled"

    delivered: int | None = None
    """The attempt that has delivered instead; null when none has."""


class _Again(Fact):
    error: Problem
    """The failure of the attempt that ended."""
    next_attempt: int
    """Number of the attempt to come."""
    not_before: datetime
    """When it starts at the earliest."""
    instruction: str | None = None
    """Its instruction; null for the one there is."""
    change: str = ""
    """What is different about it, and why, in the supervisor's words."""
    decision: str | None = None
    """What the supervisor ruled on the worker's escalation; null when there was no ruling."""


class TaskRetrying(_Again):
    """The attempt failed and the same worker makes another one."""

    type = "task.retrying"

    refine: bool
    """Whether the supervisor rewrites the instruction first."""
    model: str | None = None
    """The tier that plays the worker from now on; null for the one it has."""


class TaskReassigned(_Again):
    """The attempt failed and another worker makes the next one."""

    type = "task.reassigned"

    worker: str
    """Who makes it."""


class TaskSplit(_Failed):
    """The attempt failed, and smaller tasks take the task's place: `plan.revised` follows."""

    type = "task.split"

    into: tuple[str, ...]
    """Ids of the smaller tasks."""
    change: str = ""
    """Why, in the supervisor's words."""
    decision: Literal["split"] = "split"
    """What the supervisor ruled on the worker's escalation."""


class RulingRejected(Rejected):
    """What the supervisor ruled on an escalation is not possible, or cannot be read."""

    type = "ruling.rejected"


class TaskRefined(Fact):
    """The supervisor rewrote the instruction for the next attempt."""

    type = "task.refined"

    instruction: str
    """The instruction of the next attempt."""
    refined_from: int
    """The attempt whose failure led to it."""
    change: str = ""
    """What the supervisor changed, in its words."""
    free_form: bool = False
    """True when the reply was prose, taken for the instruction as it stood."""


class TaskRejected(Rejected):
    """What the worker handed in does not fit its output schema."""

    type = "task.rejected"


class TaskEscalated(Escalation, Fact):
    """The worker says that it cannot or should not finish the task."""

    type = "task.escalated"
