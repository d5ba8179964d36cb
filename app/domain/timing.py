"""How long a run took, how long it would have taken one step at a time, and what bounded it."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime

from pydantic import BaseModel, ConfigDict

from app.domain.snapshot import Snapshot
from app.domain.task_state import TaskState


class Timing(BaseModel):
    """Milliseconds."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)

    queued_ms: int = 0
    """From the request to the start."""
    wall_ms: int = 0
    """From the start to the end, or to now."""
    critical_path_ms: int = 0
    """Planning, the longest chain of tasks that waited for each other, and synthesis: no parallelism beats it."""
    sequential_ms: int = 0
    """Planning, every task, and synthesis one after the other."""
    speedup: float = 1.0
    """`sequential_ms` over `wall_ms`."""


def timing_of(run: Snapshot, now: datetime) -> Timing:
    """The timing of a run, up to `now` while it has not ended."""
    if run.created_at is None:
        return Timing()
    if run.started_at is None:
        return Timing(queued_ms=milliseconds(run.created_at, run.finished_at or now))
    end = run.finished_at or now
    planning = milliseconds(run.started_at, run.planned_at or end)
    wrapping_up = milliseconds(run.executed_at, end) if run.executed_at else 0
    worked = {task.task.id: worked_ms(task, end) for task in run.every_task}
    wall = milliseconds(run.started_at, end)
    sequential = planning + sum(worked.values()) + wrapping_up
    return Timing(
        queued_ms=milliseconds(run.created_at, run.started_at),
        wall_ms=wall,
        critical_path_ms=planning + _longest_chain(run, worked) + wrapping_up,
        sequential_ms=sequential,
        speedup=round(sequential / wall, 2) if wall else 1.0,
    )


def milliseconds(start: datetime, end: datetime) -> int:
    """From one moment to a later one; 0 when it is no later."""
    return max(round((end - start).total_seconds() * 1000), 0)


def worked_ms(task: TaskState, end: datetime) -> int:
    """How long attempts at a task were under way; what two do side by side counts once."""
    last = task.finished_at or end
    return together_ms((attempt.started_at, min(attempt.finished_at or end, last)) for attempt in task.attempts)


def together_ms(stretches: Iterable[tuple[datetime, datetime]]) -> int:
    """How long stretches of time are together, in the order in which they begin; what lies side by side counts once."""
    whole, until = 0, None
    for start, end in stretches:
        since = start if until is None else max(start, until)
        until = max(since, end)
        whole += milliseconds(since, until)
    return whole


def _longest_chain(run: Snapshot, worked: dict[str, int]) -> int:
    """How long the heaviest path through the graph took. The parts of a task that was split begin where it ended,
    and so does what is to close a gap.
    """
    needs = {task.task.id: task.task.depends_on for task in run.every_task}
    for whole in run.replaced.values():
        needs |= {part: (*needs[part], whole.task.id) for part in whole.split_into}
    for gap in run.answering.closed:
        closing = gap.redispatched_as or ""
        needs |= {closing: (*needs[closing], gap.task)}
    for name, task in run.answering.ties.items():
        conflict = run.answering.conflict(name)
        claims = [claim.task for claim in conflict.claims if claim.task in needs] if conflict else []
        needs |= {task: (*needs[task], *claims)}
    dropped = {task.task.id for task in run.every_task if task.dropped}
    return sum(worked[name] for name in longest_chain(needs, worked, dropped))


def longest_chain(
    needs: Mapping[str, Sequence[str]], worked: Mapping[str, int], dropped: Collection[str]
) -> Sequence[str]:
    """The tasks on the heaviest path, first to last; they come in any order, so lengths are found by need."""
    lengths: dict[str, int] = {}
    before: dict[str, str | None] = {}
    waiting = list(needs)
    while waiting:
        unknown = [name for name in needs[waiting[-1]] if name not in lengths]
        if unknown:
            waiting.extend(unknown)
            continue
        name = waiting.pop()
        # Nothing has waited for a dropped task to its end.
        awaited = [needed for needed in needs[name] if needed not in dropped]
        before[name] = max(awaited, key=lengths.__getitem__, default=None)
        lengths[name] = worked[name] + max((lengths[needed] for needed in awaited), default=0)
    last = max(lengths, key=lengths.__getitem__, default=None)
    chain: list[str] = []
    while last is not None:
        chain.append(last)
        last = before[last]
    return chain[::-1]
