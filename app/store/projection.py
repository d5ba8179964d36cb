"""The read models as rows: what the fold says about a run, in the columns of its tables."""

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from app.domain.events import Event
from app.domain.snapshot import Attempt, Snapshot, TaskState
from app.domain.timing import timing_of

Row = dict[str, Any]

TASK_STATES = ("pending", "running", "waiting", "succeeded", "failed", "skipped", "cancelled")


def run_row(run: Snapshot, now: datetime) -> Row:
    """The columns of `runs` that change as a run goes on."""
    return {
        "id": run.brief.run_id,
        "status": run.status,
        "phase": run.phase,
        "stop_reason": run.stop_reason,
        "waiting_for": run.waiting.reason if run.waiting else None,
        "wake_at": _iso(run.waiting.until) if run.waiting else None,
        "plan_revision": run.plan.revision if run.plan else None,
        "progress": progress_of(run),
        "usage": run.usage.model_dump(mode="json"),
        "timing": timing_of(run, now).model_dump(mode="json"),
        "result": run.result.model_dump(mode="json") if run.result else None,
        "error": run.error.model_dump(mode="json") if run.error else None,
        "cancellation": run.cancellation.model_dump(mode="json") if run.cancellation else None,
        "last_seq": run.last_seq,
        "started_at": _iso(run.started_at),
        "finished_at": _iso(run.finished_at),
    }


def progress_of(run: Snapshot) -> Row:
    """How many tasks are in each state."""
    counts: Counter[str] = Counter(task.status for task in run.tasks.values())
    states: Row = {state: counts.get(state, 0) for state in TASK_STATES}
    return {"tasks": {"total": len(run.tasks), **states}, "round": 1}


def plan_row(run: Snapshot, event: Event) -> Row:
    """The row of the plan that `event` made."""
    assert run.plan is not None
    plan = run.plan.model_dump(mode="json")
    return {"run_id": run.brief.run_id, "revision": run.plan.revision, "plan": plan, "created_at": _iso(event.at)}


def task_row(run: Snapshot, task: TaskState, position: int) -> Row:
    """The row of a task."""
    return {
        "run_id": run.brief.run_id,
        "task_id": task.task.id,
        "position": position,
        "status": task.status,
        "error": task.error.model_dump(mode="json") if task.error else None,
        "output": task.output.model_dump(mode="json") if task.output else None,
        "usage": task.usage.model_dump(mode="json"),
        "finished_at": _iso(task.finished_at),
    }


def attempt_row(run: Snapshot, task: TaskState, attempt: Attempt) -> Row:
    """The row of an attempt."""
    return {
        "run_id": run.brief.run_id,
        "task_id": task.task.id,
        "number": attempt.number,
        "worker": attempt.worker,
        "model": attempt.model,
        "status": attempt.status,
        "detail": attempt_detail(attempt),
        "started_at": _iso(attempt.started_at),
        "finished_at": _iso(attempt.finished_at),
    }


def attempt_detail(attempt: Attempt) -> Row:
    """What is known of an attempt beside its columns."""
    return {
        "instruction": attempt.instruction,
        "refined_from": attempt.refined_from,
        "change": attempt.change,
        "error": attempt.error.model_dump(mode="json") if attempt.error else None,
        "escalation": attempt.escalation.model_dump(mode="json") if attempt.escalation else None,
        "steps": attempt.conversation.steps,
        "tool_calls": attempt.usage.tool_calls,
        "usage": attempt.usage.model_dump(mode="json"),
    }


def changed_rows(run: Snapshot, events: Sequence[Event]) -> tuple[list[Row], list[Row], list[Row]]:
    """Rows of plans, tasks and attempts that `events`, the newest of the run, have made or changed.

    Calls inside an attempt change only its usage; the row follows when the attempt ends.
    """
    plans = [plan_row(run, event) for event in events if event.type == "plan.created"]
    touched = {event.task_id for event in events if event.task_id and event.type.startswith("task.")}
    tasks: list[Row] = []
    attempts: list[Row] = []
    for position, task in enumerate(run.tasks.values()):
        if plans or task.task.id in touched:
            tasks.append(task_row(run, task, position))
    numbers = {(event.task_id, event.attempt) for event in events if event.type.startswith("task.") and event.attempt}
    for task in run.tasks.values():
        attempts.extend(
            attempt_row(run, task, attempt) for attempt in task.attempts if (task.task.id, attempt.number) in numbers
        )
    return plans, tasks, attempts


def event_row(event: Event) -> Row:
    """The row of an event."""
    return event.model_dump(mode="json")


def _iso(at: datetime | None) -> str | None:
    return at.isoformat() if at else None
