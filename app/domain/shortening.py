"""Which results are shown in short: no call is given more of them than it has room for."""

from collections.abc import Collection

from app.domain.reduction_tree import ROOM_CHARACTERS, characters_of, reduces, shares_of, tree_of
from app.domain.snapshot import Snapshot
from app.domain.task_state import TaskState


def shortened_for_answer(run: Snapshot) -> tuple[str, ...]:
    """The tasks whose results are shown in short for the answer in the making, in plan order: to the supervisor, or to
    the judge who has chosen among them."""
    cut = _cut_by_reduce(run) if reduces(run) else _over_share(run.reconcilable) | _cut_for_judge(run)
    return tuple(name for name in run.tasks if name in cut)


def _cut_by_reduce(run: Snapshot) -> set[str]:
    """Results that stand beside what was put together, and have too little room; and those too long for any call."""
    beside = [(part, share) for part, share in shares_of(tree_of(run).parts) if isinstance(part, TaskState)]
    cut = {part.task.id for part, share in beside if characters_of(part) > share}
    return cut | {task.task.id for task in run.reconcilable if characters_of(task) > ROOM_CHARACTERS}


def _cut_for_judge(run: Snapshot) -> set[str]:
    chosen = run.selection
    return _over_share(run.candidates) if chosen is not None and chosen.judged and chosen.task is not None else set()


def _over_share(tasks: Collection[TaskState]) -> set[str]:
    share = ROOM_CHARACTERS // max(len(tasks), 1)
    return {task.task.id for task in tasks if characters_of(task) > share}
