"""The shapes of answers, for the OpenAPI description. `resources` builds them; the tests hold the two equal."""

from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel, Field

from app.domain.events import Cancellation
from app.domain.job import Limits
from app.domain.plan import Plan
from app.domain.plan import Task as PlannedTask
from app.domain.results import Escalation, Output, Problem, Result
from app.domain.states import AttemptStatus, Phase, RunStatus, TaskStatus
from app.domain.team import Team as TeamDefinition
from app.domain.team import TeamRef
from app.domain.timing import Timing
from app.domain.usage import Usage


class TaskCounts(BaseModel):
    """Tasks by status."""

    total: int
    pending: int
    running: int
    waiting: int
    succeeded: int
    failed: int
    skipped: int
    cancelled: int


class Progress(BaseModel):
    """How far a run is."""

    tasks: TaskCounts
    round: int


class Links(BaseModel):
    """Where the parts of a run are."""

    self: str
    plan: str
    tasks: str
    events: str
    trace: str
    console: str | None


class Run(BaseModel):
    """The durable execution of one job."""

    id: str
    object: Literal["run"]
    status: RunStatus
    phase: Phase | None
    stop_reason: str | None
    objective: str
    team: TeamRef
    parent: str | None
    metadata: dict[str, Any]
    plan_revision: int | None
    progress: Progress
    result: Result | None
    error: Problem | None
    waiting_for: Literal["provider"] | None
    cancellation: Cancellation | None
    limits: Limits
    usage: Usage
    timing: Timing
    last_seq: int = Field(description="Number of the newest event.")
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    links: Links


class Attempt(BaseModel):
    """One try of one worker at a task."""

    number: int
    worker: str
    model: str
    instruction: str
    refined_from: int | None
    change: str | None
    status: AttemptStatus
    error: Problem | None
    escalation: Escalation | None
    steps: int
    tool_calls: int
    usage: Usage
    started_at: datetime
    finished_at: datetime | None


class RunTask(PlannedTask):
    """A task of the plan, and what became of it."""

    status: TaskStatus
    error: Problem | None
    usage: Usage
    output: Output | None
    escalations: list[Escalation]
    attempts: list[Attempt]


class Team(TeamDefinition):
    """A team in one of its versions."""

    version: int
    created_at: datetime


class Tool(BaseModel):
    """A tool that workers may be given."""

    name: str
    description: str
    input_schema: dict[str, Any]
    effect: Literal["read", "idempotent", "once"]
    timeout_s: float
    provider: bool = Field(description="Whether the provider of the model runs it.")


class EventEnvelope(BaseModel):
    """A durable fact about a run: the same form in the stream, the page and the trace."""

    seq: int
    type: str
    at: datetime
    run_id: str
    task_id: str | None
    attempt: int | None
    data: dict[str, Any] = Field(description="What happened; its fields depend on `type`.")


class Span(BaseModel):
    """A stretch of a run's time."""

    id: str
    parent_id: str | None
    kind: Literal["run", "plan", "task", "attempt", "llm", "tool", "synthesis", "review"]
    name: str
    started_at: datetime
    finished_at: datetime | None
    duration_ms: int | None
    status: Literal["ok", "error", "cancelled", "running"]
    attributes: dict[str, Any]


class Trace(BaseModel):
    """The whole execution of a run."""

    run: Run
    plan_revisions: list[Plan]
    tasks: list[RunTask]
    spans: list[Span]
    events: list[EventEnvelope]


class _Page(BaseModel):
    has_more: bool
    next_cursor: str | None = Field(description="Send it as `after` for the next page; null on the last one.")


class RunPage(_Page):
    """Runs, newest first."""

    data: list[Run]


class TaskPage(_Page):
    """The tasks of a run, in plan order."""

    data: list[RunTask]


class TeamPage(_Page):
    """Teams in their newest versions, by name."""

    data: list[Team]


class ToolPage(_Page):
    """Tools, by name."""

    data: list[Tool]


class EventPage(BaseModel):
    """Events of a run, in order."""

    data: list[EventEnvelope]
    has_more: bool
    next_cursor: str | None = Field(description="Send it as `after` to get the next page; null behind the last one.")
    next_after: int = Field(description="Send it as `after` to go on behind this page, now or later.")


class Health(BaseModel):
    """The state of this process."""

    status: Literal["ok"]


class ProblemPlace(BaseModel):
    """One thing that is wrong about a request."""

    pointer: str | None = Field(default=None, description="JSON pointer into the body.")
    parameter: str | None = Field(default=None, description="Name of a query parameter or header.")
    detail: str
    code: str | None = None


class ProblemDocument(BaseModel):
    """An error (RFC 9457)."""

    type: str
    title: str
    status: int
    detail: str
    code: str = Field(description="What happened, for programs.")
    errors: list[ProblemPlace] | None = None
    request_id: str


_PROBLEM = {"content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/ProblemDocument"}}}}
PROBLEMS: dict[int | str, dict[str, Any]] = {
    "4XX": {"description": "The request is refused.", **_PROBLEM},
    "5XX": {"description": "The service cannot answer now.", **_PROBLEM},
}
"""The errors that any route may answer with."""
