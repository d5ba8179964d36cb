"""The legal moves of runs, tasks and attempts, as tables. Everything else about states is derived from them."""

from collections.abc import Mapping
from typing import Literal, TypeVar

from app.domain.errors import IllegalMove

RunStatus = Literal["queued", "running", "waiting", "succeeded", "partial", "failed", "cancelled"]
Phase = Literal["planning", "executing", "synthesizing", "reviewing"]
TaskStatus = Literal["pending", "running", "waiting", "succeeded", "failed", "skipped", "cancelled"]
WaitReason = Literal["provider", "answer", "plan_approval", "children"]
"""What a run waits for when it is parked; the first of several."""
AttemptStatus = Literal["running", "succeeded", "failed", "cancelled"]

RUN_MOVES: Mapping[tuple[RunStatus, str], RunStatus] = {
    ("queued", "run.started"): "running",
    ("queued", "run.cancelled"): "cancelled",
    ("running", "run.resumed"): "running",
    ("running", "run.waiting"): "waiting",
    ("running", "run.succeeded"): "succeeded",
    ("running", "run.partial"): "partial",
    ("running", "run.failed"): "failed",
    ("running", "run.cancelled"): "cancelled",
    ("waiting", "run.resumed"): "running",
    ("waiting", "run.failed"): "failed",
    ("waiting", "run.cancelled"): "cancelled",
}

TASK_MOVES: Mapping[tuple[TaskStatus, str], TaskStatus] = {
    ("pending", "task.started"): "running",
    ("pending", "task.refined"): "pending",
    ("pending", "task.failed"): "failed",
    ("pending", "task.skipped"): "skipped",
    ("pending", "task.cancelled"): "cancelled",
    ("pending", "task.dropped"): "pending",
    ("running", "task.started"): "running",
    ("running", "task.dropped"): "running",
    ("running", "task.rejected"): "running",
    ("running", "task.escalated"): "running",
    ("running", "task.retrying"): "pending",
    ("running", "task.reassigned"): "pending",
    ("running", "task.split"): "cancelled",
    ("running", "question.asked"): "waiting",
    ("waiting", "question.answered"): "pending",
    ("waiting", "question.expired"): "pending",
    ("waiting", "task.failed"): "failed",
    ("waiting", "task.cancelled"): "cancelled",
    ("running", "task.succeeded"): "succeeded",
    ("running", "task.failed"): "failed",
    ("running", "task.cancelled"): "cancelled",
}

ATTEMPT_MOVES: Mapping[tuple[AttemptStatus, str], AttemptStatus] = {
    ("running", "task.rejected"): "running",
    ("running", "task.escalated"): "running",
    ("running", "task.succeeded"): "succeeded",
    ("running", "task.failed"): "failed",
    ("running", "task.retrying"): "failed",
    ("running", "task.reassigned"): "failed",
    ("running", "task.split"): "failed",
    ("running", "question.asked"): "failed",
    ("running", "task.cancelled"): "cancelled",
    ("running", "attempt.failed"): "failed",
    ("running", "attempt.cancelled"): "cancelled",
}

_WORK = frozenset({
    "plan.created", "plan.revised", "plan.invalid",
    "plan.approval_requested", "plan.edited", "plan.approved", "plan.rejected",
    "task.started", "task.succeeded", "task.failed", "task.retrying", "task.refined", "task.rejected",
    "task.reassigned", "task.split", "ruling.rejected",
    "question.asked", "question.answered", "question.expired",
    "task.escalated", "task.skipped", "task.cancelled", "task.dropped", "attempt.failed", "attempt.cancelled",
    "child.started", "child.ended",
    "llm.completed", "llm.failed", "tool.started", "tool.completed", "tool.failed",
    "synthesis.completed", "synthesis.rejected", "conflict.found", "conflict.judged", "conflict.left_open",
    "findings.placed", "findings.merged", "finding.verified", "verification.rejected", "findings.filtered",
    "findings.ranked",
    "judgement.rejected", "gap.found", "review.completed", "review.rejected",
    "selection.completed", "selection.rejected", "selection.failed",
    "reduction.completed", "reduction.rejected", "reduction.skipped",
    "budget.exhausted",
    "breaker.opened", "breaker.closed",
})  # fmt: skip
ALLOWED_WHILE: Mapping[RunStatus, frozenset[str]] = {
    "queued": frozenset({"run.cancel_requested", "results.reused"}),
    "running": frozenset({"run.cancel_requested"}) | _WORK,
    "waiting": frozenset({
        "run.cancel_requested", "task.cancelled", "attempt.cancelled", "question.answered",
        "plan.edited", "plan.approved", "plan.rejected", "child.ended", "task.succeeded",
    }),
}  # fmt: skip
"""What may happen in a run beside what moves it. Nothing may in one that has ended."""

State = TypeVar("State", bound=str)


def terminal(moves: Mapping[tuple[State, str], State]) -> frozenset[State]:
    """The states that no move leaves."""
    return frozenset(moves.values()) - {state for state, _ in moves}


TERMINAL_RUN = terminal(RUN_MOVES)
TERMINAL_TASK = terminal(TASK_MOVES)


def move(moves: Mapping[tuple[State, str], State], state: State, event: str) -> State:
    """The state that `event` leads to. Raises `IllegalMove` when it cannot happen in `state`."""
    try:
        return moves[state, event]
    except KeyError:
        raise IllegalMove(f"{event} cannot happen in state {state}") from None


def check_allowed(status: RunStatus, event: str) -> None:
    """Raises `IllegalMove` when `event` cannot happen in a run of that status."""
    if event not in ALLOWED_WHILE.get(status, ()) and (status, event) not in RUN_MOVES:
        raise IllegalMove(f"{event} cannot happen in a run that is {status}")


def diagram(moves: Mapping[tuple[State, str], State]) -> str:
    """The table as a Mermaid state diagram; moves between the same two states share an arrow."""
    arrows: dict[tuple[str, str], dict[str, None]] = {}
    for (before, event), after in moves.items():
        arrows.setdefault((before, after), {})[event.partition(".")[2]] = None
    lines = [
        f"    {before} --> {after}: {', '.join(dict.fromkeys(events))}" for (before, after), events in arrows.items()
    ]
    ends = [f"    {state} --> [*]" for state in sorted(terminal(moves))]
    return "\n".join(["stateDiagram-v2", *lines, *ends])
