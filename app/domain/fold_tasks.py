"""The part of the fold that concerns tasks: attempts begin and end, and what the next one will be."""

from app.domain import events as ev
from app.domain.errors import IllegalMove
from app.domain.events import Event
from app.domain.fold_files import fold_output
from app.domain.results import Problem
from app.domain.snapshot import Snapshot
from app.domain.states import ATTEMPT_MOVES, TASK_MOVES, move
from app.domain.task_state import Attempt, NextAttempt, TaskState
from app.domain.team import Rung
from app.domain.topics import Topic
from app.domain.values import changed


def task_named(run: Snapshot, event: Event) -> TaskState:
    """The task of an event. Raises `IllegalMove` when the plan has none of that name."""
    try:
        return run.tasks[event.task_id or ""]
    except KeyError:
        raise IllegalMove(f"{event.type} names the task {event.task_id!r}, which the plan lacks") from None


def running_task(run: Snapshot, event: Event) -> TaskState:
    """The task of an event of a running attempt. Raises `IllegalMove` when that attempt is not running."""
    task = task_named(run, event)
    if event.attempt not in [attempt.number for attempt in task.running]:
        raise IllegalMove(f"{event.type} names attempt {event.attempt} of {event.task_id}, which is not running")
    return task


def fold_start(run: Snapshot, event: Event, started: ev.TaskStarted) -> Snapshot:
    task = task_named(run, event)
    if run.approval is not None and run.approval.status != "approved":
        raise IllegalMove(f"{event.task_id} cannot start before the plan has been approved")
    number = len(task.attempts) + 1
    if event.attempt != number:
        raise IllegalMove(f"attempt {event.attempt} of {event.task_id} cannot start as its attempt {number}")
    if [attempt.number for attempt in task.running] != ([] if started.beside is None else [started.beside]):
        raise IllegalMove(f"attempt {number} of {event.task_id} can only start alone, or beside the one that runs")
    attempt = Attempt(
        number=number,
        worker=started.worker,
        model=started.model,
        instruction=started.instruction,
        started_at=event.at,
        since=event.at,
        refined_from=task.next.refined_from,
        change=task.next.change,
        beside=started.beside,
    )
    following = changed(task.next, not_before=None)
    if not task.attempts and started.worker in run.brief.team.peers_of(task.next.worker):
        following = changed(following, worker=started.worker)  # Who begins in place of its like goes on in its place.
    return run.with_task(
        changed(
            task,
            status=move(TASK_MOVES, task.status, event.type),
            attempts=(*task.attempts, attempt),
            next=following,
        )
    )


def fold_refinement(run: Snapshot, event: Event, refined: ev.TaskRefined) -> Snapshot:
    task = task_named(run, event)
    following = changed(
        task.next,
        instruction=refined.instruction,
        refined_from=refined.refined_from,
        change=refined.change,
        first=None,
    )
    return run.with_task(changed(task, status=move(TASK_MOVES, task.status, event.type), next=following))


def fold_escalation(run: Snapshot, event: Event, escalation: ev.TaskEscalated) -> Snapshot:
    task = running_task(run, event).with_attempt(event.attempt or 0, escalation=escalation)
    return run.with_task(changed(task, status=move(TASK_MOVES, task.status, event.type)))


def fold_retry(run: Snapshot, event: Event, retry: ev.TaskRetrying) -> Snapshot:
    following = task_named(run, event).next
    first = Topic("refine", event.task_id, retry.next_attempt) if retry.refine else None
    rung: Rung | None = "stronger_model" if retry.model is not None else "refine" if retry.refine else None
    climbed = (*following.climbed, rung) if rung is not None else following.climbed
    model = retry.model or following.model
    return _fold_again(run, event, retry, changed(following, first=first, model=model, climbed=climbed))


def fold_reassignment(run: Snapshot, event: Event, again: ev.TaskReassigned) -> Snapshot:
    following = task_named(run, event).next
    # Whom the supervisor has chosen begins at the foot of the ladder.
    climbed: tuple[Rung, ...] = () if again.decision is not None else (*following.climbed, "fallback_worker")
    return _fold_again(
        run, event, again, changed(following, first=None, model=None, worker=again.worker, climbed=climbed)
    )


def _fold_again(
    run: Snapshot, event: Event, again: ev.TaskRetrying | ev.TaskReassigned, following: NextAttempt
) -> Snapshot:
    task = with_attempt_ended(running_task(run, event), event, again.error, again.decision)
    following = changed(following, not_before=again.not_before)
    if again.instruction is not None:
        following = changed(following, instruction=again.instruction, refined_from=event.attempt)
    if again.change:
        following = changed(following, change=again.change)
    return run.with_task(changed(task, status=move(TASK_MOVES, task.status, event.type), next=following))


def fold_success(run: Snapshot, event: Event, output: ev.TaskSucceeded) -> Snapshot:
    task = with_attempt_ended(running_task(run, event), event, None, "accept_partial" if output.partial else None)
    run, filed = fold_output(run, output, task.task.id, event.seq)
    return _with_task_ended(run, changed(task, output=filed), event)


def fold_attempt_end(run: Snapshot, event: Event, error: Problem | None) -> Snapshot:
    """The end of an attempt that is not the end of its task."""
    return run.with_task(with_attempt_ended(running_task(run, event), event, error))


def fold_end(run: Snapshot, event: Event, error: Problem | None, decision: str | None = None) -> Snapshot:
    task = task_named(run, event)
    if task.status == "running":
        task = with_attempt_ended(running_task(run, event), event, error, decision)
    return _with_task_ended(run, changed(task, error=error), event)


def fold_split(run: Snapshot, event: Event, split: ev.TaskSplit) -> Snapshot:
    task = with_attempt_ended(running_task(run, event), event, split.error, split.decision)
    return _with_task_ended(run, changed(task, error=split.error, split_into=split.into), event)


def _with_task_ended(run: Snapshot, task: TaskState, event: Event) -> Snapshot:
    following = changed(task.next, not_before=None)
    status = move(TASK_MOVES, task.status, event.type)
    run = run.with_task(changed(task, status=status, finished_at=event.at, next=following, question=None))
    if all(other.ended for other in run.tasks.values()):
        run = changed(run, executed_at=event.at)
    return run


def with_attempt_ended(task: TaskState, event: Event, error: Problem | None, decision: str | None = None) -> TaskState:
    """The task with a running attempt ended as `event` says."""
    attempt = task.tried(event.attempt or 0)
    status = move(ATTEMPT_MOVES, attempt.status, event.type)
    escalation = attempt.escalation
    if escalation is not None and decision is not None:
        escalation = escalation.model_copy(update={"decision": decision})
    return task.with_attempt(attempt.number, status=status, error=error, escalation=escalation, finished_at=event.at)
