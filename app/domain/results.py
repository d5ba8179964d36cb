"""What work brings back: a worker's output, the supervisor's synthesis, the result of a run."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field


class _Value(BaseModel):
    model_config = ConfigDict(frozen=True)


class Problem(_Value):
    """Why something failed: a stable code, and a sentence for people."""

    code: str
    message: str


class Output(_Value):
    """The structured result of a task."""

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


EscalationReason = Literal["out_of_scope", "ambiguous_input", "confidence_too_low", "timeout"]


class Escalation(_Value):
    """A worker's word that it cannot or should not finish the task."""

    reason: EscalationReason
    message: str
    partial: str | None = None
    """What it has so far."""
    decision: str | None = None


class Statement(_Value):
    """A sentence of the answer and the tasks it rests on."""

    text: str
    tasks: tuple[str, ...]


class Claim(_Value):
    """What one task says about a topic."""

    task: str
    claim: str


class Conflict(_Value):
    """Results that contradict each other, and what became of it."""

    id: str
    topic: str
    claims: tuple[Claim, ...]
    status: Literal["resolved", "unresolved"]
    resolution: str | None = None
    method: str | None = None
    confidence: float | None = None


class Gap(_Value):
    """A task that delivered nothing."""

    task: str
    reason: str
    """The task's error code."""
    impact: str = ""
    redispatched_as: str | None = None


class Coverage(_Value):
    """Required tasks against delivered ones."""

    required: int
    delivered: int
    missing: tuple[str, ...] = ()
    substituted: tuple[str, ...] = ()


class Review(_Value):
    """A critic's judgement."""

    verdict: str
    rounds: int
    notes: str = ""


class Synthesis(_Value):
    """The supervisor's reconciliation, before code adds what it knows better."""

    answer: str
    confidence: float | None = None
    statements: tuple[Statement, ...] = ()
    conflicts: tuple[Conflict, ...] = ()
    impacts: dict[str, str] = Field(default_factory=dict)
    """What the absence of a task means for the answer, by task id."""


class TaskReport(_Value):
    """A task's result as the run shows it."""

    task: str
    worker: str
    status: str
    summary: str | None = None
    data: Any = None


class Result(_Value):
    """What a run brought back."""

    answer: str | None
    """Markdown; null when no synthesis was possible, while `outputs` still holds what the workers delivered."""
    data: Any = None
    confidence: float | None = None
    statements: tuple[Statement, ...] = ()
    conflicts: tuple[Conflict, ...] = ()
    gaps: tuple[Gap, ...] = ()
    coverage: Coverage
    strategy: Literal["merge"] = "merge"
    rounds: int = 1
    review: Review | None = None
    outputs: tuple[TaskReport, ...] = ()
