"""The part of the fold that model and tool calls make: conversations grow, usage adds up."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from app.domain import events as ev
from app.domain.errors import IllegalMove
from app.domain.events import Event
from app.domain.hearing import heard
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
    reply = event.data
    wait = timedelta(milliseconds=reply.waited_ms + reply.silent_ms)
    snapshot = _clock_set_on(_with_terms(snapshot, reply), event, wait)
    return _in_conversation(_spent(snapshot, event, reply.usage), event)


def _llm_failed(snapshot: Snapshot, event: ev.LlmFailed) -> Snapshot:
    failure = event.data
    snapshot = _with_terms(snapshot, failure)
    if failure.retry_at is not None:
        # A call that is sent again was the provider's affair, and so is the wait until then.
        took = timedelta(milliseconds=failure.duration_ms)
        snapshot = _clock_set_on(snapshot, event, took + (failure.retry_at - event.at))
    snapshot = _in_conversation(_spent(snapshot, event, failure.usage), event)
    return changed(snapshot, fatal=failure.error) if failure.error.code in FATAL_CODES else snapshot


def _with_terms(snapshot: Snapshot, call: ev.ModelCall) -> Snapshot:
    if call.terms is None or call.terms_id is None:
        return snapshot
    return changed(snapshot, terms_told=snapshot.terms_told | {call.terms_id})


def _clock_set_on(snapshot: Snapshot, event: ev.LlmCompleted | ev.LlmFailed, wait: timedelta) -> Snapshot:
    """The attempt's clock set on by a wait for the provider, which is not the worker's time."""
    if event.data.purpose != "work" or not wait:
        return snapshot
    task = running_task(snapshot, event)
    return snapshot.with_task(task.with_attempt(since=task.attempts[-1].since + wait))


def _tool_started(snapshot: Snapshot, event: ev.ToolStarted) -> Snapshot:
    return _in_attempt(snapshot, event)


def _tool_ended(snapshot: Snapshot, event: ev.ToolCompleted | ev.ToolFailed) -> Snapshot:
    snapshot = _spent(snapshot, event, Usage(tool_calls=1))
    return snapshot if event.data.provider else _in_attempt(snapshot, event)


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


def _in_conversation(snapshot: Snapshot, event: ev.LlmCompleted | ev.LlmFailed) -> Snapshot:
    match event.data.purpose:
        case "plan":
            return changed(snapshot, planning=heard(snapshot.planning, event))
        case "synthesize":
            return changed(snapshot, reconciling=heard(snapshot.reconciling, event))
        case "refine":
            task = task_named(snapshot, event)
            return snapshot.with_task(changed(task, refining=heard(task.refining, event)))
        case "work":
            return _in_attempt(snapshot, event)


def _in_attempt(snapshot: Snapshot, event: Event) -> Snapshot:
    task = running_task(snapshot, event)
    talk = heard(task.attempts[-1].conversation, event)
    return snapshot.with_task(task.with_attempt(conversation=talk, heard_at=event.at))


CALL_FOLDS: dict[str, Callable[[Snapshot, Any], Snapshot]] = {
    "llm.completed": _llm_completed,
    "llm.failed": _llm_failed,
    "tool.started": _tool_started,
    "tool.completed": _tool_ended,
    "tool.failed": _tool_ended,
}
