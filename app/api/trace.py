"""The trace: a run's whole execution as one JSON document."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime
from typing import Annotated, Any

from fastapi import APIRouter, Query
from starlette.responses import Response, StreamingResponse

from app.api.deps import RunId, RuntimeOf
from app.api.errors import Refusal
from app.api.resources import run_resource, task_resources
from app.api.runs import existing_whole_run
from app.api.schemas.service import PROBLEMS
from app.api.schemas.trace import Trace
from app.domain.contents import Contents
from app.domain.spans import Span, Spans
from app.domain.text import shorten
from app.runtime import TENANT, Runtime
from app.store.runs import Row, StoredEvent, WholeRun, events_of

PAGE_EVENTS = 200
TOOL_CHARACTERS = 1_000
"""What the span of a tool call shows of its input and of its output, unless content is asked for."""
_CHARACTERS_AT_A_TIME = 50_000
"""Characters of events that are read before others get their turn on the loop."""

router = APIRouter(prefix="/v1/runs", tags=["runs"], responses=PROBLEMS)

Form = Annotated[
    str,
    Query(
        alias="format",
        description="Only `json` is offered; any other is refused, not ignored.",
        json_schema_extra={"enum": ["json"]},
    ),
]
Include = Annotated[
    str,
    Query(
        pattern=r"^(content)?$",
        description="`content`: request and reply in the span of every model call, tool inputs and outputs in full.",
    ),
]


@router.get("/{run_id}/trace", response_model=Trace)
async def get_trace(run_id: RunId, runtime: RuntimeOf, form: Form = "json", include: Include = "") -> Response:
    """Everything there is to know about how a run went: its plans, tasks, events and spans.

    First come the spans of the run, its tasks and their attempts in the order of their beginning, then those of model
    and tool calls in the order of their end.
    """
    if form != "json":
        raise Refusal(422, "format_not_offered", "Traces are offered as JSON alone.")
    run = await existing_whole_run(runtime, run_id)
    return StreamingResponse(_document(runtime, run, bool(include)), media_type="application/json")


async def _document(runtime: Runtime, run: WholeRun, with_content: bool) -> AsyncIterator[str]:
    """The document, piece by piece, so that a long run needs no more memory than a short one.

    The log is read twice: for its events, and again for the spans of calls, each handed on as soon as it is complete.
    """
    yield f'{{"run":{_json(run_resource(run.row, datetime.now(UTC)))},"plan_revisions":{_json(run.plans)},"tasks":['
    for piece in _listed(map(_json, task_resources(run))):
        yield piece
    yield '],"events":['
    spans, comma = Spans(), ""
    async for event in _log(runtime, run.row):
        spans.take(json.loads(event.json))
        yield comma + event.json
        comma = ","
    yield '],"spans":['
    for piece in _listed(map(_json, spans.frames())):
        yield piece
    async for span in _calls(runtime, run.row, with_content):
        for piece in _pieces(span):
            yield piece
    yield "]}"


async def _log(runtime: Runtime, row: Row) -> AsyncIterator[StoredEvent]:
    """The run's events up to the one that its row counts as the last, even when there are newer ones by now."""
    after, since_pause = 0, 0
    while after < row["last_seq"]:
        limit = min(PAGE_EVENTS, row["last_seq"] - after)
        page = await events_of(runtime.database, TENANT, row["id"], after=after, limit=limit)
        if not page:
            return  # The run is as old as runs are kept, and has just been deleted.
        for event in page:
            yield event
            since_pause += len(event.json)
            if since_pause > _CHARACTERS_AT_A_TIME:
                since_pause = 0
                await asyncio.sleep(0)
        after = page[-1].seq


async def _calls(runtime: Runtime, row: Row, with_content: bool) -> AsyncIterator[Span]:
    """The spans of model and tool calls as they are completed, then those that are not."""
    spans, contents = Spans(), Contents()
    held: dict[str, Any] = {}
    async for event in _log(runtime, row):
        fact = json.loads(event.json)
        if with_content and (content := contents.take(fact)) is not None:
            held[f"llm:{event.seq}"] = content
        for span in spans.take(fact):
            yield _shown(span, with_content, held)
    for span in spans.unfinished():
        yield _shown(span, with_content, held)


def _shown(span: Span, with_content: bool, held: dict[str, Any]) -> Span:
    """The span as it was asked for: with the content that is held for it, or small."""
    if with_content:
        return span | {"content": held.pop(span["id"])} if span["id"] in held else span
    if span["kind"] != "tool":
        return span
    attributes = span["attributes"]
    short = {name: _in_short(attributes[name]) for name in ("input", "output") if name in attributes}
    return span | {"attributes": attributes | short}


def _in_short(value: Any) -> Any:
    """The value itself when it is short, else the beginning and the end of its text."""
    text = value if isinstance(value, str) else _json(value)
    return value if len(text) <= TOOL_CHARACTERS else shorten(text, TOOL_CHARACTERS)[0]


def _pieces(span: Span) -> Iterator[str]:
    """A span behind others, message by message: a long conversation makes long requests."""
    yield ","
    if "content" not in span:
        yield _json(span)
        return
    content, request = span["content"], span["content"]["request"]
    rest = {name: value for name, value in span.items() if name != "content"}
    yield f'{_json(rest)[:-1]},"content":{{"request":{{"messages":['
    yield from _listed(map(_json, request["messages"]))
    terms = {name: value for name, value in request.items() if name != "messages"}
    yield f'],{_json(terms)[1:]},"reply":{_json(content["reply"])}}}}}'


def _listed(values: Iterator[str]) -> Iterator[str]:
    comma = ""
    for value in values:
        yield comma + value
        comma = ","


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
