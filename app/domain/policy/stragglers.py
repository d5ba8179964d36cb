"""Tasks that take much longer than the others: waited for, gone on without, or tried a second time side by side."""

from datetime import datetime, timedelta
from statistics import median

from app.domain import events as ev
from app.domain.breaker_names import model_breaker
from app.domain.policy.agenda import is_nested, timeout_s, worker_of
from app.domain.policy.breakers import stance
from app.domain.policy.commands import DecisionBuilder
from app.domain.policy.ladder import fallback_of, is_last, stronger_model
from app.domain.snapshot import Snapshot
from app.domain.task_state import Attempt, TaskState
from app.domain.timing import worked_ms
from app.domain.topics import Topic
from app.domain.worker import Worker

QUORUM = 0.75
TIMES_THE_OTHERS = 3
LEAST_PATIENCE_S = 10.0
SHARE_OF_ITS_TIME = 0.5
"""The part of its own time that a task has where none has delivered yet to be compared with."""


def drop_stragglers(run: Snapshot, now: datetime, draft: DecisionBuilder) -> None:
    """Go on without the tasks that are left, once all else is done, enough has been delivered, and all are overdue.

    What waits for one of them is not counted: it can only begin, or be skipped, when that is settled.
    """
    rules = run.brief.team.stragglers
    if rules.policy != "drop" or draft.entries:
        return
    left = [task for task in run.tasks.values() if task.is_awaited]
    if any(task.status == "waiting" for task in left):
        return  # People have the time that their question gives them.
    slow = [task for task in left if not _is_blocked(run, task)]
    able = len(run.tasks) - len(left) + len(slow)
    enough = run.delivered and not run.lacks_candidate and len(run.delivered) >= (rules.quorum or QUORUM) * able
    if not slow or not enough or not all(task.attempts for task in slow):
        return
    patience = {task.task.id: patience_s(run, task) for task in slow}
    if any(_is_held(run, task, now) for task in slow):
        return  # The provider's time is nobody's.
    due = max(_since(run, task, now) + timedelta(seconds=patience[task.task.id]) for task in slow)
    if now < due:
        draft.wakes.append(due)
        return
    for name, seconds in patience.items():
        draft.settle(ev.TaskDropped(after_s=seconds), name)


def _is_blocked(run: Snapshot, task: TaskState) -> bool:
    return not task.attempts and any(run.tasks[name].is_awaited for name in task.task.depends_on)


def hedge(run: Snapshot, task: TaskState, draft: DecisionBuilder) -> bool:
    """Begin another attempt beside the one that runs, if that is a straggler; whether one is begun.

    Each attempt gets one beside it at most. None is begun while the provider is waited for, which is nobody's fault,
    nor for a task with tokens of its own, since two calls at a time could spend them twice.
    """
    attempt, now = task.attempt, draft.now
    if run.brief.team.stragglers.policy != "hedge" or not _may_be_hedged(run, task, attempt, now):
        return False
    due = run.clock_of(attempt, now) + timedelta(seconds=patience_s(run, task))
    if now < due:
        draft.wakes.append(due)
        return False
    worker, wanted = _second_for(run, task, attempt)
    model = run.brief.models.get(wanted, wanted)
    if (brake := draft.conditions.brakes.get(model, now)) > now:
        draft.wakes.append(brake)
        return False
    if stance(draft.conditions.breakers.get(model_breaker(model)), now) != "pass":
        return False
    begun = ev.TaskStarted(
        worker=worker.name, model=model, instruction=attempt.instruction, tools=worker.tools, beside=attempt.number
    )
    draft.settle(begun, task.task.id, len(task.attempts) + 1)
    return True


def _may_be_hedged(run: Snapshot, task: TaskState, attempt: Attempt, now: datetime) -> bool:
    waits = run.conversation(Topic("work", task.task.id, attempt.number)).waits(now)
    has_one = any(other.beside == attempt.number for other in task.attempts)
    is_alone = task.running == (attempt,) and attempt.escalation is None and not is_nested(run, attempt)
    limited = is_last(run, task) or task.task.budget.tokens is not None
    return is_alone and not (waits or has_one or limited)


def _second_for(run: Snapshot, task: TaskState, attempt: Attempt) -> tuple[Worker, str]:
    """Who tries beside an attempt: the worker's fallback, else the worker itself, on a stronger model if it can."""
    fallback = run.brief.team.worker(fallback_of(run, task) or "")
    if fallback is not None and fallback.team is None:
        return fallback, fallback.model
    return worker_of(run, attempt), stronger_model(run, task) or attempt.model


def patience_s(run: Snapshot, task: TaskState) -> float:
    """Seconds after which a task with an attempt is a straggler: as the team says, or by what the others took."""
    if (said := run.brief.team.stragglers.after_s) is not None:
        return said
    allowed = timeout_s(run, Topic("work", task.task.id, task.attempt.number))
    took = [_took_s(other) for other in run.delivered if other.attempts]
    return max(TIMES_THE_OTHERS * median(took), LEAST_PATIENCE_S) if took else SHARE_OF_ITS_TIME * allowed


def _took_s(task: TaskState) -> float:
    assert task.finished_at is not None
    return worked_ms(task, task.finished_at) / 1000


def _since(run: Snapshot, task: TaskState, now: datetime) -> datetime:
    """Since when a task has been under way: anew after what a person was asked about it."""
    asked = [question.asked_at for question in run.questions.values() if question.task_id == task.task.id]
    return min((each.started_at for each in task.attempts if not asked or each.started_at > max(asked)), default=now)


def _is_held(run: Snapshot, task: TaskState, now: datetime) -> bool:
    """Whether an attempt of it waits for its provider."""
    return any(
        model_breaker(attempt.model) in run.breakers
        or run.conversation(Topic("work", task.task.id, attempt.number)).waits(now)
        for attempt in task.running
    )
