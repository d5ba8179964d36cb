"""A plan as a tree: each task under the one it waits for longest, the others that it rests on named beside it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

_BRANCH, _LAST_BRANCH = "├─ ", "└─ "
_PAST, _PAST_LAST = "│  ", "   "

PlannedTask = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Twig:
    """A line of the tree."""

    stem: str
    """What is drawn in front of it."""
    below: str
    """What is drawn in front of further lines about the same task."""
    task: PlannedTask
    also_after: tuple[str, ...]
    """Ids of the tasks that it rests on besides the one above it."""


def twigs(tasks: Sequence[PlannedTask]) -> list[Twig]:
    """The lines of the tree, in the plan's order among those on one branch.

    Ties that lead nowhere, or in a circle, are of plans that could not be carried out: such tasks stand at the trunk.
    """
    levels = _levels(tasks)
    places = {task["id"]: place for place, task in enumerate(tasks)}
    under: dict[str | None, list[PlannedTask]] = {}
    for task in tasks:
        before = [each for each in task["depends_on"] if each in places and levels[each] < levels[task["id"]]]
        above = max(before, key=lambda each: (levels[each], places[each]), default=None)
        under.setdefault(above, []).append(task)
    return list(_grown(under, None, ""))


def _grown(under: Mapping[str | None, Sequence[PlannedTask]], above: str | None, trunk: str) -> Iterator[Twig]:
    """The lines below a task; without recursion, since plans may be a hundred tasks deep."""
    left = [(task, above, trunk, place == 0) for place, task in enumerate(reversed(under.get(above, ())))]
    while left:
        task, parent, before, is_last = left.pop()
        below = before + (_PAST_LAST if is_last else _PAST)
        others = tuple(each for each in task["depends_on"] if each != parent)
        children = under.get(task["id"], ())
        yield Twig(before + (_LAST_BRANCH if is_last else _BRANCH), below, task, others)
        left += [(child, task["id"], below, place == 0) for place, child in enumerate(reversed(children))]


def _levels(tasks: Sequence[PlannedTask]) -> dict[str, int]:
    """How many tasks stand before each on its longest way; ties within a circle count for nothing."""
    ties = {task["id"]: set(task["depends_on"]) for task in tasks}
    levels: dict[str, int] = {}
    level = 0
    while len(levels) < len(ties):
        free = [each for each in ties if each not in levels and not (ties[each] & ties.keys()) - levels.keys()]
        levels |= dict.fromkeys(free or [each for each in ties if each not in levels], level)
        level += 1
    return levels
