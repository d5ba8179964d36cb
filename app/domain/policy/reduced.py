"""What the newest answer rests on, where more results were there than one context holds."""

from collections.abc import Sequence

from app.domain.coverage import ReducedGroup
from app.domain.reduction_tree import beneath, reduces
from app.domain.snapshot import Snapshot


def groups_beneath(run: Snapshot) -> tuple[ReducedGroup, ...]:
    """The groups that were put together on the way to the newest answer, or were to be, from the lowest up."""
    known = run.answering.reductions
    told = {each.number: each for each in beneath(run, [known[number] for number in run.answering.rests_on])}
    return tuple(
        ReducedGroup(level=each.level, group=each.group, tasks=each.tasks, skipped=getattr(each, "reason", None))
        for each in sorted(told.values(), key=lambda each: (each.level, each.group))
    )


def shortened_in(run: Snapshot, groups: Sequence[ReducedGroup]) -> tuple[str, ...]:
    """The tasks whose results stood for themselves in short."""
    skipped = (name for group in groups if group.skipped for name in group.tasks)
    return tuple(dict.fromkeys([*skipped, *run.answering.shortened]))


def why_shortened(run: Snapshot) -> str | None:
    """The stop reason of a run that was to read all results whole, and has not; None for every other."""
    reasons = {group.skipped for group in groups_beneath(run)} - {None}
    if not reasons:
        return "synthesis_failed" if reduces(run) and run.answering.shortened else None
    if "budget" in reasons:
        return "budget_exhausted"
    return "deadline_exceeded" if "timeout" in reasons else "synthesis_failed"
