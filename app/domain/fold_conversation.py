"""How a conversation goes on: by one event more. The fold of a run and readers of its log share this one reading."""

import sys
from collections.abc import Collection, Sequence
from typing import Any

from app.domain import events as ev
from app.domain.conversation import Block, Conversation, Prompt, ToolResult, Turn
from app.domain.errors import IllegalMove
from app.domain.protocol import TRUNCATIONS_ALLOWED, GiveUp, next_step
from app.domain.results import Problem
from app.domain.retries import costs_again
from app.domain.values import changed


def conversation_after(talk: Conversation, fact: ev.AnyFact, seq: int = 0) -> Conversation:
    """The conversation after a fact of its own: a call, a tool, a rejection. `seq` is its number in the log.

    Raises `IllegalMove` when there is no reply yet that a tool or a rejection could belong to.
    """
    match fact:
        case ev.LlmCompleted():
            talk = changed(_opened(talk, fact), tokens=None if fact.usage.estimated else fact.usage.amount.tokens)
            return replied(talk, fact.content, fact.stop_reason)
        case ev.LlmFailed():
            return _failed(_opened(talk, fact), fact, seq)
        case ev.ToolStarted():
            turn = _last_turn(talk, fact)
            return _with_last(talk, changed(turn, intents={**turn.intents, fact.call_id: fact.effect}))
        case ev.ToolCompleted():
            return _tool_ended(talk, fact, ToolResult(fact.output))
        case ev.ToolFailed():
            return _tool_ended(talk, fact, ToolResult(fact.error.message, fact.error.code))
        case ev.Rejected():
            return _rejected(talk, fact)
        case ev.SelectionRejected() | ev.ReductionRejected() | ev.VerificationRejected():
            return _rejected(talk, fact)
        case _:
            raise IllegalMove(f"{fact.type} belongs to no conversation")


def replied(talk: Conversation, content: Sequence[Block], stop_reason: str) -> Conversation:
    """The conversation after a reply, which nobody has acted on yet."""
    talk = changed(talk, failures=0, paid_failures=0, retry_at=None, not_before=None)
    if stop_reason == "max_tokens":
        return changed(talk, truncations=talk.truncations + 1)
    turn = Turn(content, stop_reason)
    if talk.turns and talk.turns[-1].stop_reason == "pause_turn":
        paused = talk.turns[-1]
        turn = changed(turn, content=[*paused.content, *turn.content])
        return changed(talk, turns=(*talk.turns[:-1], turn), pauses=talk.pauses + 1)
    return changed(talk, turns=(*talk.turns, turn))


def thrown_away(
    talk: Conversation, content: Sequence[Block], stop_reason: str, tools: Collection[str] | None = None
) -> Problem | None:
    """Why nothing of a reply is used, as far as the reply itself says; None when it is read, acted on or continued.

    `tools` are those that were offered, where that is known.
    """
    after = replied(talk, content, stop_reason)
    if talk.truncations < after.truncations <= TRUNCATIONS_ALLOWED:
        message = "The reply was cut at the output cap; it is asked for again under a doubled cap."
        return Problem(code="output_truncated", message=message)
    step = next_step(after, sys.maxsize, tools)
    return Problem(code=step.code, message=step.message) if isinstance(step, GiveUp) else None


def _failed(talk: Conversation, failure: ev.LlmFailed, seq: int) -> Conversation:
    code: Any = failure.error.code
    if code == "cancelled":
        return changed(talk, stopped_seq=seq)
    failures, paid = talk.failures + failure.sent, talk.paid_failures + costs_again(failure.error.code, failure.usage)
    talk = changed(talk, failures=failures, paid_failures=paid)
    talk = changed(talk, retry_at=failure.retry_at, not_before=failure.not_before)
    return talk if failure.retry_at else changed(talk, error=(code, failure.error.message))


def _opened(talk: Conversation, call: ev.ModelCall) -> Conversation:
    if talk.prompt is not None or call.opening is None:
        return talk
    return changed(talk, prompt=Prompt(call.opening.system, call.opening.message, call.opening.tools))


def _tool_ended(talk: Conversation, end: ev.ToolCompleted | ev.ToolFailed, result: ToolResult) -> Conversation:
    if end.provider:
        return talk  # The reply holds it already.
    turn = _last_turn(talk, end)
    return _with_last(talk, changed(turn, results={**turn.results, end.call_id: result}))


def _rejected(talk: Conversation, rejected: ev.Rejected) -> Conversation:
    turn = _last_turn(talk, rejected)
    objection = "; ".join(flaw.detail for flaw in rejected.errors)
    talk = _with_last(talk, changed(turn, note=rejected.note))
    code = rejected.errors[0].code if rejected.errors else None
    return changed(talk, rejections=talk.rejections + 1, objection=objection, objection_code=code)


def _last_turn(talk: Conversation, fact: ev.Fact) -> Turn:
    if not talk.turns:
        raise IllegalMove(f"{fact.type} cannot come before the model's reply")
    return talk.turns[-1]


def _with_last(talk: Conversation, turn: Turn) -> Conversation:
    return changed(talk, turns=(*talk.turns[:-1], turn))
