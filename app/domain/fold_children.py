"""The part of the fold that concerns nested runs: what their parent hears of them."""

from app.domain import events as ev
from app.domain.errors import IllegalMove
from app.domain.events import Event
from app.domain.fold_tasks import running_task
from app.domain.nested import Allowance, Child
from app.domain.snapshot import Snapshot
from app.domain.task_state import TaskState
from app.domain.values import changed


def fold_begin(run: Snapshot, event: Event, started: ev.ChildStarted) -> Snapshot:
    """The attempt has its run; where that has ended before this was told, that stands."""
    task, number = running_task(run, event), event.attempt or 0
    child = task.tried(number).child
    if child is not None:
        raise IllegalMove(f"attempt {number} of {event.task_id} has a nested run already")
    return run.with_task(task.with_attempt(number, child=Child(started.run, started.allowance)))


def fold_end(run: Snapshot, event: Event, ended: ev.ChildEnded) -> Snapshot:
    """Its attempt may have ended before; what the nested run has spent counts all the same."""
    task, number = _task_with_child(run, event), event.attempt or 0
    attempt = task.tried(number)
    child = attempt.child or Child(ended.run, Allowance())
    if child.ended or child.run != ended.run:
        raise IllegalMove(f"{ended.run} cannot end as the nested run of attempt {number} of {event.task_id}")
    child = changed(child, status=ended.status, error=ended.error)
    task = task.with_attempt(number, child=child, usage=attempt.usage + ended.usage)
    task = changed(task, usage=task.usage + ended.usage)
    run = changed(run, usage=run.usage + ended.usage, unsettled=run.unsettled + ended.unsettled)
    if task.task.id in run.replaced:
        return changed(run, replaced={**run.replaced, task.task.id: task})
    return run.with_task(task)


def _task_with_child(run: Snapshot, event: Event) -> TaskState:
    name = event.task_id or ""
    task = run.tasks.get(name) or run.replaced.get(name)
    if task is None or not 1 <= (event.attempt or 0) <= len(task.attempts):
        raise IllegalMove(f"{event.type} names attempt {event.attempt} of {event.task_id!r}, which the run lacks")
    return task
