"""The fold: how one event changes the state of a run.

`after(snapshot, event)` is the only way a run changes. The engine calls it while it executes and when it resumes, and
the trace is checked with it: whatever the log holds, there is one reading of it.
"""

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any

from app.domain import events as ev
from app.domain.conversation import Conversation
from app.domain.errors import IllegalMove
from app.domain.events import Event
from app.domain.fold_calls import CALL_FOLDS, must_run, running_task, task_named
from app.domain.hearing import heard
from app.domain.results import Problem
from app.domain.snapshot import Attempt, Brief, Snapshot, TaskState
from app.domain.states import ATTEMPT_MOVES, RUN_MOVES, TASK_MOVES, moved
from app.domain.values import changed


def fold(brief: Brief, events: Iterable[Event]) -> Snapshot:
    """The state after all `events` of a run. Raises `IllegalMove` when they cannot have happened in this order."""
    snapshot = Snapshot(brief)
    for event in events:
        snapshot = after(snapshot, event)
    return snapshot


def extended(snapshot: Snapshot, events: Iterable[Event]) -> tuple[Snapshot, list[Event]]:
    """The state after new `events`, and these numbered as they follow it. Raises `IllegalMove` when they cannot."""
    numbered: list[Event] = []
    for event in events:
        numbered.append(event.model_copy(update={"seq": snapshot.last_seq + 1}))
        snapshot = after(snapshot, numbered[-1])
    return snapshot, numbered


def after(snapshot: Snapshot, event: Event) -> Snapshot:
    """The state after one more event. Raises `IllegalMove` when it cannot follow."""
    if event.seq != snapshot.last_seq + 1:
        raise IllegalMove(f"event {event.seq} cannot follow event {snapshot.last_seq}")
    if snapshot.ended:
        raise IllegalMove(f"{event.type} cannot follow the end of the run")
    if (event.type == "run.queued") != (event.seq == 1):
        raise IllegalMove(f"{event.type} cannot be event {event.seq}: run.queued comes first, and only then")
    return changed(_FOLDS[event.type](snapshot, event), last_seq=event.seq)


def _queued(snapshot: Snapshot, event: ev.RunQueued) -> Snapshot:
    return changed(snapshot, created_at=event.at, own_plan=event.data.plan)


def _started(snapshot: Snapshot, event: ev.RunStarted) -> Snapshot:
    status = moved(RUN_MOVES, snapshot.status, event.type)
    return changed(snapshot, status=status, started_at=event.at, claimed_seq=event.seq)


def _resumed(snapshot: Snapshot, event: ev.RunResumed) -> Snapshot:
    tasks = {
        name: _with_new_clock(task, event.at) if task.status == "running" else task
        for name, task in snapshot.tasks.items()
    }
    status = moved(RUN_MOVES, snapshot.status, event.type)
    usage = snapshot.usage + event.data.usage
    return changed(snapshot, status=status, tasks=tasks, usage=usage, waiting=None, claimed_seq=event.seq)


def _with_new_clock(task: TaskState, now: datetime) -> TaskState:
    """The clock of the running attempt starts anew: now, or when its next call may be sent, since that wait is free."""
    retry_at = task.attempts[-1].conversation.retry_at
    return task.with_attempt(since=max(retry_at, now) if retry_at else now)


def _waiting(snapshot: Snapshot, event: ev.RunWaiting) -> Snapshot:
    return changed(snapshot, status=moved(RUN_MOVES, snapshot.status, event.type), waiting=event.data)


def _cancel_requested(snapshot: Snapshot, event: ev.RunCancelRequested) -> Snapshot:
    if snapshot.cancel_requested:
        raise IllegalMove("a run is asked to cancel only once")
    return changed(snapshot, cancel_requested=event, usage_at_cancel=snapshot.usage, cancellation=asked_for(event))


def asked_for(event: ev.RunCancelRequested) -> ev.Cancellation:
    """The receipt of a cancellation before anything has come of it."""
    return ev.Cancellation(requested_at=event.at, reason=event.data.reason)


def _ended(snapshot: Snapshot, event: ev.RunSucceeded | ev.RunPartial) -> Snapshot:
    status = moved(RUN_MOVES, snapshot.status, event.type)
    ended = event.data
    return changed(snapshot, status=status, stop_reason=ended.stop_reason, result=ended.result, finished_at=event.at)


def _failed(snapshot: Snapshot, event: ev.RunFailed) -> Snapshot:
    return changed(
        snapshot,
        status=moved(RUN_MOVES, snapshot.status, event.type),
        stop_reason=event.data.stop_reason,
        error=event.data.error,
        result=event.data.result,
        finished_at=event.at,
    )


def _cancelled(snapshot: Snapshot, event: ev.RunCancelled) -> Snapshot:
    status = moved(RUN_MOVES, snapshot.status, event.type)
    return changed(
        snapshot, status=status, stop_reason="cancelled", cancellation=event.data, finished_at=event.at, waiting=None
    )


def _plan_created(snapshot: Snapshot, event: ev.PlanCreated) -> Snapshot:
    must_run(snapshot, event)
    if snapshot.plan is not None:
        raise IllegalMove("a run gets its first plan only once")
    tasks = {task.id: TaskState(task) for task in event.data.tasks}
    return changed(snapshot, plan=event.data, planned_at=event.at, tasks=tasks)


def _plan_invalid(snapshot: Snapshot, event: ev.PlanInvalid) -> Snapshot:
    must_run(snapshot, event)
    return changed(snapshot, planning=heard(snapshot.planning, event), findings=event.data.errors)


def _synthesis_completed(snapshot: Snapshot, event: ev.SynthesisCompleted) -> Snapshot:
    must_run(snapshot, event)
    return changed(snapshot, synthesis=event.data)


def _synthesis_rejected(snapshot: Snapshot, event: ev.SynthesisRejected) -> Snapshot:
    must_run(snapshot, event)
    return changed(snapshot, reconciling=heard(snapshot.reconciling, event))


def _task_started(snapshot: Snapshot, event: ev.TaskStarted) -> Snapshot:
    task = task_named(snapshot, event)
    number = len(task.attempts) + 1
    if event.attempt != number:
        raise IllegalMove(f"attempt {event.attempt} of {event.task_id} cannot start as its attempt {number}")
    attempt = Attempt(
        number=number,
        worker=event.data.worker,
        model=event.data.model,
        instruction=event.data.instruction,
        started_at=event.at,
        since=event.at,
        refined_from=task.refined.refined_from if task.refined else None,
        change=task.refined.change if task.refined else "",
    )
    status = moved(TASK_MOVES, task.status, event.type)
    return snapshot.with_task(changed(task, status=status, attempts=(*task.attempts, attempt), not_before=None))


def _task_refined(snapshot: Snapshot, event: ev.TaskRefined) -> Snapshot:
    task = task_named(snapshot, event)
    status = moved(TASK_MOVES, task.status, event.type)
    task = changed(task, status=status, refined=event.data, refine_first=False, refining=Conversation())
    return snapshot.with_task(task)


def _task_rejected(snapshot: Snapshot, event: ev.TaskRejected) -> Snapshot:
    task = running_task(snapshot, event)
    return snapshot.with_task(task.with_attempt(conversation=heard(task.attempts[-1].conversation, event)))


def _task_escalated(snapshot: Snapshot, event: ev.TaskEscalated) -> Snapshot:
    return snapshot.with_task(running_task(snapshot, event).with_attempt(escalation=event.data))


def _task_retrying(snapshot: Snapshot, event: ev.TaskRetrying) -> Snapshot:
    task = _attempt_ended(running_task(snapshot, event), event, event.data.error)
    status = moved(TASK_MOVES, task.status, event.type)
    retry = event.data
    task = changed(task, status=status, not_before=retry.not_before, refine_first=retry.refine)
    return snapshot.with_task(task)


def _task_succeeded(snapshot: Snapshot, event: ev.TaskSucceeded) -> Snapshot:
    task = _attempt_ended(running_task(snapshot, event), event, None)
    return _task_over(snapshot, changed(task, output=event.data), event)


def _task_over_in_error(snapshot: Snapshot, event: ev.TaskFailed | ev.TaskSkipped | ev.TaskCancelled) -> Snapshot:
    task = task_named(snapshot, event)
    if task.status == "running":
        task = _attempt_ended(task, event, event.data.error)
    return _task_over(snapshot, changed(task, error=event.data.error), event)


def _task_over(snapshot: Snapshot, task: TaskState, event: Event) -> Snapshot:
    status = moved(TASK_MOVES, task.status, event.type)
    snapshot = snapshot.with_task(changed(task, status=status, finished_at=event.at, not_before=None))
    if all(other.ended for other in snapshot.tasks.values()):
        snapshot = changed(snapshot, executed_at=event.at)
    return snapshot


def _attempt_ended(task: TaskState, event: Event, error: Problem | None) -> TaskState:
    if event.attempt != len(task.attempts):
        raise IllegalMove(f"{event.type} names attempt {event.attempt} of {event.task_id}, which is not running")
    status = moved(ATTEMPT_MOVES, task.attempts[-1].status, event.type)
    return task.with_attempt(status=status, error=error, finished_at=event.at)


_FOLDS: dict[str, Callable[[Snapshot, Any], Snapshot]] = {
    **CALL_FOLDS,
    "run.queued": _queued,
    "run.started": _started,
    "run.resumed": _resumed,
    "run.waiting": _waiting,
    "run.cancel_requested": _cancel_requested,
    "run.succeeded": _ended,
    "run.partial": _ended,
    "run.failed": _failed,
    "run.cancelled": _cancelled,
    "plan.created": _plan_created,
    "plan.invalid": _plan_invalid,
    "task.started": _task_started,
    "task.refined": _task_refined,
    "task.rejected": _task_rejected,
    "task.escalated": _task_escalated,
    "task.retrying": _task_retrying,
    "task.succeeded": _task_succeeded,
    "task.failed": _task_over_in_error,
    "task.skipped": _task_over_in_error,
    "task.cancelled": _task_over_in_error,
    "synthesis.completed": _synthesis_completed,
    "synthesis.rejected": _synthesis_rejected,
}
