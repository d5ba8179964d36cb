"""What becomes of a job: runs, tasks, events, questions and traces, as types.

Fields that a later release adds come through, and are not named here.
"""

from typing import Any, Literal, TypedDict

from typing_extensions import TypeIs

from app.client.job_shapes import Limits, Plan, PlannedTask, Quote, Strategy

RunStatus = Literal["queued", "running", "waiting", "succeeded", "partial", "failed", "cancelled"]
TaskStatus = Literal["pending", "running", "waiting", "succeeded", "failed", "skipped", "cancelled"]


class Usage(TypedDict):
    """What was consumed."""

    llm_calls: int
    tool_calls: int
    input_tokens: int
    cache_read_tokens: int
    cache_write_tokens: int
    output_tokens: int
    cost_usd: str
    estimated: bool


class Problem(TypedDict):
    """Why a run, a task or an attempt did not deliver."""

    code: str
    message: str


class TaskCounts(TypedDict):
    """Tasks by status."""

    total: int
    pending: int
    running: int
    waiting: int
    succeeded: int
    failed: int
    skipped: int
    cancelled: int


class Progress(TypedDict):
    """How far a run is."""

    tasks: TaskCounts
    round: int


class Timing(TypedDict):
    """How long a run took so far."""

    queued_ms: int
    wall_ms: int
    critical_path_ms: int
    sequential_ms: int
    speedup: float


class TeamRef(TypedDict):
    """A team in a version."""

    name: str
    version: int


class Artifact(TypedDict):
    """A file that a run handed over."""

    name: str
    media_type: str
    bytes: int
    task: str | None
    url: str


class Statement(TypedDict):
    """Something that the answer says, and the tasks that it rests on."""

    text: str
    tasks: list[str]


class Claim(TypedDict):
    """One side of a conflict."""

    task: str
    claim: str


class Conflict(TypedDict):
    """Where results contradict each other."""

    id: str
    topic: str
    claims: list[Claim]
    status: Literal["resolved", "unresolved"]
    resolution: str | None
    method: str | None
    confidence: float | None


class Gap(TypedDict):
    """A task that delivered nothing."""

    task: str
    reason: str
    impact: str
    redispatched_as: str | None


class Coverage(TypedDict):
    """Required tasks against delivered ones."""

    required: int
    delivered: int
    missing: list[str]
    substituted: list[str]


class Result(TypedDict):
    """What a run brought back."""

    answer: str | None
    data: Any
    confidence: float | None
    statements: list[Statement]
    conflicts: list[Conflict]
    gaps: list[Gap]
    coverage: Coverage
    strategy: Strategy
    rounds: int
    review: dict[str, Any] | None
    outputs: list[dict[str, Any]]
    artifacts: list[Artifact]


class Links(TypedDict):
    """Where the parts of a run are."""

    self: str
    plan: str
    tasks: str
    events: str
    trace: str
    inputs: str
    artifacts: str
    console: str | None


class Run(TypedDict):
    """The durable execution of a job."""

    id: str
    object: Literal["run"]
    status: RunStatus
    phase: str | None
    stop_reason: str | None
    objective: str
    team: TeamRef
    parent: str | None
    metadata: dict[str, Any]
    plan_revision: int | None
    progress: Progress
    result: Result | None
    error: Problem | None
    waiting_for: Literal["plan_approval", "answer", "children", "provider"] | None
    cancellation: dict[str, Any] | None
    limits: Limits
    quote: Quote | None
    usage: Usage
    timing: Timing
    last_seq: int
    created_at: str
    started_at: str | None
    finished_at: str | None
    links: Links


class Escalation(TypedDict):
    """A worker's word that it cannot go on."""

    reason: str
    message: str
    partial: str | None
    decision: str | None


class Attempt(TypedDict):
    """One try of one worker at a task."""

    number: int
    worker: str
    model: str
    instruction: str
    refined_from: int | None
    change: str | None
    status: str
    error: Problem | None
    escalation: Escalation | None
    steps: int
    tool_calls: int
    usage: Usage
    started_at: str
    finished_at: str | None


class Task(PlannedTask):
    """A task of the plan, and what became of it."""

    status: TaskStatus
    error: Problem | None
    usage: Usage
    output: dict[str, Any] | None
    escalations: list[Escalation]
    attempts: list[Attempt]


class Event(TypedDict):
    """A durable fact about a run."""

    seq: int
    type: str
    at: str
    run_id: str
    task_id: str | None
    attempt: int | None
    data: dict[str, Any]


class Delta(TypedDict):
    """Text while it is written: without a number, and superseded by the event that completes the call."""

    type: Literal["text.delta"]
    at: str
    run_id: str
    task_id: str | None
    attempt: int | None
    data: dict[str, Any]


def is_delta(told: Event | Delta) -> TypeIs[Delta]:
    """Whether it is text while it is written, and no event."""
    return told["type"] == "text.delta"


class Question(TypedDict):
    """What a run asks people."""

    id: str
    task_id: str | None
    question: str
    choices: list[str]
    asked_at: str
    expires_at: str
    default: dict[str, Any]
    status: Literal["open", "answered", "expired", "closed"]
    answer: str | None
    answered_by: str | None


class Trace(TypedDict):
    """Everything there is to know of how a run went."""

    run: Run
    plan_revisions: list[Plan]
    tasks: list[Task]
    spans: list[dict[str, Any]]
    events: list[Event]
