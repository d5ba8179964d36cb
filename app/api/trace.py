"""The trace: a run's whole execution as one JSON document."""

import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Annotated, Any

from fastapi import APIRouter, Query
from starlette.responses import Response, StreamingResponse

from app.api.deps import RunId, RuntimeOf
from app.api.errors import Refusal
from app.api.resources import run_resource, task_resources
from app.api.runs import existing_whole_run
from app.api.schemas import PROBLEMS, Trace
from app.domain.spans import Spans
from app.runtime import TENANT, Runtime
from app.store.runs import Row, events_of

PAGE_EVENTS = 200

router = APIRouter(prefix="/v1/runs", tags=["runs"], responses=PROBLEMS)

Form = Annotated[
    str,
    Query(
        alias="format",
        description="Only `json` is offered; any other is refused, not ignored.",
        json_schema_extra={"enum": ["json"]},
    ),
]


@router.get("/{run_id}/trace", response_model=Trace)
async def get_trace(run_id: RunId, runtime: RuntimeOf, form: Form = "json") -> Response:
    """Everything there is to know about how a run went: its plans, tasks, spans and events."""
    if form != "json":
        raise Refusal(422, "format_not_offered", "Traces are offered as JSON alone.")
    run = await existing_whole_run(runtime, run_id)
    parts = {
        "run": run_resource(run.row, datetime.now(UTC)),
        "plan_revisions": list(run.plans),
        "tasks": task_resources(run),
    }
    return StreamingResponse(_document(runtime, run.row, parts), media_type="application/json")


async def _document(runtime: Runtime, row: Row, parts: dict[str, Any]) -> AsyncIterator[str]:
    """The document, page by page of events, so that a long run needs no more memory than a short one.

    It ends with the event that the run's row counts as its last, even when there are newer ones by now.
    """
    yield f'{_json(parts)[:-1]},"events":['
    spans, after, comma = Spans(), 0, ""
    while after < row["last_seq"]:
        limit = min(PAGE_EVENTS, row["last_seq"] - after)
        page = await events_of(runtime.database, TENANT, row["id"], after=after, limit=limit)
        if not page:
            break  # The run is as old as runs are kept, and has just been deleted.
        for event in page:
            spans.take(json.loads(event.json))
        yield comma + ",".join(event.json for event in page)
        after, comma = page[-1].seq, ","
    yield f'],"spans":{_json(spans.listed())}}}'


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
