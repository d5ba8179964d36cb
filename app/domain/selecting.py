"""Selecting: which results of a plan are tries of the same thing, which of them was chosen, and what an answer that is
made from it rests on."""

from collections.abc import Collection, Mapping, Sequence

from app.domain.plan import Plan
from app.domain.selection import Selection
from app.domain.task_state import TaskState

FEWEST_CANDIDATES = 2
"""Of fewer there is nothing to choose."""
ONLY_ONE = "It is the only candidate that delivered."


def leaves_of(plan: Plan, but: Collection[str] = ()) -> frozenset[str]:
    """The tasks of a plan that no other one is given the result of, not counting what the tasks `but` are given."""
    needed = {need for task in plan.tasks if task.id not in but for need in task.depends_on}
    return frozenset(task.id for task in plan.tasks) - needed


def candidates_in(plan: Plan | None, heard: Sequence[TaskState], later: Collection[str]) -> list[TaskState]:
    """The results among those `heard` that are tries of the same thing; none where the plan does not select.

    A task of a `later` round that adds to one takes its place once it has delivered, and not before.
    """
    if plan is None or plan.strategy != "select":
        return []
    names = {task.task.id for task in heard}
    leaves = leaves_of(plan, but=set(later) - names)
    return [task for task in heard if task.task.id in leaves]


def selection_among(candidates: Sequence[TaskState], told: Sequence[Selection]) -> Selection | None:
    """What was chosen among these; None while nobody has. Of one candidate nobody need be asked."""
    names = {task.task.id for task in candidates}
    if len(names) == 1:
        return Selection(task=candidates[0].task.id, reason=ONLY_ONE, candidates=tuple(names), judged=False)
    return next((each for each in reversed(told) if names and names == {*each.candidates}), None)


def basis_of(
    heard: Sequence[TaskState], selection: Selection | None, tasks: Mapping[str, TaskState]
) -> list[TaskState]:
    """The results that an answer rests on: the chosen one and those that it rests on itself, where one was chosen."""
    if selection is None or selection.task is None:
        return [*heard]
    found, waiting = set[str](), [selection.task]
    while waiting:
        name = waiting.pop()
        if name not in found and name in tasks:
            found.add(name)
            waiting += tasks[name].task.depends_on
    return [task for task in heard if task.task.id in found]
