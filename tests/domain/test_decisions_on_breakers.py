from dataclasses import replace
from datetime import timedelta

import pytest

from app.domain import events as ev
from app.domain.policy.agenda import time_left_s
from app.domain.policy.breakers import Breaker, Fault, fail, take_probe, trip
from app.domain.policy.commands import DecisionBuilder
from app.domain.policy.conditions import Conditions
from app.domain.policy.ladder import others_for
from app.domain.results import Problem
from app.domain.retries import Patience
from app.domain.topics import Topic
from tests.support.story import PAIR, START, Story, brief, plan_of, started, task, text_block

MODEL = "model:model-1"
ABLE = "worker:crew/able"


def opened(name: str = MODEL, code: str = "provider_unavailable", retry_after_s: float = 30) -> Breaker:
    return fail(Breaker(name), Fault(code, retry_after_s, "one run"), START, Patience())


def borne_out(breaker: Breaker) -> Breaker:
    """The breaker once another run has met the same."""
    return fail(breaker, Fault(breaker.reason or "", about="another run"), START, Patience())


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
    story = under(running("a", "b"), borne_out(opened(code="provider_billing")))

    assert story.settle() == ["breaker.opened", "task.cancelled", "task.cancelled", "run.failed"]
    assert story.run.stop_reason == "provider_billing"


def test_what_only_one_request_has_met_holds_other_runs_until_it_is_known_to_be_the_account() -> None:
    story = under(running("a"), opened(code="provider_auth"))

    assert story.settle() == ["breaker.opened", "run.waiting"]


def test_an_answer_that_is_there_goes_out_when_a_better_one_cannot_be_had() -> None:
    story = started(task("a"), task("b"))
    for name in ("a", "b"):
        story.start(name)
    story.succeed("a")
    story.tell(ev.TaskDropped(after_s=1), "b")
    story.synthesize(answer="what there is")
    story.succeed("b")
    assert story.run.lacking
    supervisor = story.run.model_of(Topic("synthesize"))
    under(story, borne_out(opened(f"model:{supervisor}", "provider_auth")))

    assert story.settle()[-1] == "run.partial"
    assert story.run.result is not None
    assert story.run.result.answer == "what there is"


def test_a_run_that_ends_before_the_probe_has_to_report_waits_for_its_report() -> None:
    half_open = take_probe(opened(), "other", START + timedelta(seconds=31), 120)
    story = under(running("a", timeout_s=100), half_open)
    story.wait(31)

    assert story.settle() == ["breaker.opened", "run.waiting"]


def test_a_probe_of_a_worker_is_not_used_up_by_a_task_that_cannot_start() -> None:
    story = Story(replace(brief(), team=PAIR))
    story.begin(*plan_of(task("a"), task("b")).tasks)
    under(story, opened(ABLE, "max_steps"))
    story.wait(31)
    draft = DecisionBuilder(story.run, story.now, story.conditions)

    assert draft.may_begin(ABLE)
    assert draft.may_begin(ABLE)
    draft.begin(ABLE)
    assert not draft.may_begin(ABLE)


def test_a_failed_probe_does_not_set_the_clock_of_its_attempt_on_twice() -> None:
    story = running("a")
    topic = story.topic("work", "a")
    story.wait(20)
    under(story, opened(retry_after_s=500))
    story.record(*(entry for entry in story.decide().entries if entry.fact.type == "breaker.opened"))
    story.wait(30)
    story.fail_call("work", "provider_unavailable", "a", 20)
    story.wait(30)
    under(story)
    story.settle()

    assert time_left_s(story.run, topic, story.now) == 40


def test_a_failure_before_its_breaker_is_told_of_does_not_set_the_clock_on_twice() -> None:
    story = running("a")
    topic = story.topic("work", "a")
    story.wait(20)
    story.fail_call("work", "provider_unavailable", "a", 30)
    under(story, opened(retry_after_s=500))
    story.record(*(entry for entry in story.decide().entries if entry.fact.type == "breaker.opened"))
    story.wait(60)
    under(story)
    story.settle()

    assert time_left_s(story.run, topic, story.now) == pytest.approx(40, abs=0.1)


def test_nobody_waits_for_a_model_any_longer_once_its_breaker_is_closed() -> None:
    story = running("a")
    story.fail_call("work", "rate_limited", "a", 600)
    under(story, opened(retry_after_s=600))
    assert story.settle() == ["breaker.opened", "run.waiting"]
    assert story.run.waiting is not None
    assert story.run.waiting.until == START + timedelta(seconds=60)
    story.wait(10)
    story.resumed()
    under(story)
    story.settle()

    assert story.talking() == [story.topic("work", "a")]


def test_who_is_kept_off_by_a_breaker_may_be_chosen_again_once_it_may_be_probed() -> None:
    story = Story(replace(brief(), team=PAIR))
    story.begin(task("a"))
    under(story, opened("worker:crew/baker", "max_steps"))
    story.settle()
    assert others_for(story.run, story.state("a")) == []
    story.wait(31)
    story.hear("work", [text_block("…")], "max_tokens", "a")

    assert others_for(story.run, story.state("a")) == ["baker"]


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


def test_a_breaker_may_close_when_a_task_that_had_waited_for_it_was_split() -> None:
    story = Story(replace(brief(), team=PAIR))
    story.begin(task("a"))
    story.start("a")
    story.fail_call("work", "rate_limited", "a", again_in=5)
    error = Problem(code="timeout", message="too slow")
    story.tell(ev.TaskRetrying(error=error, next_attempt=2, not_before=story.now, refine=False), "a", 1)
    story.start("a")
    story.split("a", task("x"), task("y"))

    story.tell(ev.BreakerClosed(name="model:model-1", kind="model"))

    assert story.run.replaced["a"].split_into == ("a-1", "a-2")
