"""The trace: a run's whole execution as one JSON document, or as OTLP."""

import asyncio
import json
from collections import deque
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from starlette.responses import Response, StreamingResponse

from app.api.deps import RunId
from app.api.errors import Refusal
from app.api.otlp import otlp_document
from app.api.pace import PIECE_CHARACTERS, Pace
from app.api.resources import instant, run_resource, task_resources
from app.api.runs import existing_whole_run
from app.api.schemas.service import PROBLEMS
from app.api.schemas.trace import OtlpTraces, Trace
from app.api.visits import Visit, VisitOf
from app.domain.contents import HeldContents
from app.domain.reporting import Reporter
from app.domain.span_values import Span
from app.domain.spans import Spans
from app.domain.thinning import in_short
from app.store.runs import Row, StoredEvent, WholeRun, events_of

PAGE_EVENTS = 200
TOOL_CHARACTERS = 1_000
"""What the span of a tool call shows of its input and of its output, unless content is asked for."""
_EVENT_CHARACTERS = 500
"""What the reading of an event costs beside that of its characters."""

router = APIRouter(prefix="/v1/runs", tags=["runs"], responses=PROBLEMS)

Form = Annotated[
    str,
    Query(
        alias="format",
        description="`json`, or `otlp`: the spans as OTLP/JSON for a collector. Any other is refused, not ignored.",
        json_schema_extra={"enum": ["json", "otlp"]},
    ),
]
Include = Annotated[
    str,
    Query(
        pattern=r"^(content)?$",
        description=(
            "`content`: request and reply in the span of every model call, tool inputs and outputs in full; as OTLP "
            "each text is shortened, and without it there are none."
        ),
    ),
]


@router.get("/{run_id}/trace", response_model=Trace | OtlpTraces)
async def get_trace(
    request: Request, run_id: RunId, visit: VisitOf, form: Form = "json", include: Include = ""
) -> Response:
    """Everything there is to know about how a run went: its plans, tasks, events and spans.

    First come the spans of the run, its tasks and their attempts in the order of their beginning, then those of model
    and tool calls in the order of their end.

    With `format=otlp` it is the spans alone, by OpenTelemetry's GenAI conventions, as a collector takes them at
    `/v1/traces`. A nested run's are part of its parent's trace.
    """
    if form not in ("json", "otlp"):
        raise Refusal(422, "format_not_offered", "Traces are offered as json and as otlp.")
    run = await existing_whole_run(visit, run_id)
    pace = Pace(request.app.state.line)
    log = _Log(visit, run.row, pace)
    if form == "otlp":
        document = otlp_document(log.events(), visit.tenant, with_content=bool(include))
    else:
        document = _document(log, run, bool(include))
    return StreamingResponse(_paced(document, pace), media_type="application/json")


async def _paced(document: AsyncIterator[str], pace: Pace) -> AsyncIterator[str]:
    """The same in pieces of one length, which costs least to send, and between which others have their turn."""
    waiting: list[str] = []
    size = 0
    async for part in document:
        waiting.append(part)
        size += len(part)
        if size >= PIECE_CHARACTERS:
            for piece in _cut("".join(waiting)):
                yield piece
                await pace.keep(len(piece))
            waiting, size = [], 0
    yield "".join(waiting)


def _cut(text: str) -> Iterator[str]:
    return (text[start : start + PIECE_CHARACTERS] for start in range(0, len(text), PIECE_CHARACTERS))


async def _document(log: "_Log", run: WholeRun, with_content: bool) -> AsyncIterator[str]:
    """The document, part by part, so that a long run needs no more memory than a short one.

    The log is read twice: for its events, and again for the spans of calls, each handed on as soon as it is complete.
    """
    yield f'{{"run":{_json(run_resource(run.row, datetime.now(UTC)))},'
    yield f'"thinned_at":{_json(instant(run.row["thinned_at"]))},'
    yield f'"plan_revisions":{_json(run.plans)},"tasks":['
    for part in _listed(map(_json, task_resources(run))):
        yield part
    yield '],"events":['
    spans, reporter, comma = Spans(), Reporter(), ""
    async for event in log.events():
        fact = json.loads(event.json)
        spans.take(fact)
        reporter.take(fact)
        yield comma
        yield event.json
        comma = ","
    report = await asyncio.to_thread(reporter.report, datetime.now(UTC))
    yield f'],"report":{report.model_dump_json()},"spans":['
    for part in _listed(map(_json, spans.frames())):
        yield part
    async for span in _calls(log, with_content):
        for part in _parts(span):
            yield part
    yield "]}"


class _Log:
    """The events of a run up to the one that its row counts as the last, even when there are newer ones by now."""

    def __init__(self, visit: Visit, row: Row, pace: Pace) -> None:
        self._visit, self._row, self._pace = visit, row, pace

    async def events(self) -> AsyncIterator[StoredEvent]:
        """All of them from the first on, read a page at a time."""
        after, limit = 0, PAGE_EVENTS
        while after < self._row["last_seq"]:
            page = await self._page(after, limit)
            if not page:
                return  # The run is as old as runs are kept, and has just been deleted.
            after = page[-1].seq
            # Postgres weighs all that it is asked for: of long events, of which few make a page, few are asked for.
            limit = min(2 * len(page), PAGE_EVENTS)
            while page:
                event = page.popleft()
                yield event
                await self._pace.keep(len(event.json) + _EVENT_CHARACTERS)

    async def _page(self, after: int, limit: int) -> deque[StoredEvent]:
        limit = min(limit, self._row["last_seq"] - after)
        run_id = self._row["id"]
        return deque(await events_of(self._visit.database, self._visit.tenant, run_id, after=after, limit=limit))


async def _calls(log: _Log, with_content: bool) -> AsyncIterator[Span]:
    """The spans of model and tool calls as they are completed, then those that are not."""
    spans, contents = Spans(), HeldContents()
    async for event in log.events():
        fact = json.loads(event.json)
        if with_content:
            contents.take(fact)
        for span in spans.take(fact):
            yield _shown(span, with_content, contents)
    for span in spans.unfinished():
        yield _shown(span, with_content, contents)


def _shown(span: Span, with_content: bool, contents: HeldContents) -> Span:
    """The span as it was asked for: with the content that is held for it, or small."""
    if with_content:
        content = contents.of(span)
        return span if content is None else span | {"content": content}
    if span["kind"] != "tool":
        return span
    attributes = span["attributes"]
    short = {name: in_short(attributes[name], TOOL_CHARACTERS) for name in ("input", "output") if name in attributes}
    return span | {"attributes": attributes | short}


def _parts(span: Span) -> Iterator[str]:
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
