"""The data of reports and answers as the demo model has them: lists of records, as far as rules fill them."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from app.domain.conversation import Block
from app.llm.demo_evidence import grid_of
from app.llm.demo_material import lines_read, lines_shown, queries_in, questions_in
from app.llm.demo_passages import subjects_in
from app.llm.demo_prompts import SIGNED, gist
from app.llm.demo_records import Ground, recorded, told_of
from app.llm.model import Request

NOTICE = f"> {SIGNED} filled in by rules from what the task shows and the tools returned. No language model judged it."


class Given(Protocol):
    """What a worker was given, and what its tools have said so far."""

    @property
    def task(self) -> str: ...

    @property
    def context(self) -> str: ...

    @property
    def inputs(self) -> Sequence[str]: ...

    @property
    def results(self) -> Sequence[dict[str, Any]]: ...

    @property
    def answers(self) -> Sequence[tuple[Block, str, bool]]: ...


def recorded_in(given: Given, schema: Mapping[str, Any]) -> dict[str, Any] | None:
    """The report of a worker that promises lists of records; None where no rule fills any."""
    own = queries_in(given.task)
    asked = [(output, failed) for call, output, failed in given.answers if call["input"].get("sql") in own]
    lines = list(dict.fromkeys([*lines_shown(given.context), *lines_read(given.answers, given.inputs)]))
    grids = [grid_of(output) for output, failed in asked if not failed]
    data = recorded(schema, Ground(grids, questions_in(given.task), lines, given.results, subjects_in(given.task)))
    if data is None:
        return None
    said, tables = told_of(data)
    failures = [f"- A query of the task failed: {gist(output, 300)}" for output, failed in asked if failed]
    sources = [line.source for line in lines] or [*given.inputs] * bool(asked)
    passed_on = [source for result in given.results for source in result["sources"]]
    return {
        "summary": f"{SIGNED} {said}",
        "text": "\n\n".join([NOTICE, said, tables, *failures]),
        "data": data,
        "confidence": 0.5,
        "sources": list(dict.fromkeys([*sources, *passed_on])),
        "escalation": None,
    }


def data_of(request: Request, results: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """`data` of an answer and where they come from: the lists of the results under their names, put together.

    Empty where the answer is to have none, or where no rule has them.
    """
    schema = ((request.output_schema or {}).get("properties") or {}).get("data")
    whole = None if schema is None else recorded(schema, Ground((), {}, (), results))
    if whole is None:
        return {}
    return {"data": whole, "data_sources": [{"pointer": "/", "tasks": [each["task"] for each in results]}]}
