"""The part of the fold that model and tool calls make: conversations grow, usage adds up."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from app.domain import events as ev
from app.domain.conversation import Conversation, Prompt, ToolResult, Turn
from app.domain.errors import IllegalMove
from app.domain.events import Event
from app.domain.snapshot import Snapshot, TaskState
from app.domain.usage import Usage
from app.domain.values import changed

FATAL_CODES = frozenset({"provider_auth", "provider_billing"})
"""Faults of the account: no further call of the run can succeed."""


def must_run(snapshot: Snapshot, event: Event) -> None:
    if snapshot.status != "running" and not (snapshot.status == "waiting" and event.type == "task.cancelled"):
        raise IllegalMove(f"{event.type} cannot happen in a run that is {snapshot.status}")


def task_named(snapshot: Snapshot, event: Event) -> TaskState:
    must_run(snapshot, event)
    try:
        return snapshot.tasks[event.task_id or ""]
    except KeyError:
        raise IllegalMove(f"{event.type} names the task {event.task_id!r}, which the plan lacks") from None


def running_task(snapshot: Snapshot, event: Event) -> TaskState:
    task = task_named(snapshot, event)
    if task.status != "running" or event.attempt != len(task.attempts):
        raise IllegalMove(f"{event.type} names attempt {event.attempt} of {event.task_id}, which is not running")
    return task


def _llm_completed(snapshot: Snapshot, event: ev.LlmCompleted) -> Snapshot:
    def heard(talk: Conversation) -> Conversation:
        talk = changed(_opened(talk, event.data), failures=0, retry_at=None, not_before=None)
        if event.data.stop_reason == "max_tokens":
            return changed(talk, truncations=talk.truncations + 1)
        turn = Turn(event.data.content, event.data.stop_reason)
        if talk.turns and talk.turns[-1].stop_reason == "pause_turn":
            paused = talk.turns[-1]
            turn = changed(turn, content=[*paused.content, *turn.content])
            return changed(talk, turns=(*talk.turns[:-1], turn), pauses=talk.pauses + 1)
        return changed(talk, turns=(*talk.turns, turn))

    snapshot = _clock_set_on(snapshot, event, timedelta(milliseconds=event.data.waited_ms))
    return _in_conversation(_spent(snapshot, event, event.data.usage), event, heard)


def _llm_failed(snapshot: Snapshot, event: ev.LlmFailed) -> Snapshot:
    failure = event.data
    code: Any = failure.error.code

    def heard(talk: Conversation) -> Conversation:
        talk = _opened(talk, failure)
        if code == "cancelled":
            return changed(talk, stopped_seq=event.seq)
        failures = talk.failures + failure.sent
        talk = changed(talk, failures=failures, retry_at=failure.retry_at, not_before=failure.not_before)
        return talk if failure.retry_at else changed(talk, error=(code, failure.error.message))

    if failure.retry_at is not None:
        # A call that is sent again was the provider's affair, and so is the wait until then.
        took = timedelta(milliseconds=failure.duration_ms)
        snapshot = _clock_set_on(snapshot, event, took + (failure.retry_at - event.at))
    snapshot = _in_conversation(_spent(snapshot, event, failure.usage), event, heard)
    return changed(snapshot, fatal=failure.error) if code in FATAL_CODES else snapshot


def _clock_set_on(snapshot: Snapshot, event: ev.LlmCompleted | ev.LlmFailed, wait: timedelta) -> Snapshot:
    """The attempt's clock set on by a wait for the provider, which is not the worker's time."""
    if event.data.purpose != "work" or not wait:
        return snapshot
    task = running_task(snapshot, event)
    return snapshot.with_task(task.with_attempt(since=task.attempts[-1].since + wait))


def _tool_started(snapshot: Snapshot, event: ev.ToolStarted) -> Snapshot:
    def heard(turn: Turn) -> Turn:
        return changed(turn, intents=turn.intents | {event.data.call_id})

    return _in_turn(snapshot, event, heard)


def _tool_completed(snapshot: Snapshot, event: ev.ToolCompleted) -> Snapshot:
    return _tool_ended(snapshot, event, ToolResult(event.data.output))


def _tool_failed(snapshot: Snapshot, event: ev.ToolFailed) -> Snapshot:
    return _tool_ended(snapshot, event, ToolResult(event.data.error.message, event.data.error.code))


def _tool_ended(snapshot: Snapshot, event: ev.ToolCompleted | ev.ToolFailed, result: ToolResult) -> Snapshot:
    snapshot = _spent(snapshot, event, Usage(tool_calls=1))
    if event.data.provider:
        return snapshot

    def heard(turn: Turn) -> Turn:
        return changed(turn, results={**turn.results, event.data.call_id: result})

    return _in_turn(snapshot, event, heard)


def _opened(talk: Conversation, call: ev.ModelCall) -> Conversation:
    if talk.prompt is not None or call.opening is None:
        return talk
    return changed(talk, prompt=Prompt(call.opening.system, call.opening.message))


def _spent(snapshot: Snapshot, event: Event, usage: Usage) -> Snapshot:
    """`usage` counted for the run, and for the task and attempt the event names."""
    must_run(snapshot, event)
    snapshot = changed(snapshot, usage=snapshot.usage + usage)
    if event.task_id is None:
        return snapshot
    task = task_named(snapshot, event)
    task = changed(task, usage=task.usage + usage)
    if task.attempts and event.attempt == len(task.attempts):
        task = task.with_attempt(usage=task.attempts[-1].usage + usage)
    return snapshot.with_task(task)


def _in_conversation(
    snapshot: Snapshot, event: ev.LlmCompleted | ev.LlmFailed, heard: Callable[[Conversation], Conversation]
) -> Snapshot:
    match event.data.purpose:
        case "plan":
            return changed(snapshot, planning=heard(snapshot.planning))
        case "synthesize":
            return changed(snapshot, reconciling=heard(snapshot.reconciling))
        case "refine":
            task = task_named(snapshot, event)
            return snapshot.with_task(changed(task, refining=heard(task.refining)))
        case "work":
            task = running_task(snapshot, event)
            talk = heard(task.attempts[-1].conversation)
            return snapshot.with_task(task.with_attempt(conversation=talk, heard_at=event.at))


def _in_turn(snapshot: Snapshot, event: Event, heard: Callable[[Turn], Turn]) -> Snapshot:
    task = running_task(snapshot, event)
    talk = task.attempts[-1].conversation
    if not talk.turns:
        raise IllegalMove(f"{event.type} cannot come before the model's reply")
    talk = changed(talk, turns=(*talk.turns[:-1], heard(talk.turns[-1])))
    return snapshot.with_task(task.with_attempt(conversation=talk, heard_at=event.at))


CALL_FOLDS: dict[str, Callable[[Snapshot, Any], Snapshot]] = {
    "llm.completed": _llm_completed,
    "llm.failed": _llm_failed,
    "tool.started": _tool_started,
    "tool.completed": _tool_completed,
    "tool.failed": _tool_failed,
}
