"""The shapes of runs: the run itself, its tasks and attempts, its inputs, and lists of them."""

from datetime import datetime
from typing import Any, Literal

from app.api.schemas.shape import Page, Shape
from app.domain.artifacts import ListedArtifact
from app.domain.codes import StopReason, TaskErrorCode
from app.domain.events import Cancellation
from app.domain.job import ApprovalLimits, DryRunLimits, Limits
from app.domain.origin import RunOrigin
from app.domain.plan import Plan
from app.domain.plan import Task as PlannedTask
from app.domain.plan_difference import Difference
from app.domain.questions import Question
from app.domain.quote import Quote
from app.domain.results import Delivered, Escalation, Problem, Result
from app.domain.schedules import ScheduledFor
from app.domain.states import AttemptStatus, Phase, RunStatus, TaskStatus, WaitReason
from app.domain.team import TeamRef
from app.domain.timing import Timing
from app.domain.usage import Usage


class TaskCounts(Shape):
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


class Progress(Shape):
    """How far a run is."""

    tasks: TaskCounts
    """How many tasks are in which status."""
    round: int
    """Round of work and synthesis, from 1."""


class Links(Shape):
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
    artifacts: str
    """The files that it handed over."""
    console: str
    """Its page for people."""


class RunProblem(Problem):
    """Why a run failed."""

    code: StopReason
    """The same as the run's `stop_reason`."""


class TaskProblem(Problem):
    """Why a task or an attempt did not deliver."""

    code: TaskErrorCode
    """What went wrong, for programs."""


class ParentTask(Shape):
    """Whose work a nested run does."""

    task: str
    """Id of the task in the plan of its parent."""
    attempt: int
    """The attempt at it."""


class Run(Shape):
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
    parent_task: ParentTask | None
    """The task of that run whose work it does; null for a run of its own."""
    origin: RunOrigin | None
    """The run whose results it began with; null for a job of its own."""
    schedule: ScheduledFor | None
    """The schedule that it comes from, and for which time; null for a job of a request."""
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
    waiting_for: WaitReason | None
    """What it waits for; null unless it waits."""
    cancellation: Cancellation | None
    """The receipt of a cancellation; null unless somebody asked for one."""
    limits: Limits | DryRunLimits | ApprovalLimits
    """The limits as applied, defaults filled in; `dry_run` is among them where nothing is executed, `approval` where
    the job wants its plan approved."""
    quote: Quote | None
    """What its plan was to take; null before there is one, and in runs of earlier releases."""
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


class DryRun(Shape):
    """What a job would be: its plan, checked, and what that would take. Nothing was executed."""

    plan: Plan
    """The plan, with the report of its validation. It may be sent as the `plan` of a job."""
    quote: Quote | None
    """What a run with this plan would take; null in dry runs that a replica of an earlier release has planned."""
    run_id: str
    """The run in which the plan was made: it holds what planning has cost, and its trace."""


class PlanRevision(Shape):
    """A revision of the plan, and what is different about it."""

    revision: int
    """Its number; `GET /v1/runs/{id}/plan?revision=` has the whole of it."""
    reason: str
    """Why there is this revision."""
    created_at: datetime
    """When it was made."""
    difference: Difference | None
    """What is different from the revision before; null for the first."""
    tasks: list[str]
    """Ids of its tasks, in order."""


class Attempt(Shape):
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
    beside: int | None
    """The attempt at whose side it was begun, since that took long; null when it began alone."""
    child: str | None
    """Id of the nested run that does its work, where the worker is a team; null otherwise, and before there is one."""
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


class TaskOutput(Delivered):
    """What a task delivered. Files are listed here, and downloaded."""

    artifacts: tuple[ListedArtifact, ...] = ()
    """Files that it handed over."""


class RunTask(PlannedTask):
    """A task of the plan, and what became of it."""

    status: TaskStatus
    """What became of it so far."""
    error: TaskProblem | None
    """Why it did not deliver; null unless it did not."""
    usage: Usage
    """What all its attempts consumed."""
    output: TaskOutput | None
    """What it delivered; null unless it succeeded."""
    escalations: list[Escalation]
    """Every time its workers said that they could not go on."""
    attempts: list[Attempt]
    """Every attempt, oldest first."""


class Input(Shape):
    """A text that came with a job."""

    name: str
    """The name that the job gave it."""
    media_type: str
    """The media type that the job gave it."""
    characters: int
    """Its length as it was sent."""
    url: str
    """Where to read it."""


class PlanRevisionPage(Page):
    """The revisions of a plan, oldest first."""

    data: list[PlanRevision]
    """The revisions."""


class TaskPage(Page):
    """The tasks of a run, in plan order."""

    data: list[RunTask]
    """The tasks."""


class QuestionPage(Page):
    """The questions of a run, oldest first."""

    data: list[Question]
    """The questions."""


class ArtifactPage(Page):
    """The files that a run has handed over, in the order in which they came."""

    data: list[ListedArtifact]
    """The files."""


class InputPage(Page):
    """The inputs of a job, in its order."""

    data: list[Input]
    """The inputs."""
