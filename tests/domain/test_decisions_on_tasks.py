from dataclasses import replace
from datetime import timedelta

import pytest

from app.domain import events as ev
from app.domain.conversation import Conversation, text_of
from app.domain.errors import ErrorCode
from app.domain.failures import codes_with
from app.domain.policy.agenda import ANSWERING, PLANNING
from app.domain.policy.commands import Decision
from app.domain.policy.conditions import Conditions
from app.domain.policy.endings import MESSAGE_CHARACTERS
from app.domain.topics import Topic
from tests.support.story import (
    WORKER,
    Story,
    brief,
    call_block,
    planning,
    started,
    statuses,
    task,
    text_block,
    with_team,
)


def test_all_that_is_ready_runs_at_once_within_the_concurrency() -> None:
    tasks = [task("a"), task("b", "a"), task("c"), task("d")]

    assert started(*tasks).starting() == [("a", 1), ("c", 1), ("d", 1)]
    assert started(*tasks, concurrency=2).starting() == [("a", 1), ("c", 1)]


def test_running_tasks_hold_their_places() -> None:
    story = started(task("a"), task("b"), task("c"), concurrency=2)
    story.start("c")
    assert story.talking() == [Topic("work", "c")]
    assert story.starting() == [("a", 1)]
    story.start("a")

    assert story.starting() == []
    assert story.talking() == [Topic("work", "a"), Topic("work", "c")]


def test_a_task_is_released_by_the_last_of_its_dependencies() -> None:
    story = started(task("a"), task("b"), task("c", "a", "b"))
    story.succeed("a")
    assert ("c", 1) not in story.starting()
    story.succeed("b")

    assert story.starting() == [("c", 1)]


def test_dependants_of_a_failed_task_are_skipped_all_the_way_and_others_go_on() -> None:
    story = started(task("a"), task("b", "a"), task("c"), task("d", "b", "c"))
    story.fail("a")
    story.settle()
    story.succeed("c")
    story.settle()

    assert statuses(story.run) == {"a": "failed", "b": "skipped", "c": "succeeded", "d": "skipped"}
    assert story.error("b") == story.error("d") == "dependency_failed"
    assert all(not story.state(name).attempts for name in "bd")
    story.synthesize()
    story.settle()
    assert (story.run.status, story.run.stop_reason) == ("partial", "gaps")


def test_a_skipped_task_names_what_it_lacked() -> None:
    story = started(task("a"), task("b"), task("c", "a", "b"))
    story.fail("a")
    story.succeed("b")
    story.settle()

    error = story.state("c").error
    assert error is not None
    assert error.message.endswith("did not deliver: a.")


def test_a_task_that_can_do_without_its_input_runs() -> None:
    story = started(task("a"), task("b", "a", on_missing_input="proceed"))
    story.fail("a")

    assert story.settle() == ["task.started"]
    assert story.talking() == [Topic("work", "b")]


def test_an_attempt_that_takes_too_long_is_ended_and_its_end_is_waited_for() -> None:
    story = started(task("a", budget={"timeout_s": 20}))
    story.start("a")
    story.hear("work", [call_block("c1")], "tool_use", name="a")
    assert story.decide().wake_at == story.now + timedelta(seconds=20)
    story.wait(20)

    assert story.settle() == ["task.retrying"]
    assert story.attempt_errors("a") == ["timeout"]


def test_a_call_under_way_keeps_its_own_time_since_the_providers_silence_is_not_the_workers() -> None:
    story = started(task("a", budget={"timeout_s": 20}))
    story.start("a")
    story.wait(500)

    assert story.talking() == [Topic("work", "a")]
    story.fail_call("work", "timeout", "a")
    assert story.settle() == ["task.retrying"]


def test_no_call_is_begun_once_the_time_of_the_attempt_is_up() -> None:
    story = started(task("a", budget={"timeout_s": 20}))
    story.start("a")
    story.hear("work", [call_block("c1")], "tool_use", name="a")
    story.wait(21)
    story.use_tool("a", "c1")

    assert story.settle() == ["task.retrying"]
    assert story.attempt_errors("a") == ["timeout"]


def test_what_the_provider_asked_for_holds_for_the_next_attempt_too() -> None:
    story = started(task("a"))
    story.start("a")
    story.fail_call("work", "rate_limited", "a", not_before=50)

    assert "task.retrying" in story.settle()
    assert story.state("a").next.not_before == story.now + timedelta(seconds=50)


def test_no_attempt_follows_when_the_provider_asks_for_more_time_than_the_run_has() -> None:
    story = started(task("a"), task("b"))
    story.start("a")
    story.fail_call("work", "rate_limited", "a", not_before=900)

    assert "task.failed" in story.settle()
    assert story.error("a") == "rate_limited"


def test_a_call_that_was_held_back_here_counts_as_no_failure() -> None:
    story = started(task("a"))
    story.start("a")
    for _ in range(20):
        story.fail_call("work", "rate_limited", "a", again_in=10, sent=False)
        story.wait(10)

    assert story.talk(Topic("work", "a")).failures == 0
    assert story.talking() == [Topic("work", "a")]
    assert story.state("a").attempt.since >= story.now


@pytest.mark.parametrize("code", sorted(codes_with("again")))
def test_a_transient_failure_is_retried_unchanged_after_a_wait(code: ErrorCode) -> None:
    story = started(task("a"))
    story.start("a")
    story.fail_call("work", code, "a")
    assert story.settle() == ["task.retrying"]
    assert story.talking() == []
    wake_at = story.decide().wake_at
    assert wake_at is not None
    assert timedelta(seconds=0.5) <= wake_at - story.now <= timedelta(seconds=1)
    story.now = wake_at

    assert story.starting() == [("a", 2)]
    assert story.state("a").next.instruction == "do a"


@pytest.mark.parametrize("code", sorted(codes_with("none") - {"cancelled"}))  # That is no failure: we broke it off.
def test_a_failure_that_would_come_again_ends_the_task_at_once(code: ErrorCode) -> None:
    story = started(task("a"))
    story.start("a")
    story.fail_call("work", code, "a")

    assert story.settle()[0] == "task.failed"
    assert story.error("a") == code


def test_any_other_failure_is_retried_only_with_another_instruction() -> None:
    story = started(task("a"))
    story.start("a")
    story.hear("work", [text_block("?")], "compaction", name="a")
    assert story.settle() == ["task.retrying"]
    assert story.talking() == [Topic("refine", "a", 2)]
    story.refine("a", "do a with care")

    assert story.starting() == [("a", 2)]
    story.start("a")
    attempt = story.state("a").attempt
    assert (attempt.instruction, attempt.refined_from, attempt.change) == ("do a with care", 1, "said more")


def test_every_refinement_is_a_conversation_of_its_own() -> None:
    told = brief()
    story = Story(replace(told, team=told.team.model_copy(update={"ladder": ("refine",)})))
    story.begin(task("a"))
    for number, instruction in enumerate(("do a with care", "do a with more care"), start=1):
        story.start("a")
        story.hear("work", [text_block("?")], "compaction", name="a")
        story.settle()
        assert story.talk(Topic("refine", "a", number + 1)) == Conversation()
        story.hear("refine", [text_block(instruction)], name="a")
        story.refine("a", instruction)
        assert len(story.state("a").attempts) == number

    said = [story.talk(Topic("refine", "a", number)).turns for number in (2, 3)]
    assert [text_of(turn.content) for turns in said for turn in turns] == ["do a with care", "do a with more care"]
    assert story.starting() == [("a", 3)]


def test_the_last_attempt_that_fails_ends_the_task() -> None:
    story = started(task("a"), attempts=2)
    for number in (1, 2):
        story.start("a")
        story.fail_call("work", "rate_limited", "a")
        story.settle()
        story.wait(5)
        assert len(story.state("a").attempts) == number

    assert (story.state("a").status, story.error("a")) == ("failed", "rate_limited")
    assert story.run.stop_reason == "provider_unavailable"


def test_an_instruction_that_could_not_be_improved_leaves_the_last_failure_standing() -> None:
    story = started(task("a"), task("b"))
    story.start("a")
    story.time_out("a")
    story.fail_call("refine", "rate_limited", "a")
    story.settle()

    error = story.state("a").error
    assert error is not None
    assert error.code == "timeout"
    assert "not improved" in error.message


def test_a_result_rejected_twice_fails_the_attempt() -> None:
    story = started(task("a"))
    story.start("a")
    story.hear("work", [text_block("?")], name="a")
    story.reject_result("a", "Again.")
    assert story.talking() == [Topic("work", "a")]
    story.hear("work", [text_block("??")], name="a")
    story.reject_result("a", None)
    story.settle()

    error = story.state("a").attempts[0].error
    assert error is not None
    assert (error.code, story.state("a").next.first) == ("output_invalid", Topic("refine", "a", 2))
    assert "it does not fit" in error.message


def test_an_escalation_ends_the_attempt_and_tells_why() -> None:
    story = started(task("a"), attempts=1)
    story.start("a")
    escalation = story.escalate("a", "not mine")
    story.settle()

    error = story.state("a").error
    assert error is not None
    assert error.code == "attempts_exhausted"
    assert "out_of_scope" in error.message
    assert "not mine" in error.message
    assert story.state("a").attempts[0].escalation == escalation


def test_an_escalation_with_attempts_left_has_not_exhausted_them() -> None:
    story = started(task("a"), attempts=2)
    story.start("a")
    story.escalate("a", "not mine")
    story.rule("a", "retry_stronger_model")
    story.settle()
    story.escalate("a", "not mine either")
    story.settle()

    assert story.attempt_errors("a") == ["no_progress", "attempts_exhausted"]


def test_the_message_of_a_failed_attempt_quotes_only_a_part_of_what_the_worker_said() -> None:
    story = started(task("a"))
    story.start("a")
    story.escalate("a", "no " * 100_000)
    story.rule("a", "retry_stronger_model")
    story.settle()

    error = story.state("a").attempts[0].error
    assert error is not None
    assert len(error.message) <= MESSAGE_CHARACTERS
    assert error.message.startswith("The worker escalated (out_of_scope)")


def test_a_call_that_waits_for_the_provider_is_not_under_way_and_not_timed_out() -> None:
    story = started(task("a"))
    story.start("a")
    story.wait(50)
    story.fail_call("work", "rate_limited", "a", again_in=4)
    assert story.decide() == Decision(wake_at=story.now + timedelta(seconds=4))
    story.wait(4)
    assert story.talking() == [Topic("work", "a")]


def test_an_attempt_that_waited_through_a_resume_still_sends_its_call() -> None:
    story = started(task("a"))
    story.start("a")
    story.fail_call("work", "rate_limited", "a", again_in=300)
    story.wait(100)
    story.resumed()
    story.wait(200)

    assert story.settle() == []
    assert story.talking() == [Topic("work", "a")]


def test_a_run_that_has_only_a_long_wait_ahead_is_parked_until_then() -> None:
    story = started(task("a"), task("b"))
    story.start("a")
    story.start("b")
    story.fail_call("work", "rate_limited", "a", again_in=30)
    assert story.settle() == []
    story.fail_call("work", "rate_limited", "b", again_in=60)

    assert story.settle() == ["run.waiting"]
    assert story.run.waiting is not None
    assert story.run.waiting.until == story.now + timedelta(seconds=30)


@pytest.mark.parametrize("purpose", ["plan", "synthesize"])
def test_the_supervisor_waits_for_the_provider_without_holding_a_place(purpose: ev.Purpose) -> None:
    story = planning()
    if purpose == "synthesize":
        story.planned(task("a"), task("b"))
        story.succeed("a")
        story.succeed("b")
    story.fail_call(purpose, "rate_limited", again_in=60)

    assert story.settle() == ["run.waiting"]
    story.wait(60)
    story.resumed()
    assert story.talking() == [PLANNING if purpose == "plan" else ANSWERING]


def test_the_bounds_of_a_task_come_before_those_of_its_worker() -> None:
    told = with_team(brief(), max_steps=1, timeout_s=5)
    story = Story(told)
    story.begin(task("a", budget={"steps": 2, "timeout_s": 50}), task("b"))
    for name in "ab":
        story.start(name)
        story.hear("work", [call_block(f"c-{name}")], "tool_use", name=name)
        story.use_tool(name, f"c-{name}")
    story.wait(10)
    story.settle()

    assert statuses(story.run) == {"a": "running", "b": "pending"}
    assert story.attempt_errors("b") == ["max_steps"]


def test_a_task_that_has_spent_its_tokens_makes_no_further_call() -> None:
    story = started(task("a", budget={"tokens": 15}), task("b", budget={"tokens": 16}))
    for name in "ab":
        story.start(name)
        story.hear("work", [call_block(f"c-{name}")], "tool_use", name=name)
        story.use_tool(name, f"c-{name}")
    story.settle()

    assert (story.state("a").status, story.error("a")) == ("failed", "budget_exceeded")
    assert story.talking() == [Topic("work", "b")]


def braked(story: Story, model: str, seconds: float) -> None:
    """From here on a model's provider asks for a pause of so many seconds."""
    story.conditions = Conditions(brakes={model: story.now + timedelta(seconds=seconds)})


def test_no_attempt_starts_while_the_provider_of_its_model_asks_for_a_pause_and_what_runs_goes_on() -> None:
    story = started(task("a"), task("b"))
    story.start("a")
    braked(story, WORKER.model, 20)
    decision = story.decide()

    assert (story.starting(), story.talking()) == ([], [Topic("work", "a")])
    assert decision.wake_at == story.now + timedelta(seconds=20)
    story.wait(20)
    assert story.starting() == [("b", 1)]


def test_a_pause_of_the_model_by_its_id_holds_for_the_tier_that_stands_for_it() -> None:
    told = replace(brief(), models={WORKER.model: "model-1"})
    story = Story(told)
    story.begin(task("a"))
    braked(story, "model-1", 3)
    assert story.decide() == Decision(wake_at=story.now + timedelta(seconds=3))

    braked(story, "model-2", 3)
    assert story.starting() == [("a", 1)]


def test_a_run_whose_attempts_must_all_wait_for_long_is_parked_meanwhile() -> None:
    story = started(task("a"), task("b"))
    braked(story, WORKER.model, 60)

    assert story.settle() == ["run.waiting"]
    assert story.run.waiting is not None
    assert story.run.waiting.until == story.now + timedelta(seconds=60)


def test_a_pause_that_lasts_longer_than_the_run_keeps_nothing_from_being_tried() -> None:
    story = started(task("a"))
    braked(story, WORKER.model, 900)

    assert story.starting() == [("a", 1)]


def test_a_wake_up_changes_nothing_that_is_decided() -> None:
    story = started(task("a"), task("b", "a"))
    story.settle()
    first = story.decide()
    story.wait(1)

    assert story.decide() == first
