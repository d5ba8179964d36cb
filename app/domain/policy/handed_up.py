"""What a nested run lacks is lacking in its parent's answer too: a part that is missing below is missing above."""

from collections.abc import Iterable, Mapping

from app.domain.errors import ErrorCode
from app.domain.policy.chosen import basis_told, heard_in, strategy_of
from app.domain.results import Claim, Conflict, Gap, NestedResult
from app.domain.snapshot import Snapshot
from app.domain.task_state import TaskState
from app.domain.text import shorten

IMPACT_CHARACTERS = 1_000
_REASONS: Mapping[str, ErrorCode] = {
    "deadline_exceeded": "timeout",
    "budget_exhausted": "budget_exceeded",
    "synthesis_failed": "output_invalid",
    "review_failed": "result_rejected",
}


def half_done(run: Snapshot) -> list[TaskState]:
    """The tasks whose nested run brought only a part, and for which no other task has brought the rest."""
    closed = {gap.task for gap in run.answering.closed if _is_closed(run, gap)}
    rests_on = basis_told(run, heard_in(run))
    return [task for task in rests_on if task.task.id not in closed and task.output and _is_partial(task.output.nested)]


def lacks_half(run: Snapshot) -> bool:
    """Whether the answer rests on one of these that it needs: a required task, or the result that was chosen."""
    is_chosen = strategy_of(run) == "select"
    return any(task.task.required or is_chosen for task in half_done(run))


def conflicts_handed_up(tasks: Iterable[TaskState]) -> list[Conflict]:
    """What nested runs leave open, as conflicts within the results of their tasks."""
    return [
        Conflict(
            id=f"{task.task.id}-{each.id}",
            topic=each.topic,
            claims=tuple(Claim(task=task.task.id, claim=claim.claim) for claim in each.claims),
            status="unresolved",
        )
        for task in tasks
        if task.output is not None and task.output.nested is not None
        for each in task.output.nested.unresolved
    ]


def _is_closed(run: Snapshot, gap: Gap) -> bool:
    instead = run.tasks.get(gap.redispatched_as or "")
    return instead is not None and instead.delivered


def _is_partial(nested: NestedResult | None) -> bool:
    return nested is not None and nested.status == "partial"


def gap_handed_up(task: TaskState) -> Gap:
    """The gap that a nested run leaves in its parent's answer, with what it says of its own."""
    nested = task.output.nested if task.output is not None else None
    assert nested is not None
    reason = _REASONS.get(nested.stop_reason) or (nested.gaps[0].reason if nested.gaps else "result_rejected")
    said = "; ".join(filter(None, (gap.impact for gap in nested.gaps)))
    told = f"The nested run {nested.run} brought only a part ({nested.stop_reason}). {said}".strip()
    return Gap(task=task.task.id, reason=reason, impact=shorten(told, IMPACT_CHARACTERS)[0])
