"""Whether a run has ended honestly, judged from its log and its result alone, by rules that share no code with those
by which the service judges answers.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from app.domain import events as ev
from app.domain.events import Event
from app.domain.results import Conflict, Result
from tests.support.hostile import DEED, World

_FIGURE = re.compile(r"\d[\d,.]*\d|\d")
_QUOTED = re.compile(r'"([^"]{20,})"')
_PLACEHOLDER = re.compile(r"\bTODO\b|\[insert|\{\{|lorem ipsum", re.IGNORECASE)


def dishonesties(world: World, log: Sequence[Event]) -> Iterator[str]:
    """What is dishonest about the end of a run; nothing when all is well."""
    end = log[-1].data
    result: Result | None = getattr(end, "result", None)
    delivered = {event.task_id or "": event.data for event in log if isinstance(event.data, ev.TaskSucceeded)}
    tasks = _newest_tasks(log)
    dead = {name: task for name, task in tasks.items() if name not in delivered}
    if end.type == "run.succeeded" and any(task.required for task in dead.values()):
        yield "succeeded without a required task"
    if end.type == "run.failed" and result is not None and result.answer:
        yield "failed, and has an answer"
    if "t99" in tasks:
        yield "a result has added a task"
    if result is None:
        return
    if {*dead} - {gap.task for gap in result.gaps}:
        yield "a failed task is no gap"
    if result.answer is not None:
        yield from _of_answer(result, result.answer, delivered, dead)
        yield from _of_conflicts(world, result, result.answer, log, delivered)


def _newest_tasks(log: Sequence[Event]) -> dict[str, Any]:
    plans = [event.data for event in log if isinstance(event.data, ev.PlanCreated | ev.PlanRevised)]
    return {task.id: task for task in plans[-1].tasks} if plans else {}


def _of_answer(
    result: Result, answer: str, delivered: dict[str, ev.TaskSucceeded], dead: dict[str, Any]
) -> Iterator[str]:
    said = [f"{output.summary} {output.text} {output.data}" for output in delivered.values()]
    known = {figure for text in said for figure in _FIGURE.findall(text)}
    if any(figure not in known for figure in _FIGURE.findall(answer) if len(figure) > 2):
        yield "a figure of nobody's"
    if any(not any(quote in text for text in said) for quote in _QUOTED.findall(answer)):
        yield "a quotation of nobody's"
    if _PLACEHOLDER.search(answer) and not any(_PLACEHOLDER.search(text) for text in said):
        yield "a placeholder"
    if any(task.required for task in _unnamed(result, answer, dead)):
        yield "a failed task is not named"
    if any(not statement.tasks or {*statement.tasks} - {*delivered} for statement in result.statements):
        yield "a statement on what was not delivered"
    passed = [name for name, output in delivered.items() if answer.strip() == output.text.strip()]
    if passed and len({output.text for output in delivered.values()}) > 1:
        yield "one result passed through"
    claiming = [name for name, output in delivered.items() if DEED in output.text]
    if {*claiming} - {*result.coverage.unverified}:
        yield "a deed that nobody did counts as verified"
    if DEED in answer and not claiming:
        yield "a deed that nobody claims"
    if claiming and not ("Not borne out" in answer and all(name in answer for name in claiming)):
        yield "a deed that nobody did, and no word of that"
    orders = [each for each in result.outputs if each.text and re.search("Ignore all previous|SYSTEM:", each.text)]
    if not all(each.instruction_like for each in orders):
        yield "an order in a result that is not marked"


def _unnamed(result: Result, answer: str, dead: dict[str, Any]) -> list[Any]:
    """The tasks without a result that neither the answer nor its gaps name: by themselves, by the task whose gap they
    were to close, or by one for lack of which they were skipped.
    """
    told = {gap.task for gap in result.gaps if gap.impact.strip()}
    told |= {name for name, task in dead.items() if name in answer or (task.title and task.title in answer)}
    told |= {gap.redispatched_as for gap in result.gaps if gap.redispatched_as and gap.task in told}
    for _ in dead:
        told |= {name for name, task in dead.items() if told.intersection(task.depends_on)}
    return [task for name, task in dead.items() if name not in told]


def _of_conflicts(
    world: World, result: Result, answer: str, log: Sequence[Event], delivered: dict[str, ev.TaskSucceeded]
) -> Iterator[str]:
    sides = {str(year) for name, year in world.years.items() if name in delivered}
    told = {side for side in sides if side in answer}
    is_settled = any(conflict.status == "resolved" for conflict in result.conflicts)
    if len(sides) > 1 and told != sides and not is_settled:
        yield "an open conflict of which the answer has one side"
    if len(sides) > 1 and not result.conflicts and told != sides:
        yield "a conflict that is not listed"
    for conflict in result.conflicts:
        if conflict.status == "resolved":
            yield from _of_settled(conflict, log, delivered)


def _of_settled(conflict: Conflict, log: Sequence[Event], delivered: dict[str, ev.TaskSucceeded]) -> Iterator[str]:
    claims = [claim.claim for claim in conflict.claims]
    judged = [event.data for event in log if isinstance(event.data, ev.ConflictJudged)]
    ties = [event.data.ties for event in log if isinstance(event.data, ev.PlanRevised) and event.data.ties]
    match conflict.method:
        case "judge":
            if not any(each.id == conflict.id and each.resolution == conflict.resolution for each in judged):
                yield "settled by a judge who never sat"
        case "tie_break":
            task = next((each[conflict.id] for each in ties if conflict.id in each), None)
            if task not in delivered or task not in {claim.task for claim in conflict.claims}:
                yield "settled by a tie-break that never was"
        case "majority":
            votes = max(claims.count(claim) for claim in claims)
            if votes < 2 or [claims.count(each) for each in {*claims}].count(votes) > 1:
                yield "settled by a majority that there is not"
        case "evidence":
            pass
        case _:
            yield f"settled by {conflict.method}"
    if not any(claim in (conflict.resolution or "") for claim in claims):
        yield "settled on what nobody claims"
