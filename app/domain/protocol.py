"""The protocol of a conversation with a model: the one thing that comes next, and its bounds.

`next_step` is the whole of it: it looks first at how the last reply ended.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from app.domain.call_text import is_call_text
from app.domain.conversation import Block, Conversation, ToolResult, Turn, text_of, tool_calls_of
from app.domain.errors import ErrorCode

LONGEST_TEXT = 500_000
"""Characters that a final text may have: it is stored, and read by others."""
SUPERVISOR_REPLIES = 4
"""Replies that one conversation of the supervisor may take: an answer, a repair, and what a cut reply costs."""
PAUSES_ALLOWED = 5
TRUNCATIONS_ALLOWED = 1
INVALID_CALLS_ALLOWED = 2
SAME_CALLS_ALLOWED = 3
"""Turns in a row that may make the same calls and get the same results."""
STALE_TURNS_ALLOWED = 5
"""Turns in a row of which nothing is new, each call and its result having been there before: circles of any length. As
many as there were with something new may follow them in any case: whoever has read much may look at it all again."""


@dataclass(frozen=True, slots=True)
class Ask:
    """Send the conversation to the model."""


@dataclass(frozen=True, slots=True)
class UseTools:
    """Run these calls; the results of the turn's other calls are there already."""

    calls: Sequence[Block]


@dataclass(frozen=True, slots=True)
class Read:
    """The model has finished; this is its final text."""

    text: str
    objection: str | None = None
    """Why it can be no result, whatever it says: the model meant to go on."""


@dataclass(frozen=True, slots=True)
class GiveUp:
    """The conversation cannot go on."""

    code: ErrorCode
    message: str


Step = Ask | UseTools | Read | GiveUp


def next_step(conversation: Conversation, max_steps: int, tools: Collection[str] | None = None) -> Step:
    """What comes next. `max_steps` bounds the replies; `tools` are those that were offered, where that is known.

    What a reply holds decides, not why it says that it stopped: servers disagree about the latter. Only a reply that
    was cut is never acted on.
    """
    if conversation.error is not None:
        return GiveUp(*conversation.error)
    if conversation.truncations > TRUNCATIONS_ALLOWED:
        return GiveUp("output_truncated", f"The reply was cut at the output cap {conversation.truncations} times.")
    if not conversation.turns:
        return _ask_within(conversation, max_steps)
    last = conversation.turns[-1]
    if last.note is not None:
        return _ask_within(conversation, max_steps)
    match last.stop_reason:
        case "end_turn" | "stop_sequence" | "tool_use":
            calls = tool_calls_of(last.content)
            if calls and (tools is None or tools):
                return _after_tool_calls(conversation, calls, max_steps)
            return _final(last, tools)
        case "pause_turn" if conversation.pauses >= PAUSES_ALLOWED:
            return GiveUp("max_steps", f"The provider paused the turn {conversation.pauses + 1} times without an end.")
        case "pause_turn":
            return _ask_within(conversation, max_steps)
        case "refusal":
            return GiveUp("model_refusal", "The model declined to answer.")
        case "model_context_window_exceeded":
            return GiveUp("context_exceeded", "The conversation no longer fits the model's context window.")
        case reason:
            return GiveUp("unexpected_stop_reason", f"The reply ended with the unknown reason {reason!r}.")


def _final(last: Turn, tools: Collection[str] | None) -> Step:
    text = text_of(last.content)
    if len(text) > LONGEST_TEXT:
        return GiveUp("result_too_large", f"The reply has {len(text)} characters; at most {LONGEST_TEXT} are taken.")
    if tool_calls_of(last.content):
        return Read(text, "the reply calls a tool, but there are none to call here")
    if last.stop_reason == "tool_use":
        return Read(text, "the reply stopped for a tool call that it does not hold")
    if is_call_text(text, tools or ()):
        return Read(text, "the reply is a tool call written as text, which nothing runs")
    return Read(text)


def _after_tool_calls(conversation: Conversation, calls: Sequence[Block], max_steps: int) -> Step:
    results = conversation.turns[-1].results
    if missing := [call for call in calls if call["id"] not in results]:
        return UseTools(missing)
    if _invalid_calls_in_a_row(conversation) > INVALID_CALLS_ALLOWED:
        return GiveUp("tool_call_invalid", "The model made three calls in a row that no tool could take.")
    if repeated := repeated_turns(conversation):
        return _without_progress(repeated)
    return _ask_within(conversation, max_steps)


def _ask_within(conversation: Conversation, max_steps: int) -> Step:
    if conversation.steps >= max_steps:
        return GiveUp("max_steps", f"No result after {conversation.steps} model replies, the limit for this task.")
    return Ask()


def _invalid_calls_in_a_row(conversation: Conversation) -> int:
    count = 0
    for turn in reversed(conversation.turns):
        for call in reversed(tool_calls_of(turn.content)):
            if turn.result_of(call).error_code != "tool_call_invalid":
                return count
            count += 1
    return count


def _without_progress(repeated: Sequence[Turn]) -> GiveUp:
    """The end of a conversation that goes in circles. It is not to blame where all its calls were turned away."""
    codes = {result.error_code for turn in repeated for _, _, result in _outcomes(turn)}
    if codes == {"breaker_open"}:
        return GiveUp("breaker_open", "The model kept calling a tool that is left alone for a while.")
    return GiveUp("no_progress", "The model repeated the same tool calls and got the same results each time.")


def repeated_turns(conversation: Conversation) -> Sequence[Turn]:
    """The last turns, where they have repeated themselves too often; nothing where the conversation gets on."""
    if _same_in_a_row(conversation) > SAME_CALLS_ALLOWED:
        return conversation.turns[-1:]
    stale = _stale_turns(conversation)
    allowed = max(STALE_TURNS_ALLOWED, len(conversation.turns) - stale)
    return conversation.turns[-stale:] if stale > allowed else ()


def _same_in_a_row(conversation: Conversation) -> int:
    """How many of the last turns made the same calls and got the same results."""
    count, first = 0, None
    for turn in reversed(conversation.turns):
        outcomes = _outcomes(turn)
        if not outcomes or (first is not None and outcomes != first):
            break
        first, count = outcomes, count + 1
    return count


def _stale_turns(conversation: Conversation) -> int:
    """How many of the last turns brought nothing new: each call and its result had been there in an earlier turn."""
    turns = conversation.turns
    for count, at in enumerate(range(len(turns) - 1, -1, -1)):
        before = [outcome for turn in turns[:at] for outcome in _outcomes(turn)]
        outcomes = _outcomes(turns[at])
        if not outcomes or any(outcome not in before for outcome in outcomes):
            return count
    return 0


def _outcomes(turn: Turn) -> list[tuple[str, Any, ToolResult]]:
    """The calls of a turn, each with what it brought."""
    return [(call["name"], call.get("input"), turn.result_of(call)) for call in tool_calls_of(turn.content)]
