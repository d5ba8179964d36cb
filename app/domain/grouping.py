"""Grouping: how many tasks things become that are too many for one task each, and which of them go together."""

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple


class Bound(NamedTuple):
    """How many groups some kinds of things may become together."""

    kinds: Collection[str]
    most: int


def groups_allowed(
    wanted: Mapping[str, int], sizes: Mapping[str, float], bounds: Sequence[Bound]
) -> Mapping[str, int] | None:
    """How many groups each kind becomes: as many as are wanted where the bounds allow it. None when they allow not even
    one of each.

    What is scarce goes, one group at a time, to the kind whose groups are the largest so far.
    """
    counts = dict.fromkeys(wanted, 1)
    if not _hold(bounds, counts):
        return None
    growing = {kind for kind, most in wanted.items() if most > 1}
    while growing:
        kind = max(growing, key=lambda each: (sizes[each] / counts[each], each))
        counts[kind] += 1
        if not _hold(bounds, counts):
            counts[kind] -= 1
            growing.remove(kind)
        elif counts[kind] == wanted[kind]:
            growing.remove(kind)
    return counts


def _hold(bounds: Sequence[Bound], counts: Mapping[str, int]) -> bool:
    return all(sum(counts[kind] for kind in bound.kinds) <= bound.most for bound in bounds)


def grouped(sizes: Sequence[int], count: int) -> list[range]:
    """Neighbours grouped into `count` groups, of which the largest is as small as it can be; fewer when there are fewer
    things. Each thing is in exactly one of them, and their order stays.

    Neighbours stay together since what lies side by side, the files of a folder or the clauses of a contract, belongs
    together (the linear partition problem, solved by halving the interval in which its answer lies).
    """
    count = min(count, len(sizes))
    least, most = max(sizes, default=0), sum(sizes)
    while least < most:
        room = (least + most) // 2
        if len(filled(sizes, room)) <= count:
            most = room
        else:
            least = room + 1
    groups = filled(sizes, least)
    while len(groups) < count:
        at = max((n for n, group in enumerate(groups) if len(group) > 1), key=lambda n: _sum(sizes, groups[n]))
        groups[at : at + 1] = _halves(sizes, groups[at])
    return groups


def filled(sizes: Sequence[int], room: int) -> list[range]:
    """Neighbours in groups that are as full as they may be, one after the other. What is too large is one alone."""
    groups: list[range] = []
    first, taken = 0, 0
    for at, size in enumerate(sizes):
        if at > first and taken + size > room:
            groups.append(range(first, at))
            first, taken = at, 0
        taken += size
    if sizes:
        groups.append(range(first, len(sizes)))
    return groups


def _halves(sizes: Sequence[int], group: range) -> list[range]:
    """A group of several as two, which differ as little as they can."""
    whole, taken, best = _sum(sizes, group), 0, (float("inf"), group.start)
    for at in group[:-1]:
        taken += sizes[at]
        best = min(best, (abs(whole - 2 * taken), at))
    return [range(group.start, best[1] + 1), range(best[1] + 1, group.stop)]


def _sum(sizes: Sequence[int], group: range) -> int:
    return sum(sizes[group.start : group.stop])
