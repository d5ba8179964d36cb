from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from app.domain.conversation import EMPTY_REPLY, Block, Conversation, Message, ToolResult, Turn, text_of, tool_calls_of
from app.domain.protocol import Ask, GiveUp, Read, UseTools, next_step
from tests.support.story import call_block, text_block

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def talk(*turns: Turn) -> Conversation:
    return Conversation(turns=turns)


def said(text: str, stop_reason: str = "end_turn", note: str | None = None) -> Turn:
    return Turn([text_block(text)], stop_reason, note=note)


def used(call_id: str, result: ToolResult, **arguments: Any) -> Turn:
    """A turn with one call and what it brought back."""
    return Turn([call_block(call_id, **arguments)], "tool_use", {call_id: result})


def gave_up(conversation: Conversation, max_steps: int = 10) -> str | None:
    step = next_step(conversation, max_steps)
    return step.code if isinstance(step, GiveUp) else None


@pytest.mark.parametrize("reason", ["end_turn", "stop_sequence"])
def test_a_reply_that_ended_without_calls_is_read(reason: str) -> None:
    assert next_step(talk(said("The end.", reason)), 10) == Read("The end.")


@pytest.mark.parametrize(
    ("reason", "code"),
    [
        ("refusal", "model_refusal"),
        ("model_context_window_exceeded", "context_exceeded"),
        ("compaction", "unexpected_stop_reason"),
        ("", "unexpected_stop_reason"),
    ],
)
def test_a_reply_that_ended_otherwise_is_never_read(reason: str, code: str) -> None:
    assert gave_up(talk(said("Fluent all the same.", reason))) == code


def test_an_unknown_stop_reason_is_named() -> None:
    step = next_step(talk(said("", "compaction")), 10)

    assert isinstance(step, GiveUp)
    assert "'compaction'" in step.message


def test_a_conversation_begins_with_a_call() -> None:
    assert next_step(Conversation(), 1) == Ask()


@pytest.mark.parametrize("reason", ["refusal", "compaction", "model_context_window_exceeded"])
def test_calls_of_a_reply_that_did_not_end_in_order_are_not_run(reason: str) -> None:
    step = next_step(talk(Turn([call_block("c1")], reason)), 10)

    assert not isinstance(step, UseTools)


def test_calls_without_a_result_are_run_and_no_other() -> None:
    calls = [call_block("c1"), call_block("c2"), call_block("c3")]
    turn = Turn(calls, "tool_use", {"c2": ToolResult("two")})

    assert next_step(talk(turn), 10) == UseTools([calls[0], calls[2]])


def test_when_every_call_has_its_result_the_model_is_asked_again() -> None:
    assert next_step(talk(used("c1", ToolResult("one"))), 10) == Ask()


def test_calls_that_the_provider_ran_are_not_ours_to_run() -> None:
    search: Block = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}}

    assert tool_calls_of([search, call_block("c1")]) == [call_block("c1")]
    assert next_step(talk(Turn([search, text_block("Found.")], "end_turn")), 10) == Read("Found.")


def test_a_rejected_reply_is_answered_by_asking_again() -> None:
    assert next_step(talk(said("nonsense", note="That is no JSON.")), 10) == Ask()


def test_a_reply_may_be_repaired_once() -> None:
    rejected = [Conversation(rejections=count) for count in range(3)]

    assert [talk.may_be_repaired for talk in rejected] == [True, False, False]
    assert [talk.unusable for talk in rejected] == [False, False, True]


def test_a_call_that_failed_for_good_ends_the_conversation() -> None:
    failed = Conversation(error=("context_exceeded", "too long"))

    assert next_step(failed, 10) == GiveUp("context_exceeded", "too long")


def test_a_cut_reply_is_asked_for_once_more_and_then_given_up() -> None:
    assert next_step(Conversation(truncations=1), 10) == Ask()
    assert gave_up(Conversation(truncations=2)) == "output_truncated"


def test_a_paused_turn_is_continued_five_times_and_then_given_up() -> None:
    paused = said("still searching", "pause_turn")

    assert all(next_step(Conversation(turns=(paused,), pauses=count), 50) == Ask() for count in range(5))
    assert gave_up(Conversation(turns=(paused,), pauses=5), 50) == "max_steps"


@pytest.mark.parametrize("last", [used("c1", ToolResult("x")), said("?", note="Again."), said("…", "pause_turn")])
def test_no_reply_beyond_the_limit_is_asked_for(last: Turn) -> None:
    assert next_step(talk(last), 2) == Ask()
    assert gave_up(talk(last), 1) == "max_steps"


def test_cut_and_paused_replies_count_as_steps() -> None:
    assert Conversation(turns=(said("x"),), truncations=1, pauses=2).steps == 4
    assert gave_up(Conversation(truncations=1), 1) == "max_steps"


def test_a_final_text_at_the_limit_is_still_read() -> None:
    assert next_step(talk(used("c1", ToolResult("x")), said("Done.")), 2) == Read("Done.")


INVALID = ToolResult("no such tool", "tool_call_invalid")


def test_three_invalid_calls_in_a_row_end_the_conversation() -> None:
    turns = [used(f"c{number}", INVALID, attempt=number) for number in range(3)]

    assert next_step(talk(*turns[:2]), 10) == Ask()
    assert gave_up(talk(*turns)) == "tool_call_invalid"


def test_invalid_calls_of_one_reply_count_each() -> None:
    turn = Turn([call_block(name) for name in "abc"], "tool_use", dict.fromkeys("abc", INVALID))

    assert gave_up(talk(turn)) == "tool_call_invalid"


@pytest.mark.parametrize("between", [ToolResult("fine"), ToolResult("broken", "tool_failed")])
def test_a_call_that_was_carried_out_ends_the_row_of_invalid_ones(between: ToolResult) -> None:
    turns = [used(f"c{number}", INVALID, attempt=number) for number in range(4)]
    turns[2] = used("c2", between)

    assert next_step(talk(*turns), 10) == Ask()


@pytest.mark.parametrize("result", [ToolResult("same"), ToolResult("no such file", "tool_failed")])
def test_the_same_call_with_the_same_result_is_made_at_most_four_times(result: ToolResult) -> None:
    turns = [used(f"c{number}", result, path="big") for number in range(4)]

    assert next_step(talk(*turns[:3]), 10) == Ask()
    assert gave_up(talk(*turns)) == "no_progress"


def test_the_same_call_with_changing_results_is_stopped_only_by_the_limit() -> None:
    turns = [used(f"c{number}", ToolResult(f"{number} % done"), job=1) for number in range(10)]

    assert all(next_step(talk(*turns[:count]), 10) == Ask() for count in range(1, 10))
    assert gave_up(talk(*turns)) == "max_steps"


def test_the_same_result_of_different_calls_is_progress() -> None:
    turns = [used(f"c{number}", ToolResult("nothing"), page=number) for number in range(6)]

    assert next_step(talk(*turns), 10) == Ask()


@pytest.mark.parametrize("length", [2, 3])
def test_a_circle_of_calls_is_stopped_before_it_is_gone_round_five_times(length: int) -> None:
    turns = [used(f"c{number}", ToolResult("same"), page=number % length) for number in range(length * 5)]
    allowed = length + 5

    assert all(next_step(talk(*turns[:count]), 100) == Ask() for count in range(1, allowed + 1))
    assert gave_up(talk(*turns[: allowed + 1]), 100) == "no_progress"


def test_a_circle_that_brings_something_new_once_in_a_while_is_none() -> None:
    turns = [used(f"c{number}", ToolResult(f"{number // 5}"), page=number % 2) for number in range(30)]

    assert all(next_step(talk(*turns[:count]), 100) == Ask() for count in range(1, 31))


def test_another_call_in_between_starts_the_count_anew() -> None:
    same = [used(f"c{number}", ToolResult("same")) for number in range(6)]
    other = used("d", ToolResult("other"), page=2)

    assert next_step(talk(*same[:3], other, *same[3:]), 10) == Ask()


def test_a_final_reply_with_a_stray_call_does_not_break_what_follows() -> None:
    stray = Turn([call_block("c1")], "end_turn", note="The result is empty.")

    assert next_step(talk(stray, used("c2", ToolResult("x"))), 10) == Ask()
    assert next_step(talk(stray, used("c2", INVALID)), 10) == Ask()


def test_what_we_say_begins_with_one_result_a_call_in_their_order_and_then_the_note() -> None:
    calls = [call_block(name) for name in ("c1", "c2", "c3")]
    results = {"c3": ToolResult("three"), "c1": ToolResult("one"), "c2": ToolResult("broke", "tool_failed")}
    turn = Turn([text_block("Let me see."), *calls], "tool_use", results, note="And hurry.")

    assistant, user = talk(turn).messages()

    assert assistant == Message("assistant", [text_block("Let me see."), *calls])
    assert user == Message(
        "user",
        [
            {"type": "tool_result", "tool_use_id": "c1", "content": "one", "is_error": False},
            {"type": "tool_result", "tool_use_id": "c2", "content": "broke", "is_error": True},
            {"type": "tool_result", "tool_use_id": "c3", "content": "three", "is_error": False},
            {"type": "text", "text": "And hurry."},
        ],
    )


def test_a_stray_call_gets_a_result_too_since_the_provider_wants_one() -> None:
    stray = Turn([call_block("c1")], "end_turn", note="The result is empty.")

    _, user = talk(stray).messages()

    assert [block["type"] for block in user.content] == ["tool_result", "text"]
    assert user.content[0]["tool_use_id"] == "c1"


def test_roles_take_turns() -> None:
    turns = [used("c1", ToolResult("x")), said("?", note="Again."), used("c2", ToolResult("y"))]

    assert [message.role for message in talk(*turns).messages()] == ["assistant", "user"] * 3


def test_a_paused_turn_is_sent_back_unchanged_and_unanswered() -> None:
    search: Block = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"q": "x"}}

    assert talk(Turn([search], "pause_turn")).messages() == [Message("assistant", [search])]


def test_an_empty_reply_is_sent_back_as_some_text() -> None:
    (assistant,) = talk(Turn([], "end_turn")).messages()

    assert text_of(assistant.content).strip()


def test_only_text_blocks_are_visible() -> None:
    content: list[Block] = [
        {"type": "thinking", "thinking": "hm"},
        text_block("One, "),
        call_block("c"),
        text_block("two."),
    ]

    assert text_of(content) == "One, two."


def test_a_conversation_waits_until_the_failed_call_may_be_sent_again() -> None:
    failed = Conversation(retry_at=NOW + timedelta(seconds=5))

    assert failed.waits(NOW)
    assert not failed.waits(NOW + timedelta(seconds=5))
    assert not Conversation().waits(NOW)


@pytest.mark.parametrize("reason", ["end_turn", "stop_sequence", "tool_use"])
@pytest.mark.parametrize("before", [(), (text_block("Let me look first."),)], ids=["alone", "after a preamble"])
def test_a_reply_with_a_call_is_acted_on_whatever_it_says_it_stopped_for(reason: str, before: tuple[Block]) -> None:
    call = call_block("c1")

    assert next_step(talk(Turn([*before, call], reason)), 10, ["look"]) == UseTools([call])


@pytest.mark.parametrize("reason", ["end_turn", "tool_use"])
def test_a_call_where_no_tool_was_offered_is_no_result(reason: str) -> None:
    step = next_step(talk(Turn([text_block("Let me look first."), call_block("c1")], reason)), 10, ())

    assert isinstance(step, Read)
    assert step.objection is not None


def test_a_reply_that_stopped_for_a_call_it_does_not_hold_is_no_result() -> None:
    step = next_step(talk(said("Let me look.", "tool_use")), 10)

    assert isinstance(step, Read)
    assert step.objection is not None


def test_reasoning_is_no_part_of_what_was_said() -> None:
    assert next_step(talk(said("<think>Maybe 12 %? No.</think>\n\nIt is 14 %.", "end_turn")), 10) == Read("It is 14 %.")


def test_nothing_blank_goes_back_to_the_provider_and_no_thoughts_alone() -> None:
    thought = {"type": "thinking", "thinking": "hm", "signature": "s"}
    call = call_block("c1")
    turns = [Turn([text_block("\n\n"), call], "tool_use"), Turn([text_block(" ")], "end_turn", note="Again.")]
    turns.append(Turn([thought], "end_turn", note="Again."))

    sent = [message.content for message in talk(*turns).messages() if message.role == "assistant"]

    assert sent == [[call], [EMPTY_REPLY], [thought, EMPTY_REPLY]]
