"""Events as lines, where nothing can be drawn: one for each that says something new, and the commands that it asks for.
Pure."""

from datetime import datetime
from typing import Any

from app.client import Event
from app.terminal.progress import WAITS, Progress
from app.terminal.screen import totals
from app.terminal.text import cut, one_line
from app.terminal.words import money

SAID_CHARACTERS = 200
"""Characters of a line that others have written."""


def lines_of(event: Event, run: Progress) -> list[str]:
    """What an event says, of a run that has taken it in; nothing for one that is no news to people.

    What people are asked stands whole, with each command that decides on a line of its own.
    """
    told = _of_task(event, run) if event["task_id"] else _of_run(event, run)
    if told is None:
        return []
    at = datetime.fromisoformat(event["at"])
    passed = (at - run.started_at).total_seconds() if run.started_at else 0.0
    line = f"{max(passed, 0):8.1f}s  {one_line(told)}"
    commands = _commands(event, run)
    return [line if commands else cut(line, SAID_CHARACTERS), *(f"{'':11}{one_line(each)}" for each in commands)]


def _commands(event: Event, run: Progress) -> list[str]:
    """By what people decide."""
    match event["type"]:
        case "plan.approval_requested":
            return [f"chargehand {each} {run.run_id}" for each in ("plan", "approve", "edit", "reject")]
        case "question.asked":
            return [f"chargehand answer {run.run_id} {event['data']['id']}"]
    return []


def _of_run(event: Event, run: Progress) -> str | None:
    data = event["data"]
    match event["type"]:
        case "run.queued":
            return f"{run.run_id} queued for {run.team}: {run.objective}"
        case "run.started":
            return "started"
        case "run.resumed":
            return "goes on"
        case "run.waiting":
            return f"{WAITS.get(data['reason'], data['reason'])}{_until(data.get('until'))}"
        case "run.cancel_requested":
            return "to be cancelled"
        case "run.succeeded" | "run.partial" | "run.failed" | "run.cancelled" as type_:
            return f"{type_.removeprefix('run.')}{_ending(data)} ({totals(run, datetime.fromisoformat(event['at']))})"
        case _:
            return _of_answer(event, run)


def _of_answer(event: Event, run: Progress) -> str | None:
    data = event["data"]
    match event["type"]:
        case "plan.created":
            return f"plan of {len(data['tasks'])} tasks: {', '.join(task['id'] for task in data['tasks'])}"
        case "plan.revised" | "plan.edited" as type_:
            what = f"revision {data['revision']}, {len(data['tasks'])} tasks"
            return f"{type_.replace('.', ' ')}, {what}: {data['reason']}"
        case "plan.invalid":
            return f"plan sent back: {_flaws(data)}"
        case "plan.approval_requested":
            return f"the plan waits for approval{_until(data['expires_at'])}, else {data['default']}:"
        case "plan.approved" | "plan.rejected" as type_:
            return f"{type_.replace('.', ' ')} by {data['by']}"
        case "question.asked":
            return _question(data)
        case "question.answered":
            return f"{data['id']} answered: {data['answer']}"
        case "question.expired":
            return f"{data['id']} got no answer in time"
        case "synthesis.completed":
            return "answer written"
        case "synthesis.rejected":
            return f"answer sent back: {_flaws(data)}"
        case "review.completed":
            return f"review: {data['verdict']}"
        case "conflict.found":
            return f"conflict: {data['topic']}"
        case "gap.found":
            return f"gap: {data['task']}, {data['reason']}"
        case "llm.failed":
            return f"call to {data['model']} failed, {data['error']['code']}{_again(data)}"
        case "budget.exhausted":
            return f"budget exhausted: {data['limit']}"
        case "breaker.opened" | "breaker.closed" as type_:
            return f"{type_.replace('.', ' ')}: {data['name']}"
    return None


def _of_task(event: Event, run: Progress) -> str | None:
    task, data = run.tasks.get(event["task_id"] or ""), event["data"]
    if task is None:
        return None
    match event["type"]:
        case "task.started":
            begun = "started" if task.attempt == 1 else f"attempt {task.attempt}"
            return f"{task.id} {begun}, {task.worker}: {task.title}"
        case "task.succeeded":
            return f"{task.id} succeeded, {money(str(task.cost_usd))}: {data['summary']}"
        case "question.asked":
            return f"{task.id} {_question(data)}"
        case "llm.failed":
            return f"{task.id} call to {data['model']} failed, {data['error']['code']}{_again(data)}"
        case "tool.completed" | "llm.completed":
            return None
        case "tool.started" | "child.started":
            return f"{task.id} {task.doing}"
        case "child.ended":
            return f"{task.id} {data['run']} {data['status']}"
        case "task.failed" | "task.skipped" | "task.cancelled":
            return f"{task.id} {task.status}" + (f": {task.note}" if task.note else "")
        case type_ if type_.startswith(("task.", "tool.", "question.")):
            return f"{task.id} {task.note}" if task.note else None
    return None


def _ending(data: dict[str, Any]) -> str:
    reason = f", {data['stop_reason']}" if data.get("stop_reason") else ""
    return reason + (f": {data['error']['message']}" if data.get("error") else "")


def _question(data: dict[str, Any]) -> str:
    choices = f" ({' | '.join(data['choices'])})" if data["choices"] else ""
    return f"asks{_until(data['expires_at'])}: {data['question']}{choices}"


def _flaws(data: dict[str, Any]) -> str:
    return "; ".join(flaw["detail"] for flaw in data["errors"])


def _again(data: dict[str, Any]) -> str:
    return ", is sent again" if data.get("retry_at") else ""


def _until(moment: str | None) -> str:
    return f" until {datetime.fromisoformat(moment).astimezone():%H:%M:%S}" if moment else ""
