"""The read models as rows: what the fold says about a run, in the columns of its tables.

Values stay as the domain has them; `as_json` writes many rows at once.
"""

from base64 import b64encode
from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from typing import Any, get_args

from pydantic_core import to_json, to_jsonable_python

from app.domain.artifacts import Filed, listed
from app.domain.credentials import without_credentials
from app.domain.events import Event, PlanCreated, PlanEdited, PlanRevised
from app.domain.plan import Plan
from app.domain.snapshot import Snapshot
from app.domain.states import TaskStatus
from app.domain.task_state import Attempt, TaskState
from app.domain.timing import timing_of
from app.domain.topics import Topic

Row = dict[str, Any]


def as_json(value: Any) -> str:
    """Rows, events and what they hold as JSON text, in which nothing looks like a credential any more."""
    return without_credentials(to_json(value).decode())


def plain(row: Row) -> Row:
    """A row as it is read back: what its columns hold as JSON in plain values."""
    return {name: value if isinstance(value, datetime) else to_jsonable_python(value) for name, value in row.items()}


TASK_STATES = get_args(TaskStatus)
INSIDE_AN_ATTEMPT = ("task.rejected", "task.escalated", "task.dropped", "child.started")
"""Events of a task that leave its row as it is."""


def event_row(event: Event) -> Row:
    """The row of an event."""
    return {
        "run_id": event.run_id,
        "seq": event.seq,
        "type": event.type,
        "at": event.at,
        "task_id": event.task_id,
        "attempt": event.attempt,
        "data": event.data,
    }


def run_row(run: Snapshot, now: datetime) -> Row:
    """The columns of `runs` that change as a run goes on."""
    return {
        "id": run.brief.run_id,
        "status": run.status,
        "phase": run.phase,
        "stop_reason": run.stop_reason,
        "waiting_for": run.waiting.reason if run.waiting else None,
        "wake_at": run.waiting.until if run.waiting else None,
        "plan_revision": run.plan.revision if run.plan else None,
        "quote": run.quote,
        "progress": progress_of(run),
        "usage": run.usage,
        "timing": timing_of(run, now),
        "result": run.result,
        "error": run.error,
        "cancellation": run.cancellation,
        "last_seq": run.last_seq,
        "started_at": run.started_at,
        "finished_at": run.finished_at,
    }


def progress_of(run: Snapshot) -> Row:
    """How many tasks are in each state."""
    counts: Counter[str] = Counter(task.status for task in run.tasks.values())
    states: Row = {state: counts.get(state, 0) for state in TASK_STATES}
    return {"tasks": {"total": len(run.tasks), **states}, "round": run.answering.round}


def plan_row(event: Event, plan: Plan) -> Row:
    """The row of the plan that `event` made; what it is to cost stands with the run."""
    return {"run_id": event.run_id, "revision": plan.revision, "plan": plan.alone, "created_at": event.at}


def task_row(run: Snapshot, task: TaskState) -> Row:
    """The row of a task."""
    return {
        "run_id": run.brief.run_id,
        "task_id": task.task.id,
        "position": task.position,
        "status": task.status,
        "error": task.error,
        "output": _told(run, task),
        "usage": task.usage,
        "finished_at": task.finished_at,
    }


def _told(run: Snapshot, task: TaskState) -> Any:
    """What a task delivered: of files their names and sizes, since their contents have a table of their own."""
    if task.output is None or not task.output.artifacts:
        return task.output
    told = task.output.model_dump(mode="json", exclude={"artifacts"})
    return told | {"artifacts": [listed(each, run.brief.run_id, task.task.id) for each in task.output.artifacts]}


def file_row(run: Snapshot, filed: Filed, position: int) -> Row:
    """The row of a file, but for its content."""
    return {
        "run_id": run.brief.run_id,
        "name": filed.artifact.name,
        "position": position,
        "media_type": filed.artifact.media_type,
        "task_id": filed.task,
        "is_text": filed.artifact.text is not None,
        "bytes": filed.artifact.size,
    }


def new_files(run: Snapshot, events: Sequence[Event]) -> list[Row]:
    """Rows of the files that `events`, the newest of the run, have brought; their content as base64."""
    if not run.files or not events:
        return []
    return [
        file_row(run, filed, position) | {"content": b64encode(filed.artifact.content).decode()}
        for position, filed in enumerate(run.files)
        if filed.seq >= events[0].seq
    ]


def attempt_row(run: Snapshot, task: TaskState, attempt: Attempt) -> Row:
    """The row of an attempt."""
    return {
        "run_id": run.brief.run_id,
        "task_id": task.task.id,
        "number": attempt.number,
        "worker": attempt.worker,
        "model": attempt.model,
        "status": attempt.status,
        "detail": attempt_detail(run, task, attempt),
        "started_at": attempt.started_at,
        "finished_at": attempt.finished_at,
    }


def attempt_detail(run: Snapshot, task: TaskState, attempt: Attempt) -> Row:
    """What is known of an attempt beside its columns."""
    return {
        "instruction": attempt.instruction,
        "refined_from": attempt.refined_from,
        "change": attempt.change,
        "beside": attempt.beside,
        "error": attempt.error,
        "escalation": attempt.escalation,
        "steps": run.conversation(Topic("work", task.task.id, attempt.number)).steps,
        "tool_calls": attempt.usage.tool_calls,
        "usage": attempt.usage,
        "child": attempt.child.run if attempt.child else None,
    }


def changed_rows(run: Snapshot, events: Sequence[Event]) -> tuple[list[Row], list[Row], list[Row]]:
    """Rows of plans, tasks and attempts that `events`, the newest of the run, have made or changed.

    An attempt has its row once it has ended. What happens inside one that runs changes only that attempt and what has
    been spent, and it happens often: until its end readers look at the log (`store/runs.py`).
    """
    plans, new = plans_of(events)
    touched = {
        (event.task_id, event.attempt)
        for event in events
        if event.type.startswith(("task.", "attempt.", "question.", "child.")) and event.type not in INSIDE_AN_ATTEMPT
    }
    names = {name for name, _ in touched}
    tasks: list[Row] = []
    attempts: list[Row] = []
    for task in run.every_task:
        name = task.task.id
        if name in new or name in names:
            tasks.append(task_row(run, task) | {"is_new": name in new})
            ended = (tried for tried in task.attempts if (name, tried.number) in touched and tried.finished_at)
            attempts += [attempt_row(run, task, tried) for tried in ended]
    return plans, tasks, attempts


def plans_of(events: Sequence[Event]) -> tuple[list[Row], set[str]]:
    """Rows of the plans that `events` made, and the tasks that are new with them."""
    plans: list[Row] = []
    new: set[str] = set()
    for event in events:
        match event.data:
            case PlanCreated() | PlanEdited() as plan:
                plans.append(plan_row(event, plan))
                new.update(plan.by_id)
            case PlanRevised() as plan:
                plans.append(plan_row(event, plan))
                new.update(plan.added)
    return plans, new
