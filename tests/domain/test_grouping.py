"""What is grouped is all there, in order, and as even as neighbours allow."""

from itertools import combinations, pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.grouping import Bound, grouped, groups_allowed

MANY = settings(max_examples=80, deadline=None, derandomize=True, database=None)
SIZES = st.lists(st.integers(1, 40), min_size=1, max_size=9)


@MANY
@given(st.lists(st.integers(1, 10_000), max_size=60), st.integers(1, 40))
def test_each_thing_is_in_exactly_one_group_and_their_order_stays(sizes: list[int], count: int) -> None:
    groups = grouped(sizes, count)

    assert [at for group in groups for at in group] == [*range(len(sizes))]
    assert len(groups) == min(count, len(sizes))
    assert all(groups)


@MANY
@given(SIZES, st.integers(1, 9))
def test_no_other_grouping_of_neighbours_has_a_smaller_largest_group(sizes: list[int], count: int) -> None:
    groups = grouped(sizes, count)

    def largest(cuts: tuple[int, ...]) -> int:
        ends = [0, *cuts, len(sizes)]
        return max(sum(sizes[first:last]) for first, last in pairwise(ends))

    best = min(map(largest, combinations(range(1, len(sizes)), len(groups) - 1)))
    assert max(sum(sizes[at] for at in group) for group in groups) == best


@MANY
@given(
    st.dictionaries(st.sampled_from("abcde"), st.tuples(st.integers(1, 40), st.integers(1, 900)), min_size=1),
    st.integers(0, 60),
    st.sets(st.sampled_from("abcde")),
    st.integers(0, 30),
)
def test_bounds_hold_and_are_used_up(kinds: dict[str, tuple[int, int]], room: int, some: set[str], fewer: int) -> None:
    wanted, sizes = {kind: most for kind, (most, _) in kinds.items()}, {kind: size for kind, (_, size) in kinds.items()}
    bounds = [Bound(wanted.keys(), room), Bound(some & wanted.keys(), fewer)]

    counts = groups_allowed(wanted, sizes, bounds)

    if counts is None:
        assert len(wanted) > room or len(some & wanted.keys()) > fewer
        return
    assert all(1 <= counts[kind] <= wanted[kind] for kind in wanted)
    assert all(sum(counts[kind] for kind in bound.kinds) <= bound.most for bound in bounds)
    for kind in wanted:
        full = any(kind in bound.kinds and sum(counts[each] for each in bound.kinds) == bound.most for bound in bounds)
        assert full or counts[kind] == wanted[kind]


def test_what_is_larger_gets_more_groups() -> None:
    counts = groups_allowed({"a": 20, "b": 20}, {"a": 300, "b": 100}, [Bound({"a", "b"}, 12)])

    assert counts == {"a": 9, "b": 3}
