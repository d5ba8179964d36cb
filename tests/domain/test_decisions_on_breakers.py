from dataclasses import replace
from datetime import timedelta

from app.domain.policy.agenda import time_left_s
from app.domain.policy.breakers import Breaker, Fault, fail, take_probe, trip
from app.domain.policy.conditions import Conditions
from app.domain.retries import Patience
from app.domain.topics import Topic
from tests.support.story import PAIR, START, Story, brief, plan_of, started, task

MODEL = "model:model-1"
ABLE = "worker:crew/able"


def opened(name: str = MODEL, code: str = "provider_unavailable", retry_after_s: float = 30) -> Breaker:
    return fail(Breaker(name), Fault(code, retry_after_s), START, Patience())


def under(story: Story, *breakers: Breaker, under_way: tuple[Topic, ...] = ()) -> Story:
    story.conditions = Conditions(breakers={each.name: each for each in breakers}, under_way=frozenset(under_way))
    return story


def running(*names: str, timeout_s: float = 900) -> Story:
    """A run in which attempts at these tasks have just started."""
    story = started(*map(task, names), timeout_s=timeout_s)
    for name in names:
        story.start(name)
    return story


def test_a_call_is_not_begun_behind_an_open_breaker_and_the_run_is_told_and_parked() -> None:
    story = under(running("a"), opened())

    assert story.talking() == []
    assert story.settle() == ["breaker.opened", "run.waiting"]
    assert story.run.waiting is not None
    assert story.run.waiting.until == START + timedelta(seconds=30)


def test_what_is_under_way_is_never_stopped_for_a_breaker() -> None:
    story = running("a", "b")
    under(story, opened(), under_way=(story.topic("work", "a"),))

    assert story.talking() == [story.topic("work", "a")]


def test_a_run_is_told_once_that_it_is_held_and_once_that_it_is_not() -> None:
    story = running("a")
    under(story, opened())
    story.settle()
    story.resumed()
    assert story.settle() == ["run.waiting"]
    story.resumed()
    under(story)

    assert story.settle() == ["breaker.closed"]
    assert story.talking() == [story.topic("work", "a")]


def test_of_all_that_wait_one_conversation_goes_as_the_probe() -> None:
    story = under(running("a", "b", "c"), opened())
    story.wait(31)

    assert story.talking() == [story.topic("work", "a")]


def test_while_a_probe_is_under_way_elsewhere_all_wait() -> None:
    half_open = take_probe(opened(), "other", START + timedelta(seconds=31), 120)
    story = under(running("a", "b"), half_open)
    story.wait(31)

    assert story.settle() == ["breaker.opened", "run.waiting"]
    assert story.run.waiting is not None
    assert story.run.waiting.until == START + timedelta(seconds=41)


def test_a_cause_that_does_not_pass_ends_the_run_without_a_call() -> None:
    story = under(running("a", "b"), opened(code="provider_billing"))

    assert story.settle() == ["breaker.opened", "task.cancelled", "task.cancelled", "run.failed"]
    assert story.run.stop_reason == "provider_billing"


def test_no_attempt_is_started_on_a_model_that_is_left_alone() -> None:
    story = under(started(task("a"), task("b")), opened("model:balanced"))

    assert story.starting() == []
    assert story.settle() == ["breaker.opened", "run.waiting"]


def test_a_probe_that_may_go_only_after_the_runs_time_is_not_waited_for() -> None:
    story = under(running("a", timeout_s=60), opened(retry_after_s=3_000))

    assert story.talking() == [story.topic("work", "a")]


def test_a_breaker_that_was_tripped_is_waited_for_until_the_deadline() -> None:
    story = under(running("a", timeout_s=60), trip(Breaker(MODEL), START))

    assert story.settle() == ["breaker.opened", "run.waiting"]
    assert story.run.waiting is not None
    assert story.run.waiting.until is not None
    assert story.run.waiting.until < START + timedelta(seconds=61)


def test_a_run_whose_time_is_up_while_it_is_held_says_that_the_provider_was_away() -> None:
    story = under(running("a", timeout_s=60), trip(Breaker(MODEL), START))
    story.settle()
    story.wait(61)
    story.resumed()

    story.settle()

    assert story.run.stop_reason == "provider_unavailable"


def test_the_clock_of_an_attempt_stands_while_its_model_is_left_alone() -> None:
    story = running("a")
    topic = story.topic("work", "a")
    story.wait(20)
    under(story, opened(retry_after_s=500), Breaker(name="tool:x", state="open", opened_at=START))
    story.record(*(entry for entry in story.decide().entries if entry.fact.type == "breaker.opened"))
    story.wait(400)
    assert time_left_s(story.run, topic, story.now) == 40
    under(story)
    story.settle()
    story.wait(10)

    assert time_left_s(story.run, topic, story.now) == 30
    assert story.talking() == [topic]


def pair() -> Story:
    story = Story(replace(brief(), team=PAIR))
    story.begin(*plan_of(task("a")).tasks)
    return story


def test_the_fallback_stands_in_for_a_worker_that_keeps_failing() -> None:
    story = under(pair(), opened(ABLE, "max_steps"))

    assert story.settle() == ["breaker.opened", "task.started"]
    assert story.state("a").attempt.worker == "baker"


def test_a_worker_for_whom_nobody_stands_in_is_given_its_task_all_the_same() -> None:
    story = under(started(task("a")), opened(ABLE, "max_steps"))

    assert story.settle() == ["breaker.opened", "task.started"]
    assert story.state("a").attempt.worker == "able"


def test_once_its_time_has_come_one_task_is_the_workers_probe() -> None:
    story = Story(replace(brief(), team=PAIR))
    story.begin(*plan_of(task("a"), task("b")).tasks)
    under(story, opened(ABLE, "max_steps"))
    story.wait(31)

    story.settle()

    assert [story.state(name).attempt.worker for name in ("a", "b")] == ["able", "baker"]
