from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest

from app.domain.errors import ErrorCode
from app.domain.policy.agenda import ANSWERING
from app.domain.policy.answer import TASKS_NAMED
from app.domain.topics import Topic
from tests.support.story import (
    Story,
    brief,
    call_block,
    started,
    statuses,
    task,
    text_block,
)


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
    assert story.talking() == [ANSWERING]
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
    assert story.run.error is not None
    assert story.run.error.message == (
        "No task delivered a result: a ended with model_refusal, 1 more did not deliver either. model_refusal!"
    )


def test_a_run_without_results_names_only_a_few_of_many_tasks() -> None:
    story = started(*(task(f"t{number}") for number in range(9)))
    for number in range(9):
        story.fail(f"t{number}", "max_steps")
    story.settle()

    assert story.run.error is not None
    assert story.run.error.message.count("ended with max_steps") == TASKS_NAMED
    assert "4 more did not deliver either." in story.run.error.message


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
    assert story.talking() == [ANSWERING]
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


def test_when_time_is_nearly_up_the_rest_is_cut_and_what_is_there_reconciled() -> None:
    story = started(task("a"), task("b", budget={"timeout_s": 500}), timeout_s=100)
    story.succeed("a")
    story.start("b")
    story.wait(24.9)
    story.hear("work", [call_block("c1")], "tool_use", name="b")
    assert story.settle() == []
    story.wait(60)
    assert story.run.wrap_up_at == story.now + timedelta(seconds=0.1)
    story.wait(0.1)
    assert story.settle() == ["task.cancelled"]

    assert statuses(story.run) == {"a": "succeeded", "b": "cancelled"}
    assert story.error("b") == "timeout"
    story.synthesize()
    story.settle()
    assert (story.run.status, story.run.stop_reason) == ("partial", "deadline_exceeded")


def test_while_nothing_is_delivered_work_goes_on_to_the_deadline() -> None:
    story = started(task("a", budget={"timeout_s": 500}), task("b", "a"), timeout_s=100)
    story.start("a")
    story.wait(99)

    assert story.settle() == []
    assert story.talking() == [Topic("work", "a")]
    assert story.decide().wake_at == story.run.deadline


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
