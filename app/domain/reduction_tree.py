"""The tree by which more results than one context holds become an answer.

It is told from the state alone. Results that do not fit are put into groups, each of which a model call puts together;
what still does not fit is the next level. What the newest answer rests on is kept: of results that have come since,
only these are grouped. A group is named by what is in it, so that nothing is ever put together twice.
"""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from app.domain.lint import RESULTS_HELD
from app.domain.reductions import REDUCED_CHARACTERS, Contradiction, Grouped, Reduction, divided
from app.domain.result_sizes import dealt, sizes_of
from app.domain.snapshot import Snapshot
from app.domain.task_state import TaskState

RESULT_CHARACTERS = 8_000
"""What each of as many results as may be can say."""
ROOM_CHARACTERS = RESULTS_HELD * RESULT_CHARACTERS
"""For all that the results of one call say together; names of fields and escapes come on top."""


@dataclass(frozen=True)
class Group:
    """Results, or reductions of such, that are to be put together."""

    level: int
    place: int
    """Its place among the groups of its level, from 1."""
    members: "tuple[Part, ...]"

    @cached_property
    def named(self) -> Grouped:
        """What names it in the log."""
        within = [member for member in self.members if not isinstance(member, TaskState)]
        key = ":".join(map(str, [self.level, *map(_key, self.members)]))
        return Grouped(
            number=int.from_bytes(hashlib.blake2b(key.encode(), digest_size=4).digest(), "big"),
            level=self.level,
            group=self.place,
            tasks=tuple(name for member in self.members for name in tasks_of(member)),
            holds=tuple(_named(member).number for member in within),
        )


@dataclass(frozen=True)
class Unreduced:
    """A group that nobody has put together: its members stand for themselves, each in short."""

    group: Group


Part = TaskState | Reduction | Unreduced


@dataclass(frozen=True, slots=True)
class Tree:
    """What the answer in the making rests on, as far as it is known."""

    parts: tuple[Part, ...]
    pending: tuple[Group, ...] = ()
    """The groups that are to be put together before anything else is."""


def tasks_of(part: Part) -> tuple[str, ...]:
    """Ids of the tasks whose results a part holds."""
    return (part.task.id,) if isinstance(part, TaskState) else _named(part).tasks


def characters_of(part: Part) -> int:
    """What a part says when nothing of it is cut."""
    if isinstance(part, Reduction):
        return part.characters
    if isinstance(part, Unreduced):
        return sum(map(characters_of, part.group.members))
    return sum(sizes_of(part).values())


def shares_of(parts: Sequence[Part], room: int = ROOM_CHARACTERS) -> Iterator[tuple[Part, int]]:
    """The parts, each with what it may say within the room: what wants less leaves the others more."""
    shares = dealt({str(place): characters_of(part) for place, part in enumerate(parts)}, room)
    return ((part, shares[str(place)]) for place, part in enumerate(parts))


def reduces(run: Snapshot) -> bool:
    """Whether more results than one call holds are put together in groups."""
    return run.plan is not None and run.plan.strategy == "reduce"


def tree_of(run: Snapshot) -> Tree:
    """The tree of the answer in the making. Where the plan does not reduce, it is the results."""
    parts: Sequence[Part] = run.reconcilable
    if not reduces(run):
        return Tree(tuple(parts))
    places = {task.task.id: place for place, task in enumerate(run.reconcilable)}
    parts = _with_standing(run, run.reconcilable)
    while not _fits(parts):
        groups = _groups_of(parts)
        if not _wins(groups):
            break
        outcomes = [_outcome(run, group) for group in groups]
        grouped = {id(member) for group in groups for member in group.members}
        left = [part for part in parts if id(part) not in grouped]
        done = [outcome or Unreduced(group) for group, outcome in zip(groups, outcomes, strict=True)]
        parts = sorted([*left, *done], key=lambda part: min(places[name] for name in tasks_of(part)))
        if pending := tuple(group for group, found in zip(groups, outcomes, strict=True) if found is None):
            return Tree(tuple(parts), pending)
    return Tree(tuple(parts))


def groups_due(run: Snapshot) -> tuple[Group, ...]:
    """The groups that are put together now: as many as the run's concurrency allows."""
    return tree_of(run).pending[: run.brief.limits.concurrency]


def contradictions_in(run: Snapshot) -> list[Contradiction]:
    """What the reductions beneath the answer in the making have seen results contradict each other in, each once."""
    found: dict[tuple[str, tuple[str, ...]], Contradiction] = {}
    for grouped in beneath(run, named_in(run)):
        for each in grouped.contradictions if isinstance(grouped, Reduction) else ():
            found.setdefault((each.topic, tuple(claim.task for claim in each.claims)), each)
    return list(found.values())


def named_in(run: Snapshot) -> list[Grouped]:
    """The groups on which the answer in the making rests."""
    return [_named(part) for part in tree_of(run).parts if not isinstance(part, TaskState)]


def beneath(run: Snapshot, tops: Sequence[Grouped]) -> Iterator[Grouped]:
    """What became of these groups and of all that are in them, from the lowest up."""
    for top in tops:
        known = run.answering.reductions
        yield from beneath(run, [known[number] for number in top.holds if number in known])
        if top.number in known:
            yield known[top.number]


def _with_standing(run: Snapshot, results: Sequence[TaskState]) -> list[Part]:
    """The results, but for those that stand in a reduction on which the newest answer rests: in their place that."""
    names = {task.task.id for task in results}
    known = [run.answering.reductions[number] for number in run.answering.rests_on]
    standing = [each for each in known if isinstance(each, Reduction) and names.issuperset(each.tasks)]
    by_task = {name: each for each in standing for name in each.tasks}
    parts: dict[str | int, Part] = {}
    for task in results:
        above = by_task.get(task.task.id)
        parts.setdefault(above.number if above else task.task.id, above or task)
    return list(parts.values())


def _fits(parts: Sequence[Part]) -> bool:
    return len(parts) <= RESULTS_HELD and sum(map(_weight, parts)) <= ROOM_CHARACTERS


def _weight(part: Part) -> int:
    """What a part is to have room for at least."""
    return min(characters_of(part), REDUCED_CHARACTERS if isinstance(part, Unreduced) else ROOM_CHARACTERS)


def _groups_of(parts: Sequence[Part]) -> list[Group]:
    """The parts of the lowest level in groups; all parts, where that alone would win nothing."""
    lowest = min(map(_level, parts))
    groups = _grouped([part for part in parts if _level(part) == lowest])
    return groups if _wins(groups) else _grouped(parts)


def _wins(groups: Sequence[Group]) -> bool:
    """Whether less is left to be said once these are put together: a long result is worth a call of its own."""
    return any(len(group.members) > 1 or _is_long(group.members[0]) for group in groups)


def _is_long(part: Part) -> bool:
    return isinstance(part, TaskState) and characters_of(part) > REDUCED_CHARACTERS


def _grouped(parts: Sequence[Part]) -> list[Group]:
    groups: list[Group] = []
    begin = 0
    for count in divided([*map(_weight, parts)], RESULTS_HELD, ROOM_CHARACTERS):
        members = tuple(parts[begin : begin + count])
        groups.append(Group(1 + max(map(_level, members)), len(groups) + 1, members))
        begin += count
    return groups


def _outcome(run: Snapshot, group: Group) -> Part | None:
    """What became of a group; None while nothing has."""
    only = group.members[0] if len(group.members) == 1 else None
    if only is not None and not _is_long(only):
        return only  # It is short already.
    known = run.answering.reductions.get(group.named.number)
    return known if known is None or isinstance(known, Reduction) else Unreduced(group)


def _level(part: Part) -> int:
    return 0 if isinstance(part, TaskState) else _named(part).level


def _named(part: Reduction | Unreduced) -> Grouped:
    return part if isinstance(part, Reduction) else part.group.named


def _key(part: Part) -> str:
    """What a part is, as far as its content may change: which attempt a result is of."""
    if isinstance(part, TaskState):
        return f"{part.task.id}/{part.attempt.number if part.attempts else 0}"
    return str(_named(part).number)
