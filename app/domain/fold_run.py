"""The part of the fold that concerns the run as a whole: who has it, its plan, its end."""

from collections.abc import Iterable
from datetime import datetime
from itertools import count

from app.domain import events as ev
from app.domain.breaker_names import model_breaker
from app.domain.conversation import Conversation
from app.domain.errors import IllegalMove
from app.domain.events import Event
from app.domain.fold_calls import fold_rejection
from app.domain.fold_files import fold_files, fold_reused
from app.domain.plan import Task
from app.domain.snapshot import Snapshot
from app.domain.states import RUN_MOVES, move
from app.domain.task_state import NextAttempt, TaskState
from app.domain.topics import Topic
from app.domain.values import changed

_BEHIND_THE_JOB = 2


def fold_start(run: Snapshot, event: Event) -> Snapshot:
    status = move(RUN_MOVES, run.status, event.type)
    return changed(run, status=status, started_at=event.at, claimed_at=event.at, claimed_seq=event.seq)


def fold_resumption(run: Snapshot, event: Event, resumed: ev.RunResumed) -> Snapshot:
    return changed(
        run,
        status=move(RUN_MOVES, run.status, event.type),
        tasks={name: _with_new_clock(run, task, event) for name, task in run.tasks.items()},
        usage=run.usage + resumed.usage,
        unsettled=run.unsettled + resumed.unsettled,
        waiting=None,
        claimed_at=event.at,
        claimed_seq=event.seq,
    )


def _with_new_clock(run: Snapshot, task: TaskState, event: Event) -> TaskState:
    """The clock of each running attempt starts anew: now, or when its next call may be sent: that wait is free."""
    for attempt in task.running:
        if attempt.child is not None:
            continue  # Its nested run has worked meanwhile.
        retry_at = run.conversation(Topic("work", task.task.id, attempt.number)).retry_at
        task = task.with_attempt(attempt.number, since=max(retry_at, event.at) if retry_at else event.at)
    return task


def fold_wait(run: Snapshot, event: Event, waiting: ev.RunWaiting) -> Snapshot:
    return changed(run, status=move(RUN_MOVES, run.status, event.type), waiting=waiting)


def fold_opening(run: Snapshot, event: Event, opened: ev.BreakerOpened) -> Snapshot:
    """From now on the clocks of the attempts that it holds stand: nothing is set on beforehand for their waits."""
    return changed(
        run,
        breakers={opened.name: event.at, **run.breakers},
        probes_due={**run.probes_due, opened.name: opened.probe_at},
        tasks={name: _set_back(run, task, event, opened.name) for name, task in run.tasks.items()},
    )


def _set_back(run: Snapshot, task: TaskState, event: Event, breaker: str) -> TaskState:
    for attempt in task.running:
        retry_at = run.conversation(Topic("work", task.task.id, attempt.number)).retry_at
        if retry_at is not None and retry_at > event.at and breaker == model_breaker(attempt.model):
            task = task.with_attempt(attempt.number, since=attempt.since - (retry_at - event.at))
    return task


def fold_closing(run: Snapshot, event: Event, closed: ev.BreakerClosed) -> Snapshot:
    """The clocks of the attempts that it held go on from where they stood; nobody waits for its model any longer."""
    tasks = {name: _set_on(run, task, event, closed.name) for name, task in run.tasks.items()}
    talks = {topic: _freed(run, topic, talk, event, closed.name) for topic, talk in run.conversations.items()}
    told = {name: at for name, at in run.breakers.items() if name != closed.name}
    due = {name: at for name, at in run.probes_due.items() if name != closed.name}
    return changed(run, breakers=told, probes_due=due, tasks=tasks, conversations=talks)


def _set_on(run: Snapshot, task: TaskState, event: Event, breaker: str) -> TaskState:
    for attempt in task.running:
        if breaker == model_breaker(attempt.model):
            since = min(run.clock_of(attempt, event.at), event.at)
            task = task.with_attempt(attempt.number, since=since)
    if task.attempts and breaker == model_breaker(task.attempts[-1].model):
        task = changed(task, next=changed(task.next, not_before=_at_most(task.next.not_before, event.at)))
    return task


def _freed(run: Snapshot, topic: Topic, talk: Conversation, event: Event, breaker: str) -> Conversation:
    if talk.retry_at is None or breaker != model_breaker(run.model_of(topic)):
        return talk
    return changed(talk, retry_at=_at_most(talk.retry_at, event.at), not_before=_at_most(talk.not_before, event.at))


def _at_most(at: datetime | None, latest: datetime) -> datetime | None:
    return None if at is None else min(at, latest)


def fold_cancel_request(run: Snapshot, event: Event, asked: ev.RunCancelRequested) -> Snapshot:
    if run.cancel_requested:
        raise IllegalMove("a run is asked to cancel only once")
    ended = frozenset(child.run for _, child in run.children if child.ended)
    receipt = receipt_of(asked, event.at)
    return changed(run, usage_at_cancel=run.usage, ended_before_cancel=ended, cancellation=receipt)


def receipt_of(asked: ev.RunCancelRequested, at: datetime) -> ev.Cancellation:
    """The receipt of a cancellation before anything has come of it."""
    return ev.Cancellation(requested_at=at, reason=asked.reason)


def fold_plan_rejection(run: Snapshot, event: Event, rejected: ev.PlanInvalid) -> Snapshot:
    sound = rejected.sound or run.sound_plan
    return changed(fold_rejection(run, event), flaws=rejected.errors, sound_plan=sound)


def fold_reuse(run: Snapshot, event: Event) -> Snapshot:
    """The brief holds what is reused, as it does all that is fixed before the run starts."""
    if event.seq != _BEHIND_THE_JOB:
        raise IllegalMove(f"{event.type} cannot be event {event.seq}: it stands behind run.queued")
    return run


def fold_plan(run: Snapshot, event: Event, plan: ev.PlanCreated) -> Snapshot:
    if run.plan is not None:
        raise IllegalMove("a run gets its first plan only once")
    to_do = () if run.brief.is_dry else plan.tasks
    tasks = {name: _begun_with(run, task, event.at) for name, task in new_tasks(to_do).items()}
    executed_at = event.at if tasks and all(task.ended for task in tasks.values()) else None
    brief = run.brief.joined_by(plan.workers)
    run = changed(run, brief=brief, assumptions=brief.reused.assumptions, executed_at=executed_at)
    run = fold_reused(run, tasks, event.seq)
    return changed(run, plan=plan.alone, quote=plan.quote, planned_at=event.at)


def new_tasks(tasks: Iterable[Task]) -> dict[str, TaskState]:
    """The states of the tasks of a plan of which nothing has begun."""
    return {task.id: _new(task, position) for position, task in enumerate(tasks)}


def _begun_with(run: Snapshot, task: TaskState, at: datetime) -> TaskState:
    """The task as the run begins with it: to be done, or done in the run that its result comes from."""
    for each in run.brief.reused.tasks:
        if each.task == task.task.id:
            following = changed(task.next, worker=each.worker)
            ended = changed(task, status=each.status, output=each.output, error=each.error, finished_at=at)
            return changed(ended, next=following)
    return task


def _new(task: Task, position: int) -> TaskState:
    return TaskState(task, NextAttempt(task.worker, task.instruction), position)


def fold_revision(run: Snapshot, revised: ev.PlanRevised) -> Snapshot:
    """Tasks that the new plan lacks are kept aside, with what was done about them."""
    if run.plan is None or revised.revision != run.plan.revision + 1:
        raise IllegalMove(f"revision {revised.revision} cannot follow {run.plan.revision if run.plan else 'no plan'}")
    gone = {name: task for name, task in run.tasks.items() if name not in revised.by_id}
    if under_way := [name for name, task in gone.items() if not task.ended]:
        raise IllegalMove(f"a new plan cannot lack tasks that have not ended: {', '.join(under_way)}")
    if again := [name for name in revised.by_id if name in run.replaced]:
        raise IllegalMove(f"a new plan cannot have tasks that were replaced: {', '.join(again)}")
    position, tasks = count(len(run.tasks) + len(run.replaced)), dict[str, TaskState]()
    for task in revised.tasks:
        known = run.tasks.get(task.id)
        tasks[task.id] = changed(known, task=task) if known else _new(task, next(position))
    executed_at = run.executed_at if all(task.ended for task in tasks.values()) else None
    replaced, brief = {**run.replaced, **gone}, run.brief.joined_by(revised.workers)
    return changed(run, brief=brief, plan=revised.alone, tasks=tasks, replaced=replaced, executed_at=executed_at)


def fold_end(run: Snapshot, event: Event, end: ev.RunSucceeded | ev.RunPartial | ev.RunFailed) -> Snapshot:
    return changed(
        fold_files(run, end.artifacts, None, event.seq),
        status=move(RUN_MOVES, run.status, event.type),
        stop_reason=end.stop_reason,
        error=end.error if isinstance(end, ev.RunFailed) else None,
        result=end.result,
        finished_at=event.at,
        waiting=None,
    )


def fold_cancellation(run: Snapshot, event: Event, receipt: ev.RunCancelled) -> Snapshot:
    status = move(RUN_MOVES, run.status, event.type)
    return changed(
        run, status=status, stop_reason="cancelled", cancellation=receipt, finished_at=event.at, waiting=None
    )
