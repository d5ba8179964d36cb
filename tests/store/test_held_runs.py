"""Which held runs are let go: in their order, none past a limit, and no key's before another's that has room."""

from hypothesis import given
from hypothesis import strategies as st

from app.store.held_runs import chosen_of

SAID = [("acme", "", {"runs_in_flight": 3}), ("acme", "a", {"runs_in_flight": 1})]


def test_the_first_in_line_go_first() -> None:
    assert [*chosen_of(SAID, {"": 1}, [("r1", ""), ("r2", ""), ("r3", "")])] == ["r1", "r2"]


def test_a_key_that_is_full_keeps_no_other_waiting() -> None:
    assert [*chosen_of(SAID, {"a": 1}, [("r1", "a"), ("r2", "a"), ("r3", "b")])] == ["r3"]


def test_without_limits_all_go() -> None:
    assert [*chosen_of([], {"": 9}, [("r1", "a"), ("r2", "")])] == ["r1", "r2"]


@given(
    st.dictionaries(st.sampled_from("ab"), st.integers(0, 4)),
    st.lists(st.sampled_from("ab"), max_size=10),
)
def test_no_limit_is_ever_passed_and_none_waits_for_whom_there_is_room(flying: dict[str, int], keys: list[str]) -> None:
    held = [(f"r{number}", key) for number, key in enumerate(keys)]

    chosen = {*chosen_of(SAID, flying, held)}

    whole = sum(flying.values()) + len(chosen)
    of_a = flying.get("a", 0) + sum(1 for name, key in held if key == "a" and name in chosen)
    assert not chosen or whole <= 3
    assert of_a <= max(1, flying.get("a", 0))
    assert whole >= 3 or not [key for name, key in held if name not in chosen and (key != "a" or of_a < 1)]
