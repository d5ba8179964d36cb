import pytest

from app.domain import events as ev
from app.domain.errors import ErrorCode
from app.domain.flaws import Flaw, FlawCode
from app.domain.policy.agenda import PLANNING
from app.domain.policy.commands import Converse, Decision
from app.domain.policy.endings import MESSAGE_CHARACTERS
from app.domain.topics import Topic
from tests.support.story import (
    Story,
    brief,
    plan_of,
    planning,
    task,
    text_block,
)


def refuse_plan(story: Story, *codes: FlawCode, note: str | None) -> None:
    story.hear("plan", [text_block("a plan")])
    flaws = tuple(Flaw(code=code, detail=f"{code}: t1 -> t2 -> t1") for code in codes)
    story.tell(ev.PlanInvalid(errors=flaws, note=note))


def test_nothing_is_decided_before_the_start_while_waiting_and_after_the_end() -> None:
    story = Story(brief())
    assert story.decide() == Decision()
    story.queued()
    assert story.decide() == Decision()

    story.started()
    story.planned(task("a"))
    story.parked()
    assert story.decide() == Decision()
    story.cancel_requested()
    story.settle()
    assert story.decide() == Decision()


def test_a_run_begins_with_a_plan_and_wakes_at_its_deadline() -> None:
    story = planning()

    assert story.decide() == Decision((Converse(PLANNING),), wake_at=story.run.deadline)


def test_a_plan_of_the_client_is_taken_without_asking_the_supervisor() -> None:
    story = Story(brief())
    story.queued(plan_of(task("a")))
    story.started()

    assert story.settle() == ["plan.created", "task.started"]
    assert story.talking() == [Topic("work", "a")]


def find_flaws(story: Story) -> None:
    """The supervisor's plan could be carried out, and is seriously flawed."""
    story.hear("plan", [text_block("a plan")])
    flaw = Flaw(code="tool_missing", detail="t1 orders to save it")
    story.tell(ev.PlanInvalid(errors=(flaw,), note="Again.", sound=plan_of(task("a"))))


def test_a_flawed_plan_is_written_once_more_and_the_new_one_is_followed() -> None:
    story = planning()
    find_flaws(story)
    assert story.talking() == [PLANNING]

    story.hear("plan", [text_block("another plan")])
    story.planned(task("b"))

    assert list(story.run.tasks) == ["b"]


def test_a_flawed_plan_is_followed_when_the_next_one_cannot_be_carried_out() -> None:
    story = planning()
    find_flaws(story)
    refuse_plan(story, "cycle", note=None)

    assert story.settle() == ["plan.created", "task.started"]
    assert list(story.run.tasks) == ["a"]


def test_a_flawed_plan_is_followed_when_no_other_one_comes() -> None:
    story = planning()
    find_flaws(story)
    story.fail_call("plan", "model_refusal")

    assert story.settle() == ["plan.created", "task.started"]
    assert list(story.run.tasks) == ["a"]


def test_an_invalid_plan_is_repaired_once() -> None:
    story = planning()
    refuse_plan(story, "cycle", note="Again, without the circle.")
    assert story.talking() == [PLANNING]

    refuse_plan(story, "cycle", note=None)
    assert story.settle() == ["run.failed"]


def test_the_message_of_a_plan_that_stays_invalid_tells_of_many_flaws_only_a_part() -> None:
    story = planning()
    refuse_plan(story, "cycle", note="Again.")
    many: list[FlawCode] = ["instruction_blank"]
    refuse_plan(story, *many * 300, note=None)
    story.settle()

    assert story.run.error is not None
    assert len(story.run.error.message) <= MESSAGE_CHARACTERS


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
def test_a_plan_that_stays_invalid_fails_the_run_by_its_reason(codes: list[FlawCode], reason: str) -> None:
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
        ("request_rejected", "request_rejected"),
        ("context_exceeded", "request_rejected"),
        ("provider_auth", "provider_auth"),
        ("provider_billing", "provider_billing"),
    ],
)
def test_a_planning_call_that_failed_for_good_fails_the_run(code: ErrorCode, reason: str) -> None:
    story = planning()
    story.fail_call("plan", code)

    assert story.settle() == ["run.failed"]
    assert story.run.stop_reason == reason


@pytest.mark.parametrize(
    ("stop_reason", "reason"),
    [
        ("refusal", "model_refusal"),
        ("compaction", "provider_unavailable"),
        ("model_context_window_exceeded", "request_rejected"),
    ],
)
def test_a_planning_reply_that_cannot_be_used_fails_the_run(stop_reason: str, reason: str) -> None:
    story = planning()
    story.hear("plan", [text_block("No.")], stop_reason)
    story.settle()

    assert story.run.stop_reason == reason


def test_a_plan_that_is_cut_twice_is_not_asked_for_a_third_time() -> None:
    story = planning()
    story.hear("plan", [text_block('{"tasks": [')], "max_tokens")
    assert story.talking() == [PLANNING]
    story.hear("plan", [text_block('{"tasks": [')], "max_tokens")
    story.settle()

    assert story.run.stop_reason == "plan_truncated"
    assert story.run.error is not None
    assert "output cap" in story.run.error.message
