"""What is asked of the service, and of whom: jobs, plans, quotes, teams and tools, as types.

Fields that a later release adds come through, and are not named here.
"""

from typing import Any, Literal, NotRequired, TypedDict

Strategy = Literal["merge", "select", "reduce"]


class Limits(TypedDict, total=False):
    """Bounds of a run. Money is a decimal string."""

    tasks: int
    concurrency: int
    timeout_s: float
    attempts: int
    tokens: int | None
    cost_usd: str | None
    rounds: int
    depth: int


class Input(TypedDict):
    """A text that comes with a job; base64 where `media_type` is that of Parquet, PDF or DOCX."""

    name: str
    content: str
    media_type: NotRequired[str]


class Job(TypedDict, total=False):
    """What is to be done. Only `objective` is required."""

    objective: str
    team: str
    inputs: list[Input]
    limits: Limits
    approval: Literal["none", "plan"] | None
    strategy: Strategy | None
    plan: "Plan | dict[str, Any] | None"
    planning: Literal["model", "template"] | None
    rubric: str | None
    output_schema: dict[str, Any] | None
    on_question: Literal["ask", "default", "fail"] | None
    webhook: dict[str, Any] | None
    priority: int
    metadata: dict[str, Any]


class PlannedTask(TypedDict):
    """A node of a plan."""

    id: str
    title: str
    instruction: str
    context: str
    success_criterion: str
    worker: str
    depends_on: list[str]
    required: bool
    on_missing_input: Literal["skip", "proceed"]
    budget: dict[str, Any]


class Flaw(TypedDict):
    """One thing that is wrong with a plan."""

    code: str
    pointer: str
    detail: str


class Validation(TypedDict):
    """What the check of a plan says."""

    ok: bool
    errors: list[Flaw]
    warnings: list[Flaw]


class Plan(TypedDict):
    """The task graph of a run."""

    revision: int
    goal: str
    strategy: Strategy
    final_instruction: str
    tasks: list[PlannedTask]
    validation: Validation
    shape: dict[str, Any] | None


class Quote(TypedDict):
    """What a plan is likely to take: each with `least`, `likely` and `most`."""

    cost_usd: dict[str, str] | None
    tokens: dict[str, int]
    duration_s: dict[str, float]
    basis: Literal["history", "limits"]
    runs_considered: int


class DryRun(TypedDict):
    """What a job would be: its plan, and what that would take."""

    plan: Plan
    quote: Quote | None
    run_id: str


class Team(TypedDict):
    """A supervisor, its workers, and their bounds."""

    name: str
    version: int
    description: str
    supervisor: dict[str, Any]
    workers: list[dict[str, Any]]
    limits: Limits


class Tool(TypedDict):
    """A tool that workers may be given."""

    name: str
    description: str
    input_schema: dict[str, Any]
    effect: Literal["read", "idempotent", "once"]
    timeout_s: float
    provider: bool
    package: str | None
    server: str | None
    state: Literal["ready", "connecting", "down"]
