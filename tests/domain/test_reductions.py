"""More results than one answer can be made from: how they are grouped, in which order, and what is done anew."""

from collections.abc import Sequence
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain import events as ev
from app.domain.fold import fold
from app.domain.lint import RESULTS_HELD
from app.domain.policy.agenda import ANSWERING, open_topics
from app.domain.reduction_tree import ROOM_CHARACTERS, characters_of, contradictions_in, groups_due, tasks_of, tree_of
from app.domain.reductions import REDUCED_CHARACTERS, Contradiction, divided
from app.domain.results import Claim, Problem
from tests.support.many import heard, many, of_size, planned_for_many, reduce, reduce_all, topic_of_group, with_strategy
from tests.support.story import USELESS, Story, called

MANY = settings(max_examples=200, deadline=None, derandomize=True, database=None)
SIZES = st.lists(st.integers(0, 120), min_size=1, max_size=40)


@MANY
@given(sizes=SIZES, held=st.integers(1, 10), room=st.integers(1, 100))
def test_groups_hold_no_more_than_they_may_and_are_as_few_as_that_allows(
    sizes: Sequence[int], held: int, room: int
) -> None:
    counts = divided(sizes, held, room)

    groups, rest = [], list(sizes)
    for count in counts:
        groups.append(rest[:count])
        rest = rest[count:]
    assert rest == []
    assert all(len(group) <= held and (sum(group) <= room or len(group) == 1) for group in groups)
    assert len(counts) == len(_first_fit(sizes, held, room))


def _first_fit(sizes: Sequence[int], held: int, room: int) -> list[list[int]]:
    groups: list[list[int]] = []
    for size in sizes:
        if groups and len(groups[-1]) < held and sum(groups[-1]) + size <= room:
            groups[-1].append(size)
        else:
            groups.append([size])
    return groups


@pytest.mark.parametrize(
    ("count", "size", "counts"),
    [(31, 1, [16, 15]), (120, 8, [30, 30, 30, 30]), (61, 8, [21, 21, 19]), (4, 200, [1, 1, 1, 1]), (3, 120, [2, 1])],
)
def test_groups_are_even(count: int, size: int, counts: list[int]) -> None:
    assert divided([size] * count, 30, 240) == counts


def test_as_many_results_as_fit_are_not_reduced() -> None:
    story = many(RESULTS_HELD)

    assert groups_due(story.run) == ()
    assert story.talking() == [ANSWERING]


def test_another_strategy_reduces_nothing() -> None:
    assert with_strategy(many(), "merge").talking() == [ANSWERING]


def test_one_more_makes_two_groups_that_are_put_together_side_by_side_before_the_answer() -> None:
    story = many(31)
    first, second = groups_due(story.run)

    assert [len(group.named.tasks) for group in (first, second)] == [16, 15]
    assert (*first.named.tasks, *second.named.tasks) == tuple(story.run.tasks)
    assert story.talking() == [topic_of_group(first), topic_of_group(second)]
    assert list(open_topics(story.run)) == story.talking()

    reduce(story, second)
    assert story.talking() == [topic_of_group(first)]
    reduce(story, first)
    assert story.talking() == [ANSWERING]
    assert [tasks_of(part) for part in tree_of(story.run).parts] == [first.named.tasks, second.named.tasks]


def test_no_more_groups_are_under_way_than_the_run_may_have_tasks_under_way() -> None:
    story = many(100, concurrency=2)
    groups = tree_of(story.run).pending

    assert len(groups) == 4
    assert story.talking() == [topic_of_group(group) for group in groups[:2]]
    reduce(story, groups[0])
    assert story.talking() == [topic_of_group(group) for group in groups[1:3]]


def test_few_results_that_are_long_are_reduced_too() -> None:
    story = of_size(4, ROOM_CHARACTERS // 3)

    assert [group.named.tasks for group in groups_due(story.run)] == [("t1", "t2"), ("t3", "t4")]


def test_what_does_not_fit_once_it_is_put_together_is_the_next_level() -> None:
    story = of_size(80, ROOM_CHARACTERS * 2 // 5)
    made = reduce_all(story)

    assert [(each.level, len(each.tasks), len(each.holds)) for each in made[-2:]] == [(2, 40, 20), (2, 40, 20)]
    assert {each.level for each in made[:-2]} == {1}
    assert len(made) == 42
    assert story.talking() == [ANSWERING]


def test_results_each_of_which_fills_more_than_half_a_request_have_one_each() -> None:
    story = of_size(3, ROOM_CHARACTERS * 2 // 3)

    assert [group.named.tasks for group in groups_due(story.run)] == [("t1",), ("t2",), ("t3",)]
    reduce_all(story)
    story.synthesize()
    story.settle()
    assert (story.run.status, _shortened(story)) == ("succeeded", ())


def test_a_short_result_between_such_stands_for_itself() -> None:
    story = planned_for_many(3)
    for number, size in enumerate((ROOM_CHARACTERS - 100, 1_000, ROOM_CHARACTERS - 100), 1):
        story.succeed(f"t{number}", text="x" * size)

    assert [group.named.tasks for group in groups_due(story.run)] == [("t1",), ("t3",)]
    made = reduce_all(story)
    assert [tasks_of(part) for part in tree_of(story.run).parts] == [("t1",), ("t2",), ("t3",)]
    assert len(made) == 2


@pytest.mark.parametrize("count", [1, 3])
def test_a_result_that_no_call_holds_is_told_to_be_shortened(count: int) -> None:
    story = of_size(count, ROOM_CHARACTERS + 1)
    reduce_all(story)
    story.synthesize()
    story.settle()

    assert (story.run.status, story.run.stop_reason) == ("partial", "synthesis_failed")
    assert _shortened(story) == tuple(story.run.tasks)


def test_what_stands_beside_a_group_that_was_skipped_may_be_shortened_too() -> None:
    story = of_size(4, ROOM_CHARACTERS // 3)
    first, second = groups_due(story.run)
    story.tell(ev.ReductionSkipped(**first.named.model_dump(), reason="rejected"))
    reduce(story, second)
    story.synthesize()
    story.settle()

    assert (story.run.stop_reason, _shortened(story)) == ("synthesis_failed", ("t1", "t2"))


def test_a_merge_tells_what_was_shown_in_short_and_is_whole_all_the_same() -> None:
    story = with_strategy(planned_for_many(3), "merge")
    for number, size in enumerate((ROOM_CHARACTERS // 2, 1_000, ROOM_CHARACTERS // 3 - 100), 1):
        story.succeed(f"t{number}", text="x" * size)
    story.synthesize()
    story.settle()

    assert (story.run.status, _shortened(story)) == ("succeeded", ("t1",))


def _shortened(story: Story) -> tuple[str, ...]:
    assert story.run.result is not None
    return story.run.result.coverage.shortened


def test_a_group_whose_reduction_stays_unusable_is_skipped_and_the_run_is_partial() -> None:
    story = many()
    first, second = groups_due(story.run)
    for _ in range(2):
        heard(story, first)
        story.tell(ev.ReductionRejected(errors=(USELESS,), note="Again.", number=first.named.number))
    assert story.talking() == [topic_of_group(second)]
    assert story.settle() == ["reduction.skipped"]
    reduce(story, second)
    story.synthesize()
    story.settle()

    result = story.run.result
    assert result is not None
    assert (story.run.status, story.run.stop_reason) == ("partial", "synthesis_failed")
    assert result.coverage.shortened == first.named.tasks
    assert [(each.group, each.skipped) for each in result.reductions] == [(1, "rejected"), (2, None)]


def test_a_group_whose_call_fails_for_good_is_skipped() -> None:
    story = many()
    first, _ = groups_due(story.run)
    problem = Problem(code="context_exceeded", message="Too long.")
    story.tell(called("reduce", number=first.named.number).failed(problem))

    assert [fact.reason for fact, *_ in story.decide().entries if isinstance(fact, ev.ReductionSkipped)] == ["failed"]


def test_when_the_time_for_work_is_up_the_rest_is_skipped_and_the_answer_made_of_what_there_is() -> None:
    story = many(timeout_s=100)
    first, second = groups_due(story.run)
    reduce(story, first)
    assert story.decide().wake_at == story.run.wrap_up_at
    story.wait(86)

    [(skipped, *_)] = story.decide().entries
    assert isinstance(skipped, ev.ReductionSkipped)
    assert (skipped.number, skipped.reason, story.talking()) == (second.named.number, "timeout", [])
    story.settle()
    assert story.talking() == [ANSWERING]
    story.synthesize()
    story.settle()
    assert (story.run.status, story.run.stop_reason) == ("partial", "deadline_exceeded")


def test_when_the_budget_is_exhausted_the_rest_is_skipped() -> None:
    story = many(tokens=100_000)
    first, _ = groups_due(story.run)
    story.record(
        topic_of_group(first).entry(
            ev.BudgetExhausted(limit="tokens", call="reduce", allowed=100_000, needed=9_000, left=10)
        )
    )

    assert story.settle() == ["reduction.skipped"] * 2
    story.synthesize()
    story.settle()
    assert (story.run.status, story.run.stop_reason) == ("partial", "budget_exhausted")


def test_the_answer_is_whole_and_tells_what_it_rests_on() -> None:
    story = many()
    reduce_all(story)
    story.synthesize()
    story.settle()

    result = story.run.result
    assert result is not None
    assert (story.run.status, result.coverage.shortened) == ("succeeded", ())
    assert [(each.level, each.group, len(each.tasks)) for each in result.reductions] == [(1, 1, 16), (1, 2, 15)]


def late(count: int) -> Story:
    """A run one of whose tasks was dropped, and delivers once the answer is there."""
    story = planned_for_many(count, timeout_s=1000)
    for number in range(1, count):
        story.succeed(f"t{number}")
    story.start(f"t{count}")
    story.tell(ev.TaskDropped(after_s=3.0), f"t{count}")
    reduce_all(story)
    story.synthesize()
    story.succeed(f"t{count}")
    return story


def test_a_result_that_comes_late_stands_beside_what_was_put_together_before() -> None:
    story = late(40)

    assert story.run.wants_answer
    assert groups_due(story.run) == ()
    parts = [tasks_of(part) for part in tree_of(story.run).parts]
    assert [len(part) for part in parts] == [20, 19, 1]
    assert ANSWERING in story.talking()


def test_of_many_new_results_these_alone_are_grouped() -> None:
    story = many(31)
    made = reduce_all(story)
    story.synthesize()
    run = story.run
    assert run.plan is not None
    more = planned_for_many(70).run.plan
    assert more is not None
    wider = more.model_copy(update={"revision": 2, "strategy": "reduce"})
    story.tell(ev.PlanRevised.from_to(run.plan, wider, "Round 2.").model_copy(update={"round": 2}))
    for number in range(32, 71):
        story.succeed(f"t{number}")

    new = tree_of(story.run).pending
    assert [len(group.named.tasks) for group in new] == [20, 19]
    assert {name for group in new for name in group.named.tasks} == {f"t{number}" for number in range(32, 71)}
    reduce_all(story)
    assert [tasks_of(part) for part in tree_of(story.run).parts][:2] == [each.tasks for each in made]


def test_what_reductions_contradict_reaches_the_top_from_every_level() -> None:
    seen = Contradiction(topic="year", claims=(Claim(task="t1", claim="2009"), Claim(task="t2", claim="2011")))
    story = of_size(80, ROOM_CHARACTERS * 2 // 5)
    reduce(story, tree_of(story.run).pending[0], contradictions=(seen,))
    reduce_all(story)

    assert contradictions_in(story.run) == [seen]


def test_a_resumed_run_puts_nothing_together_again() -> None:
    story = many(100)
    groups = tree_of(story.run).pending
    reduce(story, groups[1])
    story.resumed()

    again = fold(story.run.brief, story.log)
    assert tree_of(again).pending == (groups[0], groups[2], groups[3])
    assert again == story.run


def test_the_same_results_make_the_same_numbers() -> None:
    one, same, other = ([group.named.number for group in groups_due(many(count).run)] for count in (31, 31, 32))

    assert one == same
    assert (one[0] == other[0], one[1] == other[1]) == (True, False)


@settings(max_examples=40, deadline=None, derandomize=True, database=None)
@given(
    sizes=st.lists(st.integers(0, 3 * ROOM_CHARACTERS // 4), min_size=1, max_size=60),
    order=st.randoms(use_true_random=False),
)
def test_whatever_order_groups_end_in_every_result_is_beneath_the_answer_once(
    sizes: Sequence[int], order: Random
) -> None:
    story = planned_for_many(len(sizes))
    for number, size in enumerate(sizes, 1):
        story.succeed(f"t{number}", text="x" * size)
    while groups := groups_due(story.run):
        group = order.choice(groups)
        if order.random() < 0.2:
            story.tell(ev.ReductionSkipped(**group.named.model_dump(), reason="failed"))
        else:
            reduce(story, group, "y" * order.choice((1, REDUCED_CHARACTERS - 500)))

    tree = tree_of(story.run)
    assert [name for part in tree.parts for name in tasks_of(part)] == list(story.run.tasks)
    assert len(tree.parts) <= RESULTS_HELD or all(characters_of(part) * 2 > ROOM_CHARACTERS for part in tree.parts)
    assert len(story.run.answering.reductions) <= 2 * len(sizes)
    story.synthesize()
    story.settle()
    result = story.run.result
    assert result is not None
    assert (story.run.status == "partial") == bool(result.coverage.shortened)
