"""The shapes of answers, for the OpenAPI description. `resources` builds them; the tests hold the two equal.

The module is longer than most, so that all that a client may get is in one file.
"""

from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from app.api.event_shapes import Event
from app.api.problem_codes import ProblemCode
from app.domain.codes import StopReason, TaskErrorCode
from app.domain.events import Cancellation, Effect, Purpose
from app.domain.job import Limits
from app.domain.plan import Plan
from app.domain.plan import Task as PlannedTask
from app.domain.results import Escalation, Output, Problem, Result
from app.domain.states import AttemptStatus, Phase, RunStatus, TaskStatus
from app.domain.team import Team as TeamDefinition
from app.domain.team import TeamRef
from app.domain.timing import Timing
from app.domain.usage import Usage


class _Shape(BaseModel):
    model_config = ConfigDict(use_attribute_docstrings=True)


class TaskCounts(_Shape):
    """Tasks by status."""

    total: int
    """All tasks of the plan."""
    pending: int
    """Not started, or between two attempts."""
    running: int
    """Being worked on."""
    waiting: int
    """Waiting for something outside."""
    succeeded: int
    """Delivered."""
    failed: int
    """Failed for good."""
    skipped: int
    """Never started, since a task before them failed."""
    cancelled: int
    """Stopped."""


class Progress(_Shape):
    """How far a run is."""

    tasks: TaskCounts
    """How many tasks are in which status."""
    round: int
    """Round of work and synthesis, from 1."""


class Links(_Shape):
    """Where the parts of a run are."""

    self: str
    """The run itself."""
    plan: str
    """Its plan."""
    tasks: str
    """Its tasks."""
    events: str
    """Its events."""
    trace: str
    """Its trace."""
    inputs: str
    """The inputs of its job."""
    console: str | None
    """Its page for people; null while there is none."""


class RunProblem(Problem):
    """Why a run failed."""

    code: StopReason
    """The same as the run's `stop_reason`."""


class TaskProblem(Problem):
    """Why a task or an attempt did not deliver."""

    code: TaskErrorCode
    """What went wrong, for programs."""


class Run(_Shape):
    """The durable execution of one job."""

    id: str
    """Its id."""
    object: Literal["run"]
    """Always `run`."""
    status: RunStatus
    """What it is doing. `succeeded`, `partial`, `failed` and `cancelled` are ends and never change."""
    phase: Phase | None
    """What it is busy with while it runs; null otherwise."""
    stop_reason: StopReason | None
    """Why it ended; null until then."""
    objective: str
    """The objective of the job."""
    team: TeamRef
    """The team, pinned to a version."""
    parent: str | None
    """The run that it is a part of; null for a run of its own."""
    metadata: dict[str, Any]
    """The labels that the job came with."""
    plan_revision: int | None
    """Revision of the newest plan; null before there is one."""
    progress: Progress
    """How far it is."""
    result: Result | None
    """What it brought back; null until it has ended, and when nothing was delivered."""
    error: RunProblem | None
    """Why it failed; null unless it did."""
    waiting_for: Literal["provider"] | None
    """What it waits for; null unless it waits."""
    cancellation: Cancellation | None
    """The receipt of a cancellation; null unless somebody asked for one."""
    limits: Limits
    """The limits as applied, defaults filled in."""
    usage: Usage
    """What it has consumed so far."""
    timing: Timing
    """How long it took so far."""
    last_seq: int
    """Number of the newest event."""
    created_at: datetime
    """When the job was accepted."""
    started_at: datetime | None
    """When an engine first took it; null until then."""
    finished_at: datetime | None
    """When it ended; null until then."""
    links: Links
    """Where its parts are."""


class Attempt(_Shape):
    """One try of one worker at a task."""

    number: int
    """1 for the first attempt at the task."""
    worker: str
    """The worker that made it."""
    model: str
    """Id of the model that played the worker."""
    instruction: str
    """What the worker was told to do."""
    refined_from: int | None
    """The attempt whose failure led to the instruction; null when it is the one of the plan."""
    change: str | None
    """What the supervisor changed in the instruction; null when nothing."""
    status: AttemptStatus
    """What became of it."""
    error: TaskProblem | None
    """Why it did not deliver; null unless it failed or was stopped."""
    escalation: Escalation | None
    """The worker's word that it could not go on; null unless it gave one."""
    steps: int
    """Model replies so far."""
    tool_calls: int
    """Tool calls so far."""
    usage: Usage
    """What it consumed."""
    started_at: datetime
    """When it began."""
    finished_at: datetime | None
    """When it ended; null until then."""


class RunTask(PlannedTask):
    """A task of the plan, and what became of it."""

    status: TaskStatus
    """What became of it so far."""
    error: TaskProblem | None
    """Why it did not deliver; null unless it did not."""
    usage: Usage
    """What all its attempts consumed."""
    output: Output | None
    """What it delivered; null unless it succeeded."""
    escalations: list[Escalation]
    """Every time its workers said that they could not go on."""
    attempts: list[Attempt]
    """Every attempt, oldest first."""


class Team(TeamDefinition):
    """A team in one of its versions."""

    version: int
    """1, 2, 3 …; a changed team gets a new one."""
    created_at: datetime
    """When this version was stored."""


class Tool(_Shape):
    """A tool that workers may be given."""

    name: str
    """Its name, as teams give it to workers."""
    description: str
    """What the model is told about it."""
    input_schema: dict[str, Any]
    """JSON Schema of what the model passes to it."""
    effect: Effect
    """`read` may be repeated freely, `idempotent` only under the same key, `once` never."""
    timeout_s: float
    """Seconds that one call may take."""
    provider: bool
    """Whether the provider of the model runs it."""


class Input(_Shape):
    """A text that came with a job."""

    name: str
    """The name that the job gave it."""
    media_type: str
    """The media type that the job gave it."""
    characters: int
    """Its length as it was sent."""
    url: str
    """Where to read it."""


class SentMessage(_Shape):
    """A turn of a conversation as it was sent."""

    role: Literal["user", "assistant"]
    """Who said it: our side or the model."""
    content: list[dict[str, Any]]
    """Content blocks in the form of the Messages API."""


class SentRequest(_Shape):
    """What a model was sent in one call."""

    model: str
    """Id of the model that answered, or that was asked."""
    max_tokens: int | None
    """Tokens that the reply might have; null in logs that do not tell."""
    system: str | None
    """The system prompt."""
    messages: list[SentMessage]
    """The conversation up to this call."""
    tools: list[dict[str, Any]] | None
    """The tools on offer, as they were declared; null in logs that do not tell."""
    output_schema: dict[str, Any] | None
    """JSON Schema that the final text had to fit."""


class SpanContent(_Shape):
    """What went to and fro in one model call."""

    request: SentRequest
    """What was sent."""
    reply: list[dict[str, Any]] | None
    """The content blocks that came back; null when none did."""


class Span(_Shape):
    """A stretch of a run's time.

    `attributes` by kind. All that ended badly: `error_code`, `error_message`.
    `run`: `team`, `status`, `stop_reason`. `plan`: `tasks`, their number. `task`: `task_id`, `status`, `free_form`.
    `attempt`: `number`, `worker`, `model`, `tools`, `escalation`.
    `llm`: `purpose`, `model`, `max_tokens`, `request_id`, tokens and cost, `stop_reason`, `retry_at`, `free_form`, and
    `outcome`: `used`, `continued` (the provider paused), `cut` (at `max_tokens`, thrown away), `refused`, `unusable`,
    `rejected` (read and found wanting; `asked_again`), `failed`, `cancelled`.
    `tool`: `call_id`, `input`, `output`, `omitted`, `effect`, `key`, `provider`.
    """

    id: str
    """Its id in the trace."""
    parent_id: str | None
    """The span it is a part of; null for the run."""
    kind: Literal["run", "plan", "task", "attempt", "llm", "tool", "synthesis", "review"]
    """What was going on."""
    name: str
    """The same in a few words."""
    started_at: datetime
    """When it began."""
    finished_at: datetime | None
    """When it ended; null while it goes on."""
    duration_ms: int | None
    """Milliseconds between the two; null while it goes on."""
    status: Literal["ok", "error", "cancelled", "running"]
    """How it ended."""
    attributes: dict[str, Any]
    """What else there is to know; the keys depend on `kind`."""
    content: SpanContent | None = None
    """Of a model call, and only with `include=content`: what was sent and what came back."""


class Trace(_Shape):
    """The whole execution of a run."""

    run: Run
    """The run."""
    plan_revisions: list[Plan]
    """Every plan it had, oldest first."""
    tasks: list[RunTask]
    """Its tasks with every attempt."""
    spans: list[Span]
    """What took how long, as a tree."""
    events: list[Event]
    """Every event, in order."""


class TextPiece(_Shape):
    """Text that a model has just written."""

    purpose: Purpose
    """Why the model was called."""
    text: str
    """The piece, to be put behind the ones before it."""


class TextDelta(_Shape):
    """A piece of text while it is written, for streams with `deltas=true`: without a number, and never stored.

    The event that completes the call (`llm.completed` or `llm.failed`) supersedes all pieces of it.
    """

    type: Literal["text.delta"]
    """Always `text.delta`."""
    at: datetime
    """When it was written."""
    run_id: str
    """The run it belongs to."""
    task_id: str | None
    """The task it belongs to; null for the supervisor."""
    attempt: int | None
    """The attempt it belongs to; null for the supervisor."""
    data: TextPiece
    """The piece."""


class Home(_Shape):
    """What answers here, and where to go on."""

    name: str
    """The name of the service."""
    version: str
    """Its release."""
    docs: str
    """The description of the API for people."""
    openapi: str
    """The same for programs."""
    jobs: str
    """Where jobs are posted."""
    teams: str
    """Which teams a job may name."""
    ready: str
    """Whether this process takes requests."""


class _Page(_Shape):
    has_more: bool
    """Whether there is a further page."""
    next_cursor: str | None
    """Send it as `after` for the next page; null on the last one."""


class RunPage(_Page):
    """Runs, newest first."""

    data: list[Run]
    """The runs of this page."""


class TaskPage(_Page):
    """The tasks of a run, in plan order."""

    data: list[RunTask]
    """The tasks."""


class TeamPage(_Page):
    """Teams in their newest versions, by name."""

    data: list[Team]
    """The teams."""


class ToolPage(_Page):
    """Tools, by name."""

    data: list[Tool]
    """The tools."""


class InputPage(_Page):
    """The inputs of a job, in its order."""

    data: list[Input]
    """The inputs."""


class EventPage(_Shape):
    """Events of a run, in order."""

    data: list[Event]
    """The events of this page."""
    has_more: bool
    """Whether there are more events behind this page by now."""
    next_cursor: str | None
    """Send it as `after` to get the next page; null behind the last one."""
    next_after: int
    """Send it as `after` to go on behind this page, now or later."""


class Health(_Shape):
    """The state of this process."""

    status: Literal["ok"]
    """Always `ok`; a process that is not says so by its status code."""


class ProblemPlace(_Shape):
    """One thing that is wrong about a request."""

    pointer: str | None = None
    """JSON pointer into the body."""
    parameter: str | None = None
    """Name of a query parameter or header."""
    detail: str
    """What is wrong there."""
    code: str | None = None
    """The same for programs, where there is a code."""


class ProblemDocument(_Shape):
    """An error (RFC 9457)."""

    type: str
    """Always `about:blank`: `code` says more."""
    title: str
    """The meaning of the status."""
    status: int
    """The HTTP status."""
    detail: str
    """What happened, for people."""
    code: ProblemCode
    """What happened, for programs."""
    errors: list[ProblemPlace] | None = None
    """What is wrong, place by place; left out when there is nothing to point at."""
    request_id: str
    """Id of the request, also in `X-Request-Id` and in the log."""


_PROBLEM = {"content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/ProblemDocument"}}}}
PROBLEMS: dict[int | str, dict[str, Any]] = {
    "4XX": {"description": "The request is refused.", **_PROBLEM},
    "5XX": {"description": "The service cannot answer now.", **_PROBLEM},
}
"""The errors that any route may answer with."""
