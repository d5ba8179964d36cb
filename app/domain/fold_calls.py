"""The part of the fold that model and tool calls make: conversations grow, usage adds up, clocks are set on."""

from collections.abc import Mapping
from datetime import timedelta

from app.domain import events as ev
from app.domain.breaker_names import model_breaker
from app.domain.conversation import Conversation
from app.domain.events import Event
from app.domain.failures import remedy_for
from app.domain.fold_conversation import conversation_after
from app.domain.fold_tasks import running_task, task_named
from app.domain.snapshot import Snapshot
from app.domain.task_state import Attempt, TaskState
from app.domain.topics import Topic, topic_of
from app.domain.usage import Usage
from app.domain.values import changed

_ONE_TOOL_CALL = Usage(tool_calls=1)


def fold_reply(run: Snapshot, event: Event, reply: ev.LlmCompleted) -> Snapshot:
    wait = timedelta(milliseconds=reply.waited_ms + reply.silent_ms + reply.room_ms)
    return _fold_call(run, event, reply, wait)


def fold_failed_call(run: Snapshot, event: Event, failure: ev.LlmFailed) -> Snapshot:
    wait = timedelta()
    if failure.retry_at is not None:
        # A call that is sent again was the provider's affair, and so is the wait until then.
        wait = timedelta(milliseconds=failure.duration_ms + failure.room_ms) + (failure.retry_at - event.at)
    run = _fold_call(run, event, failure, wait)
    return changed(run, fatal=failure.error) if remedy_for(failure.error.code) == "end" else run


def fold_tool_start(run: Snapshot, event: Event) -> Snapshot:
    return _hear(run, event)


def fold_tool_end(run: Snapshot, event: Event, end: ev.ToolCompleted | ev.ToolFailed) -> Snapshot:
    run = changed(run, usage=run.usage + _ONE_TOOL_CALL)
    if event.task_id is not None:
        run = run.with_task(_charge(task_named(run, event), event, _ONE_TOOL_CALL))
    return run if end.provider else _hear(run, event)


def fold_rejection(run: Snapshot, event: Event) -> Snapshot:
    if event.task_id is not None:
        running_task(run, event)
    return changed(run, conversations=_conversations_after(run, event))


def _fold_call(run: Snapshot, event: Event, call: ev.ModelCall, wait: timedelta) -> Snapshot:
    """A call of any purpose. What was spent on it counts for the run, and for the task and the attempt it is about.

    `wait` is what the provider took of an attempt's time: its clock is set on by it.
    """
    told = call.terms_id if call.terms is not None else None
    return changed(
        run,
        usage=run.usage + call.usage,
        conversations=_conversations_after(run, event),
        terms_told=run.terms_told | {told} if told else run.terms_told,
        tasks=_tasks_after(run, event, call, wait),
    )


def _tasks_after(run: Snapshot, event: Event, call: ev.ModelCall, wait: timedelta) -> Mapping[str, TaskState]:
    if event.task_id is None:
        return run.tasks
    task = running_task(run, event) if call.purpose == "work" else task_named(run, event)
    if call.purpose == "work":
        attempt = task.tried(event.attempt or 0)
        since = attempt.since + _without_hold(run, event, attempt, call, wait)
        task = task.with_attempt(attempt.number, heard_at=event.at, since=since)
    return {**run.tasks, task.task.id: _charge(task, event, call.usage)}


def _without_hold(run: Snapshot, event: Event, attempt: Attempt, call: ev.ModelCall, wait: timedelta) -> timedelta:
    """What a call adds to the clock of its attempt: that stands anyway from when the model's breaker was told of."""
    held_at = run.breakers.get(model_breaker(attempt.model))
    if held_at is None:
        return wait
    began_at = event.at - timedelta(milliseconds=call.duration_ms + call.room_ms)
    return min(wait, max(held_at - began_at, timedelta()))


def _hear(run: Snapshot, event: Event) -> Snapshot:
    task = running_task(run, event).with_attempt(event.attempt or 0, heard_at=event.at)
    return changed(run.with_task(task), conversations=_conversations_after(run, event))


def _conversations_after(run: Snapshot, event: Event) -> dict[Topic, Conversation]:
    topic = topic_of(event)
    return {**run.conversations, topic: conversation_after(run.conversation(topic), event.data, event.seq)}


def _charge(task: TaskState, event: Event, usage: Usage) -> TaskState:
    """The task with `usage` on its account, and on that of its attempt if the event is about that."""
    task = changed(task, usage=task.usage + usage)
    if event.attempt is not None and event.attempt <= len(task.attempts):
        task = task.with_attempt(event.attempt, usage=task.tried(event.attempt).usage + usage)
    return task
