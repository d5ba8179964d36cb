from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

import pytest

from app.domain import events as ev
from app.domain.errors import IllegalMove
from app.domain.events import Event
from app.domain.fold import after, extend, fold
from app.domain.results import Problem
from app.domain.topics import Topic
from app.domain.usage import Usage
from tests.support.story import SPENT, Story, brief, call_block, called, plan_of, started, statuses, task, text_block


def ended() -> Story:
    story = started(task("a"))
    story.succeed("a")
    story.settle()
    assert story.run.ended
    return story


def test_folding_a_log_gives_the_state_it_was_written_in() -> None:
    story = ended()

    assert fold(story.run.brief, story.log) == story.run


def test_new_events_are_numbered_after_the_last() -> None:
    story = started(task("a"))

    assert [event.seq for event in story.log] == [1, 2, 3]
    assert story.run.last_seq == 3


@pytest.mark.parametrize("seq", [0, 1, 4, 6, -1])
def test_an_event_that_is_not_the_next_is_refused(seq: int) -> None:
    story = started(task("a"))
    story.start("a")
    event = Event(seq, story.now, "run_1", None, None, ev.RunCancelRequested())

    with pytest.raises(IllegalMove, match="cannot follow event 4"):
        after(story.run, event)


def test_nothing_follows_the_end_of_a_run() -> None:
    story = ended()
    for event in story.log:
        with pytest.raises(IllegalMove, match="cannot follow the end"):
            after(story.run, replace(event, seq=story.run.last_seq + 1))


def test_a_run_is_queued_first_and_only_once() -> None:
    story = started(task("a"))

    with pytest.raises(IllegalMove, match="first"):
        extend(Story(brief()).run, [story.log[1].entry], story.now)
    with pytest.raises(IllegalMove, match="first"):
        story.queued()


def test_a_run_starts_once() -> None:
    story = started(task("a"))

    with pytest.raises(IllegalMove, match=r"run\.started cannot happen in a run that is running"):
        story.started()


def test_a_run_gets_its_plan_once_and_only_while_it_runs() -> None:
    story = Story(brief())
    story.queued()
    with pytest.raises(IllegalMove, match="queued"):
        story.planned(task("a"))

    story.started()
    story.planned(task("a"))
    with pytest.raises(IllegalMove, match="only once"):
        story.planned(task("b"))


def test_a_cancellation_is_asked_for_once() -> None:
    story = started(task("a"))
    story.cancel_requested()

    with pytest.raises(IllegalMove, match="only once"):
        story.cancel_requested()


def test_an_event_of_a_task_that_the_plan_lacks_is_refused() -> None:
    story = started(task("a"))
    begun = ev.TaskStarted(worker="able", model="m", instruction="x")

    with pytest.raises(IllegalMove, match="'z', which the plan lacks"):
        story.tell(begun, "z", 1)


@pytest.mark.parametrize("number", [0, 2])
def test_attempts_start_in_order(number: int) -> None:
    story = started(task("a"))
    begun = ev.TaskStarted(worker="able", model="m", instruction="x")

    with pytest.raises(IllegalMove, match="attempt"):
        story.tell(begun, "a", number)


def test_a_task_has_one_running_attempt_at_most() -> None:
    story = started(task("a"))
    story.start("a")

    with pytest.raises(IllegalMove, match="can only start alone"):
        story.start("a")


def test_a_late_reply_of_an_attempt_that_has_ended_is_refused() -> None:
    story = started(task("a"), task("b"))
    story.succeed("a")

    with pytest.raises(IllegalMove, match="not running"):
        story.hear("work", [text_block("Late.")], name="a")


@pytest.mark.parametrize("attempt", [None, 1, 3])
def test_an_outcome_that_names_another_attempt_is_refused(attempt: int | None) -> None:
    story = started(task("a"), task("b"))
    story.start("a")
    story.time_out("a")
    story.refine("a", "better")
    story.start("a")

    with pytest.raises(IllegalMove, match="not running"):
        story.tell(ev.TaskSucceeded(summary="s"), "a", attempt)


def test_a_tool_cannot_run_before_the_model_has_asked_for_it() -> None:
    story = started(task("a"))
    story.start("a")

    with pytest.raises(IllegalMove, match="before the model's reply"):
        story.use_tool("a", "c1")


def test_only_a_reply_can_be_rejected() -> None:
    story = started(task("a"))
    story.start("a")

    with pytest.raises(IllegalMove, match="before the model's reply"):
        story.reject_result("a")


def test_a_cut_reply_is_counted_and_thrown_away() -> None:
    story = started(task("a"))
    story.start("a")
    story.hear("work", [call_block("c1", path="a.txt")], "max_tokens", name="a")

    talk = story.talk(Topic("work", "a"))
    assert (talk.turns, talk.truncations, talk.steps) == ((), 1, 1)
    assert story.run.usage == SPENT


def test_a_paused_reply_is_joined_with_the_one_that_continues_it() -> None:
    story = started(task("a"))
    story.start("a")
    story.hear("work", [text_block("first ")], "pause_turn", name="a")
    story.hear("work", [text_block("second")], name="a")

    talk = story.talk(Topic("work", "a"))
    assert [turn.content for turn in talk.turns] == [[text_block("first "), text_block("second")]]
    assert (talk.turns[0].stop_reason, talk.pauses, talk.steps) == ("end_turn", 1, 2)


def test_a_reply_ends_the_row_of_failed_calls() -> None:
    story = started(task("a"))
    story.start("a")
    story.fail_call("work", "rate_limited", "a", again_in=2)
    story.wait(2)
    assert story.talk(Topic("work", "a")).failures == 1
    story.hear("work", [call_block("c1")], "tool_use", name="a")

    talk = story.talk(Topic("work", "a"))
    assert (talk.failures, talk.retry_at, talk.error) == (0, None, None)


def test_a_cancelled_call_costs_and_leaves_the_conversation_as_it_was() -> None:
    story = started(task("a"))
    story.start("a")
    before = story.talk(Topic("work", "a"))
    story.fail_call("work", "cancelled", "a")

    after = story.talk(Topic("work", "a"))
    assert after == replace(before, stopped_seq=story.run.last_seq)
    assert story.run.usage == SPENT


def test_the_opening_is_kept_from_the_first_call_alone() -> None:
    story = started(task("a"))
    story.start("a")
    for message in ("first", "second"):
        call = called("work").model_copy(update={"opening": ev.Opening(system="s", message=message)})
        story.tell(call.completed(stop_reason="max_tokens", content=[]), "a", 1)

    prompt = story.talk(Topic("work", "a")).prompt
    assert prompt is not None
    assert prompt.message == "first"


def test_usage_is_counted_for_the_attempt_the_task_and_the_run() -> None:
    story = started(task("a"))
    story.hear("plan", [text_block("a plan")])
    story.start("a")
    story.hear("work", [call_block("c1")], "tool_use", name="a")
    story.use_tool("a", "c1")
    story.time_out("a")
    story.refine("a", "better")
    story.start("a")
    story.hear("work", [text_block("done")], name="a")

    tool = Usage(tool_calls=1)
    assert [attempt.usage for attempt in story.state("a").attempts] == [SPENT + tool, SPENT]
    assert story.state("a").usage == SPENT + SPENT + tool
    assert story.run.usage == SPENT + SPENT + SPENT + tool


def test_rewriting_an_instruction_is_spent_on_the_task_but_on_no_attempt() -> None:
    story = started(task("a"))
    story.start("a")
    story.time_out("a")
    story.hear("refine", [text_block("better")], name="a")

    assert story.state("a").usage == SPENT
    assert story.state("a").attempts[0].usage == Usage()


def test_calls_lost_in_a_crash_are_spent() -> None:
    story = started(task("a"))
    lost = Usage(llm_calls=1, cost_usd=Decimal("0.5"), estimated=True)
    story.resumed(lost)

    assert story.run.usage == lost


def test_a_crash_costs_a_running_attempt_none_of_its_time() -> None:
    story = started(task("a"))
    story.start("a")
    story.wait(50)
    story.resumed()

    assert story.state("a").attempt.since == story.now
    assert story.state("a").attempt.started_at == story.now - timedelta(seconds=50)


def test_waiting_for_the_provider_costs_an_attempt_none_of_its_time() -> None:
    story = started(task("a"))
    story.start("a")
    story.fail_call("work", "rate_limited", "a", again_in=300)

    took = timedelta(milliseconds=1)
    assert story.state("a").attempt.since == story.now + timedelta(seconds=300) + took


def test_the_time_of_a_call_that_failed_is_the_providers_and_so_is_the_wait_of_one_to_be_sent() -> None:
    story = started(task("a"))
    story.start("a")
    began = story.now
    story.wait(100)
    problem = Problem(code="provider_unavailable", message="silent")
    story.tell(called("work", duration_ms=100_000).failed(problem, retry_at=story.now), "a", 1)
    assert story.state("a").attempt.since == began + timedelta(seconds=100)

    call = called("work", duration_ms=50_000).model_copy(update={"waited_ms": 40_000, "silent_ms": 6_000})
    story.tell(call.completed(stop_reason="end_turn", content=[]), "a", 1)
    assert story.state("a").attempt.since == began + timedelta(seconds=146)


def test_a_resume_during_that_wait_takes_nothing_from_the_attempt_either() -> None:
    story = started(task("a"))
    story.start("a")
    story.fail_call("work", "rate_limited", "a", again_in=300)
    may_go_on = story.now + timedelta(seconds=300)
    story.wait(100)
    story.resumed()

    assert story.state("a").attempt.since == may_go_on


@pytest.mark.parametrize("code", ["provider_auth", "provider_billing"])
def test_a_fault_of_the_account_is_fatal_for_the_run(code: str) -> None:
    story = started(task("a"))
    story.start("a")
    story.fail_call("work", code, "a")  # type: ignore[arg-type]

    assert story.run.fatal is not None
    assert story.run.fatal.code == code


def test_a_waiting_run_takes_up_no_work_before_it_is_resumed() -> None:
    story = started(task("a"))
    story.parked()

    with pytest.raises(IllegalMove, match="waiting"):
        story.start("a")
    story.resumed()
    story.start("a")
    assert (story.run.status, story.run.waiting) == ("running", None)


def test_a_waiting_run_can_be_cancelled_with_its_tasks() -> None:
    story = started(task("a"))
    story.parked()
    story.cancel_requested()
    story.settle()

    assert (story.run.status, statuses(story.run)) == ("cancelled", {"a": "cancelled"})


def test_execution_ends_with_the_last_task() -> None:
    story = started(task("a"), task("b"))
    story.succeed("a")
    assert story.run.executed_at is None
    story.wait(3)
    story.fail("b")

    assert story.run.executed_at == story.now


def test_the_plan_of_a_client_is_kept_from_the_first_event() -> None:
    story = Story(brief())
    plan = plan_of(task("a"))
    story.queued(plan)

    assert story.run.own_plan == plan
