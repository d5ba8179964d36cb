"""The data of reports and answers as the demo model has them: lists of records, as far as rules fill them."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from app.llm.demo_assignment import Assignment
from app.llm.demo_blank import pages_without_text
from app.llm.demo_grid import Grid
from app.llm.demo_material import lines_read, lines_shown, queries_in, questions_in
from app.llm.demo_pages import paged, unread
from app.llm.demo_passages import subjects_in
from app.llm.demo_prompts import SIGNED, lists_in
from app.llm.demo_records import Ground, recorded, told_of
from app.llm.model import Request

NOTICE = f"> {SIGNED} filled in by rules from what the task shows and the tools returned. No language model judged it."


def recorded_in(given: Assignment, schema: Mapping[str, Any]) -> dict[str, Any] | None:
    """The report of a worker that promises lists of records; None where no rule fills any."""
    own = queries_in(given.task)
    asked = [failed for call, _, failed in given.answers if call["input"].get("sql") in own]
    lines = list(dict.fromkeys([*lines_shown(given.context), *lines_read(given.answers, given.inputs)]))
    grids = paged(given.answers, own)
    data = recorded(schema, Ground(grids, questions_in(given.task), lines, given.results, subjects_in(given.task)))
    if data is None or any(asked):
        return None
    if short := [*_not_seen(given, grids)]:
        return _escalated(" and ".join(short))
    said, tables = told_of(data)
    if blank := pages_without_text(lines):
        said = f"{said} No text can be read on: {', '.join(blank)}."
    sources = [*(line.source for line in lines), *_queried(given.inputs, own if asked else [])]
    passed_on = [source for result in given.results for source in result["sources"]]
    return {
        "summary": f"{SIGNED} {said}",
        "text": "\n\n".join([NOTICE, said, tables]),
        "data": data,
        "confidence": 0.5,
        "sources": list(dict.fromkeys([*sources, *passed_on])),
        "escalation": None,
    }


def _queried(inputs: Sequence[str], queries: Sequence[str]) -> list[str]:
    """The inputs whose tables queries name."""
    words = {word for sql in queries for word in re.findall(r"\w+", sql.casefold())}
    return [name for name in inputs if re.sub(r"\W", "_", name.casefold().rpartition(".")[0]) in words]


def _not_seen(given: Assignment, grids: Sequence[Grid]) -> Iterator[str]:
    """What there was no room to look at, of what the tools said that there is."""
    yield from (f"the first {len(grid.rows)} rows were seen, and there are more" for grid in grids if not grid.complete)
    yield from (f"{name} was not read from line {line} on" for name, line in unread(given.answers).items())


def _escalated(why: str) -> dict[str, Any]:
    """Who has seen a part cannot speak for the rest."""
    said = f"{SIGNED} {why}. Nothing is said of any of it, since what was not seen would be missing."
    return {"summary": said, "text": said, "data": None, "escalation": {"reason": "out_of_scope", "message": said}}


def data_of(
    request: Request, results: Sequence[Mapping[str, Any]], missing: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """`data` of an answer and where they come from: the lists of the results under their names, put together.

    Empty where the answer is to have none, or where no rule has them.
    """
    cut = [each for each in results if isinstance(each.get("data"), str)]
    unheard = [str(each["task"]) for each in (*missing, *cut)]
    schema = ((request.output_schema or {}).get("properties") or {}).get("data")
    whole = None if schema is None else recorded(schema, Ground((), {}, (), results, unheard=unheard))
    if whole is None:
        return {}
    return {"data": _guarded(whole), "data_sources": [{"pointer": "/", "tasks": [each["task"] for each in results]}]}


def _guarded(data: dict[str, Any]) -> dict[str, Any]:
    """The data with no approval of what something critical is reported about."""
    records = [each for held in lists_in(data).values() for each in held]
    grave = {each.get("about") for each in records if each.get("severity") == "critical"}
    for each in records:
        if each.get("decision") == "approve" and each.get("subject") in grave:
            each |= {"decision": None, "reason": f"{each.get('reason')}; something critical is reported about it"}
    return data
