"""What is decided in states that can be told in a few events."""

from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest

from app.domain import events as ev
from app.domain.commands import Decision, MakePlan, Refine, Synthesize, WorkOn
from app.domain.errors import ErrorCode
from app.domain.plan import Finding, FindingCode
from app.domain.results import Escalation
from app.domain.retries import FINAL_CODES, TRANSIENT_CODES
from tests.domain.story import (
    Story,
    brief,
    call_block,
    plan_of,
    started,
    statuses,
    task,
    text_block,
    with_team,
)


def planning(**limits: Any) -> Story:
    story = Story(brief(**limits))
    story.queued()
    story.started()
    return story


def refuse_plan(story: Story, *codes: FindingCode, note: str | None) -> None:
    story.hear("plan", [text_block("a plan")])
    findings = tuple(Finding(code=code, detail=f"{code}: t1 -> t2 -> t1") for code in codes)
    story.record(ev.PlanInvalid(**story.whose(), data=ev.Rejected(errors=findings, note=note)))


def error_of(story: Story, name: str) -> str | None:
    error = story.state(name).error
    return error.code if error else None


def test_nothing_is_decided_before_the_start_while_waiting_and_after_the_end() -> None:
    story = Story(brief())
    assert story.decide() == Decision()
    story.queued()
    assert story.decide() == Decision()

    story.started()
    story.planned(task("a"))
    story.record(ev.RunWaiting(**story.whose(), data=ev.Waiting(reason="provider", until=story.now)))
    assert story.decide() == Decision()
    story.cancel_requested()
    story.settle()
    assert story.decide() == Decision()


# Planning.


def test_a_run_begins_with_a_plan_and_wakes_at_its_deadline() -> None:
    story = planning()

    assert story.decide() == Decision(commands=(MakePlan(),), wake_at=story.run.deadline)


def test_a_plan_of_the_client_is_taken_without_asking_the_supervisor() -> None:
    story = Story(brief())
    story.queued(plan_of(task("a")))
    story.started()

    assert story.settle() == ["plan.created"]
    assert story.decide().commands == (WorkOn("a", 1),)


def test_an_invalid_plan_is_repaired_once() -> None:
    story = planning()
    refuse_plan(story, "cycle", note="Again, without the circle.")
    assert story.decide().commands == (MakePlan(),)

    refuse_plan(story, "cycle", note=None)
    assert story.settle() == ["run.failed"]


@pytest.mark.parametrize(
    ("codes", "reason"),
    [
        (["cycle"], "plan_invalid"),
        (["instruction_blank", "id_invalid"], "plan_invalid"),
        (["plan_empty"], "plan_empty"),
        (["plan_too_large"], "plan_too_large"),
        (["plan_unparseable"], "plan_unparseable"),
        (["cycle", "worker_unknown"], "worker_unknown"),
    ],
)
def test_a_plan_that_stays_invalid_fails_the_run_by_its_reason(codes: list[FindingCode], reason: str) -> None:
    story = planning()
    refuse_plan(story, "id_invalid", note="Again.")
    refuse_plan(story, *codes, note=None)
    story.settle()

    assert (story.run.status, story.run.stop_reason) == ("failed", reason)
    assert story.run.error is not None
    assert "t1 -> t2 -> t1" in story.run.error.message


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("provider_unavailable", "provider_unavailable"),
        ("rate_limited", "provider_unavailable"),
        ("provider_stream_incomplete", "provider_unavailable"),
        ("request_rejected", "internal_error"),
        ("context_exceeded", "plan_invalid"),
        ("provider_auth", "provider_auth"),
        ("provider_billing", "provider_billing"),
    ],
)
def test_a_planning_call_that_failed_for_good_fails_the_run(code: ErrorCode, reason: str) -> None:
    story = planning()
    story.fail_call("plan", code)

    assert story.settle() == ["run.failed"]
    assert story.run.stop_reason == reason


@pytest.mark.parametrize(("stop_reason", "reason"), [("refusal", "model_refusal"), ("compaction", "plan_invalid")])
def test_a_planning_reply_that_cannot_be_used_fails_the_run(stop_reason: str, reason: str) -> None:
    story = planning()
    story.hear("plan", [text_block("No.")], stop_reason)
    story.settle()

    assert story.run.stop_reason == reason


def test_a_plan_that_is_cut_twice_is_not_asked_for_a_third_time() -> None:
    story = planning()
    story.hear("plan", [text_block('{"tasks": [')], "max_tokens")
    assert story.decide().commands == (MakePlan(),)
    story.hear("plan", [text_block('{"tasks": [')], "max_tokens")
    story.settle()

    assert story.run.stop_reason == "plan_truncated"
    assert story.run.error is not None
    assert "output cap" in story.run.error.message


# Tasks.


def test_all_that_is_ready_runs_at_once_within_the_concurrency() -> None:
    tasks = [task("a"), task("b", "a"), task("c"), task("d")]

    assert started(*tasks).decide().commands == (WorkOn("a", 1), WorkOn("c", 1), WorkOn("d", 1))
    assert started(*tasks, concurrency=2).decide().commands == (WorkOn("a", 1), WorkOn("c", 1))


def test_running_tasks_hold_their_places() -> None:
    story = started(task("a"), task("b"), task("c"), concurrency=2)
    story.start("c")
    assert story.decide().commands == (WorkOn("c", 1), WorkOn("a", 1))
    story.start("a")

    assert story.decide().commands == (WorkOn("a", 1), WorkOn("c", 1))


def test_a_task_is_released_by_the_last_of_its_dependencies() -> None:
    story = started(task("a"), task("b"), task("c", "a", "b"))
    story.succeed("a")
    assert WorkOn("c", 1) not in story.decide().commands
    story.succeed("b")

    assert story.decide().commands == (WorkOn("c", 1),)


def test_dependants_of_a_failed_task_are_skipped_all_the_way_and_others_go_on() -> None:
    story = started(task("a"), task("b", "a"), task("c"), task("d", "b", "c"))
    story.fail("a")
    story.settle()
    story.succeed("c")
    story.settle()

    assert statuses(story.run) == {"a": "failed", "b": "skipped", "c": "succeeded", "d": "skipped"}
    assert error_of(story, "b") == error_of(story, "d") == "dependency_failed"
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

    assert story.settle() == []
    assert story.decide().commands == (WorkOn("b", 1),)


def test_an_attempt_that_takes_too_long_is_ended_and_its_end_is_waited_for() -> None:
    story = started(task("a", budget={"timeout_s": 20}))
    story.start("a")
    assert story.decide().wake_at == story.now + timedelta(seconds=20)
    story.wait(20)

    assert story.settle() == ["task.retrying"]
    assert story.state("a").attempts[0].error is not None
    assert story.state("a").attempts[0].error.code == "timeout"


@pytest.mark.parametrize("code", sorted(TRANSIENT_CODES))
def test_a_transient_failure_is_retried_unchanged_after_a_wait(code: ErrorCode) -> None:
    story = started(task("a"))
    story.start("a")
    story.fail_call("work", code, "a")
    assert story.settle() == ["task.retrying"]
    assert story.decide().commands == ()
    wake_at = story.decide().wake_at
    assert wake_at is not None
    assert timedelta(seconds=0.5) <= wake_at - story.now <= timedelta(seconds=1)
    story.now = wake_at

    assert story.decide().commands == (WorkOn("a", 2),)
    assert story.state("a").instruction == "do a"


@pytest.mark.parametrize("code", sorted(FINAL_CODES | {"request_rejected"}))
def test_a_failure_that_would_come_again_ends_the_task_at_once(code: ErrorCode) -> None:
    story = started(task("a"))
    story.start("a")
    story.fail_call("work", code, "a")

    assert story.settle()[0] == "task.failed"
    assert error_of(story, "a") == ("internal_error" if code == "request_rejected" else code)


def test_any_other_failure_is_retried_only_with_another_instruction() -> None:
    story = started(task("a"))
    story.start("a")
    story.hear("work", [text_block("?")], "compaction", name="a")
    assert story.settle() == ["task.retrying"]
    assert story.decide().commands == (Refine("a"),)
    story.refine("a", "do a with care")

    assert story.decide().commands == (WorkOn("a", 2),)
    story.start("a")
    attempt = story.state("a").attempts[-1]
    assert (attempt.instruction, attempt.refined_from, attempt.change) == ("do a with care", 1, "said more")


def test_the_last_attempt_that_fails_ends_the_task() -> None:
    story = started(task("a"), attempts=2)
    for number in (1, 2):
        story.start("a")
        story.fail_call("work", "rate_limited", "a")
        story.settle()
        story.wait(5)
        assert len(story.state("a").attempts) == number

    assert (story.state("a").status, error_of(story, "a")) == ("failed", "rate_limited")
    assert story.run.stop_reason == "provider_unavailable"


def test_an_instruction_that_could_not_be_improved_leaves_the_last_failure_standing() -> None:
    story = started(task("a"), task("b"))
    story.start("a")
    story.wait(61)
    story.settle()
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
    assert story.decide().commands == (WorkOn("a", 1),)
    story.hear("work", [text_block("??")], name="a")
    story.reject_result("a", None)
    story.settle()

    error = story.state("a").attempts[0].error
    assert error is not None
    assert (error.code, story.state("a").refine_first) == ("output_invalid", True)
    assert "it does not fit" in error.message


def test_an_escalation_ends_the_attempt_and_tells_why() -> None:
    story = started(task("a"), attempts=1)
    story.start("a")
    story.hear("work", [text_block("!")], name="a")
    escalation = Escalation(reason="out_of_scope", message="not mine")
    story.record(ev.TaskEscalated(**story.whose("a", 1), data=escalation))
    story.settle()

    error = story.state("a").error
    assert error is not None
    assert "out_of_scope" in error.message
    assert "not mine" in error.message
    assert story.state("a").attempts[0].escalation == escalation


def test_a_call_that_waits_for_the_provider_is_not_under_way_and_not_timed_out() -> None:
    story = started(task("a"))
    story.start("a")
    story.wait(50)
    story.fail_call("work", "rate_limited", "a", again_in=4)
    assert story.decide() == Decision(wake_at=story.now + timedelta(seconds=4))
    story.wait(4)
    assert story.decide().commands == (WorkOn("a", 1),)
    story.wait(9.9)

    assert story.settle() == []
    story.wait(0.1)
    assert story.settle() == ["task.retrying"]


def test_an_attempt_that_waited_through_a_resume_still_sends_its_call() -> None:
    story = started(task("a"))
    story.start("a")
    story.fail_call("work", "rate_limited", "a", again_in=300)
    story.wait(100)
    story.resumed()
    story.wait(200)

    assert story.settle() == []
    assert story.decide().commands == (WorkOn("a", 1),)


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
    assert story.decide().commands == ((MakePlan(),) if purpose == "plan" else (Synthesize(),))


# The end.


def test_an_only_task_answers_alone() -> None:
    story = started(task("a"))
    story.succeed("a", text="The answer.", data={"n": 1}, confidence=0.7)
    story.settle()

    result = story.run.result
    assert result is not None
    assert (story.run.status, result.answer, result.data, result.confidence) == (
        "succeeded",
        "The answer.",
        {"n": 1},
        0.7,
    )
    assert result.statements[0].tasks == ("a",)


def test_several_results_are_reconciled() -> None:
    story = started(task("a"), task("b"))
    story.succeed("a")
    story.succeed("b")
    assert story.decide().commands == (Synthesize(),)
    story.synthesize()
    story.settle()

    assert (story.run.status, story.run.stop_reason) == ("succeeded", "completed")


def test_a_run_without_a_required_task_never_succeeds() -> None:
    story = started(task("a"), task("b"))
    story.succeed("a")
    story.fail("b")
    story.synthesize(confidence=1.0)
    story.settle()

    assert (story.run.status, story.run.stop_reason) == ("partial", "gaps")


def test_a_run_may_lack_what_was_not_required_and_says_so() -> None:
    story = started(task("a"), task("b", required=False))
    story.succeed("a")
    story.fail("b", "max_steps")
    story.synthesize(impacts={"b": "a little less sure"})
    story.settle()

    result = story.run.result
    assert result is not None
    assert story.run.status == "succeeded"
    assert [(gap.task, gap.reason, gap.impact) for gap in result.gaps] == [("b", "max_steps", "a little less sure")]


def test_when_nothing_was_delivered_nothing_is_reconciled() -> None:
    story = started(task("a"), task("b", "a"))
    story.fail("a")
    story.settle()

    assert (story.run.status, story.run.stop_reason, story.run.result) == ("failed", "no_results", None)


@pytest.mark.parametrize("stop_reason", ["refusal", "model_context_window_exceeded", "compaction"])
def test_a_synthesis_that_failed_leaves_the_outputs_without_an_answer(stop_reason: str) -> None:
    story = started(task("a"), task("b"))
    story.succeed("a")
    story.succeed("b")
    story.hear("synthesize", [text_block("No.")], stop_reason)
    story.settle()

    result = story.run.result
    assert result is not None
    assert (story.run.status, story.run.stop_reason, result.answer) == ("partial", "synthesis_failed", None)
    assert [report.summary for report in result.outputs] == ["a done", "b done"]


def test_a_result_without_words_is_reconciled_and_is_never_itself_the_answer() -> None:
    story = started(task("a"))
    story.succeed("a", text=" ", summary="", data={"n": 1})
    assert story.decide().commands == (Synthesize(),)
    story.hear("synthesize", [text_block("No.")], "refusal")
    story.settle()

    result = story.run.result
    assert result is not None
    assert (story.run.stop_reason, result.answer, result.statements, result.data) == (
        "synthesis_failed",
        None,
        (),
        {"n": 1},
    )


# Time and money.


def test_when_time_is_nearly_up_the_rest_is_cut_and_what_is_there_reconciled() -> None:
    story = started(task("a"), task("b"), timeout_s=100)
    story.succeed("a")
    story.start("b")
    story.wait(24.9)
    story.hear("work", [call_block("c1")], "tool_use", name="b")
    assert story.settle() == []
    assert story.run.wrap_up_at == story.run.deadline - timedelta(seconds=15)  # type: ignore[operator]
    story.now = story.run.wrap_up_at  # type: ignore[assignment]
    story.settle()

    assert statuses(story.run) == {"a": "succeeded", "b": "cancelled"}
    assert error_of(story, "b") == "timeout"
    story.synthesize()
    story.settle()
    assert (story.run.status, story.run.stop_reason) == ("partial", "deadline_exceeded")


@pytest.mark.parametrize(
    ("limits", "reason", "code"),
    [
        ({"tokens": 15}, "budget_exhausted", "budget_exceeded"),
        ({"cost_usd": Decimal("0.01")}, "budget_exhausted", "budget_exceeded"),
        ({"timeout_s": 5}, "deadline_exceeded", "timeout"),
    ],
)
def test_when_time_or_money_is_up_what_is_there_is_handed_over(limits: dict[str, Any], reason: str, code: str) -> None:
    story = started(task("a"), task("b"), **limits)
    story.start("b")
    story.succeed("a")
    story.wait(5)
    story.settle()

    result = story.run.result
    assert result is not None
    assert (story.run.status, story.run.stop_reason, result.answer) == ("partial", reason, None)
    assert [(gap.task, gap.reason) for gap in result.gaps] == [("b", code)]
    assert [report.status for report in result.outputs] == ["succeeded", "cancelled"]


@pytest.mark.parametrize(
    ("limits", "reason"), [({"tokens": 10}, "budget_exhausted"), ({"timeout_s": 5}, "deadline_exceeded")]
)
def test_when_time_or_money_is_up_with_nothing_delivered_the_run_fails(limits: dict[str, Any], reason: str) -> None:
    story = started(task("a"), **limits)
    story.start("a")
    story.hear("work", [call_block("c1")], "tool_use", name="a")
    story.wait(5)

    assert story.settle() == ["task.cancelled", "run.failed"]
    assert (story.run.status, story.run.stop_reason, story.run.result) == ("failed", reason, None)


@pytest.mark.parametrize("limits", [{"tokens": 15}, {"timeout_s": 5}])
def test_a_run_that_has_said_it_all_succeeds_though_its_last_call_used_up_the_limits(limits: dict[str, Any]) -> None:
    story = started(task("a"), **limits)
    story.succeed("a")
    story.wait(5)
    story.settle()

    assert (story.run.status, story.run.stop_reason) == ("succeeded", "completed")


@pytest.mark.parametrize("code", ["provider_auth", "provider_billing"])
def test_a_fault_of_the_account_ends_the_run_and_keeps_what_was_delivered(code: ErrorCode) -> None:
    story = started(task("a"), task("b"), task("c"))
    story.succeed("a")
    story.start("b")
    story.fail_call("work", code, "b")
    story.settle()

    assert (story.run.status, story.run.stop_reason) == ("failed", code)
    assert story.run.result is not None
    assert story.run.result.coverage.delivered == 1


# Cancelling.


def test_a_run_can_be_cancelled_before_it_has_started() -> None:
    story = Story(brief())
    story.queued()
    story.cancel_requested("changed my mind")

    assert story.settle() == ["run.cancelled"]
    assert story.run.cancellation is not None
    assert story.run.cancellation.reason == "changed my mind"


def test_a_cancellation_stops_what_has_not_ended_and_gives_a_receipt() -> None:
    story = started(task("a"), task("b"), task("c", "b"))
    story.succeed("a")
    story.start("b")
    story.wait(3)
    story.cancel_requested("enough")
    asked_at = story.now
    story.wait(1)
    story.fail_call("work", "cancelled", "b")
    story.settle()

    receipt = story.run.cancellation
    assert receipt is not None
    assert (story.run.status, story.run.stop_reason) == ("cancelled", "cancelled")
    assert (receipt.requested_at, receipt.completed_at, receipt.reason) == (asked_at, story.now, "enough")
    assert [(each.task, each.status, each.stopped_at) for each in receipt.tasks] == [
        ("a", "succeeded", None),
        ("b", "cancelled", story.now),
        ("c", "cancelled", story.now),
    ]
    assert receipt.cost_usd_after_request == Decimal("0.01")
    assert story.state("a").output is not None


def test_a_cancellation_comes_before_an_answer_that_is_ready() -> None:
    story = started(task("a"), task("b"))
    story.succeed("a")
    story.succeed("b")
    story.synthesize()
    story.cancel_requested()
    story.settle()

    assert story.run.status == "cancelled"


# One decision for one state.


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
    assert [attempt.error and attempt.error.code for attempt in story.state("b").attempts] == ["max_steps"]


def test_a_wake_up_changes_nothing_that_is_decided() -> None:
    story = started(task("a"), task("b", "a"))
    first = story.decide()
    story.wait(1)

    assert story.decide() == first
