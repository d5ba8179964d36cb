"""Plans in which smaller tasks take the place of one."""

from datetime import timedelta

import pytest

from app.domain import events as ev
from app.domain.errors import IllegalMove
from app.domain.plan import TaskBudget
from app.domain.policy.splitting import parts_allowed, split
from app.domain.timing import timing_of
from tests.support.story import Story, brief, plan_of, started, task


def split_in_two() -> Story:
    story = started(task("a"), task("b", "a"))
    story.start("a")
    story.wait(2)
    story.split("a", task("x"), task("y", "x"))
    return story


def test_the_parts_may_start_and_whoever_needs_the_whole_waits_for_both() -> None:
    story = split_in_two()

    assert list(story.run.tasks) == ["a-1", "a-2", "b"]
    assert story.starting() == [("a-1", 1)]
    story.succeed("a-1")
    assert story.starting() == [("a-2", 1)]
    story.succeed("a-2")
    assert story.starting() == [("b", 1)]


def test_a_run_whose_only_task_was_split_goes_on() -> None:
    story = started(task("a"))
    story.start("a")
    story.split("a", task("x"), task("y"))

    assert story.run.executed_at is None
    assert story.starting() == [("a-1", 1), ("a-2", 1)]


def test_names_of_parts_are_new_also_beside_odd_neighbours() -> None:
    story = started(task("a"), task("a-1"), task("a-3"))
    story.start("a")
    story.split("a", task("x"), task("y"))

    assert list(story.run.tasks) == ["a-2", "a-4", "a-1", "a-3"]


def test_parts_keep_to_their_worker_where_they_name_none() -> None:
    story = started(task("a"))
    story.start("a")
    plan = split(story.run, story.state("a"), [task("x").model_copy(update={"worker": ""}), task("y")])

    assert [each.worker for each in plan.tasks] == ["able", "able"]


def test_a_task_is_split_only_into_as_many_as_the_plan_has_room_for() -> None:
    story = Story(brief(tasks=4))
    story.begin(task("a"), task("b"))
    story.start("a")
    assert parts_allowed(story.run, story.state("a")) == 3
    story.split("a", task("x"), task("y"), task("z"))
    story.start("b")

    assert parts_allowed(story.run, story.state("b")) == 0
    story.start("a-1")
    assert parts_allowed(story.run, story.state("a-1")) == 0


def test_a_task_whose_tokens_are_nearly_spent_is_not_split() -> None:
    story = started(task("a", budget=TaskBudget(tokens=2_000)))
    story.start("a")

    assert parts_allowed(story.run, story.state("a")) == 0


def test_the_parts_have_what_is_left_of_the_time_and_know_what_people_said() -> None:
    story = started(task("a", budget=TaskBudget(deadline_s=100)), task("b"))
    story.start("a")
    story.wait(30)
    story.answer(story.ask("a"), "the red one")
    story.start("a")
    story.escalate("a", "Too much.")
    plan = split(story.run, story.state("a"), [task("x"), task("y")])

    assert [each.budget.deadline_s for each in plan.tasks] == [70, 70, None]
    assert all("the red one" in each.context for each in plan.tasks[:2])


def test_what_was_split_counts_for_the_time_of_each_part_and_once_for_all() -> None:
    story = split_in_two()
    story.start("a-1")
    story.wait(3)
    story.succeed("a-1")
    story.start("a-2")
    story.wait(4)
    story.succeed("a-2")

    timing = timing_of(story.run, story.now)

    assert (timing.critical_path_ms, timing.sequential_ms) == (9_000, 9_000)


def test_a_revision_follows_the_newest_and_lacks_nothing_that_goes_on() -> None:
    story = started(task("a"), task("b"))
    story.start("a")
    assert story.run.plan is not None
    without = plan_of(task("b")).model_copy(update={"revision": 2})
    with pytest.raises(IllegalMove, match="not ended"):
        story.tell(ev.PlanRevised.from_to(story.run.plan, without, "so it is"))
    with pytest.raises(IllegalMove, match="cannot follow"):
        story.tell(ev.PlanRevised.from_to(story.run.plan, without.model_copy(update={"revision": 3}), "so it is"))


def test_what_was_replaced_never_comes_back() -> None:
    story = split_in_two()
    assert story.run.plan is not None
    back = plan_of(task("a"), *story.run.plan.tasks).model_copy(update={"revision": 3})

    with pytest.raises(IllegalMove, match="replaced"):
        story.tell(ev.PlanRevised.from_to(story.run.plan, back, "so it is"))
    story.now += timedelta(seconds=1)
    assert story.run.replaced["a"].split_into == ("a-1", "a-2")
