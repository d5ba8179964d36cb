"""What a failed attempt leads to: another one, or the end of the task."""

from datetime import datetime, timedelta

from app.domain import events as ev
from app.domain.events import Entry
from app.domain.failures import remedy_for
from app.domain.policy.endings import MESSAGE_CHARACTERS, deadline_of
from app.domain.results import Problem
from app.domain.retries import backoff, spread
from app.domain.snapshot import Attempt, Snapshot, TaskState
from app.domain.text import shorten
from app.domain.topics import Topic


def is_last(run: Snapshot, attempt: Attempt) -> bool:
    """Whether the task may have no further attempt."""
    return attempt.number >= run.brief.limits.attempts


def fail_attempt(run: Snapshot, task: TaskState, error: Problem, now: datetime) -> Entry:
    """The end of the running attempt at a task, and what comes of it."""
    name, number = task.task.id, task.attempt.number
    error = Problem(code=error.code, message=shorten(error.message, MESSAGE_CHARACTERS)[0])
    remedy = remedy_for(error.code)
    at = _earliest(run, task, now) if remedy == "again" else now
    if is_last(run, task.attempt) or remedy in ("none", "end") or at >= deadline_of(run):
        return Entry(ev.TaskFailed(error=error), name, number)
    retry = ev.TaskRetrying(error=error, next_attempt=number + 1, not_before=at, refine=remedy == "refine")
    return Entry(retry, name, number)


def _earliest(run: Snapshot, task: TaskState, now: datetime) -> datetime:
    """When the same may be tried again: not before the provider wants it, and at odds with other tasks."""
    name, number = task.task.id, task.attempt.number
    asked_for = run.conversation(Topic("work", name, number)).not_before
    wait: timedelta = backoff(run.brief.patience, number, spread(run.brief.run_id, name, number))
    return max(now + wait, asked_for or now)


def give_up_refining(task: TaskState, why: str) -> Entry:
    """The end of a task whose instruction the supervisor could not improve: its last failure stands."""
    last = task.attempt.error
    assert last is not None
    problem = Problem(code=last.code, message=f"{last.message} The instruction was not improved: {why}")
    return Entry(ev.TaskFailed(error=problem), task.task.id, task.attempt.number)
