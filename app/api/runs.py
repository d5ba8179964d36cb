"""Runs, and what belongs to one: its tasks, its cancellation."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Annotated

from fastapi import APIRouter, Depends, Header, Path, Query, Request
from pydantic import BaseModel, ConfigDict, Field
from pydantic_core import to_json
from starlette.responses import JSONResponse, Response, StreamingResponse

from app.api.bodies import JsonBodyRoute
from app.api.cursors import cursor_of, place_of
from app.api.deps import RunId, WaitSeconds, is_known
from app.api.errors import Refusal, RunNotFound
from app.api.long_polls import SETTLED, check_room, run_settled
from app.api.resources import Resource, page, run_resource, task_resources
from app.api.run_filters import FilterOf, InOrder, SortedBy
from app.api.schemas.run_lists import RunPage
from app.api.schemas.runs import Run, RunTask, TaskPage
from app.api.schemas.service import PROBLEMS
from app.api.visits import Visit, VisitOf
from app.domain.states import TERMINAL_RUN
from app.store.interventions import request_cancel
from app.store.run_levels import levels_of_runs
from app.store.run_lists import Listing, Place, page_of_runs
from app.store.runs import OBJECTIVE_PREVIEW, Row, WholeRun, find_run, whole_run

CANCEL_WAIT_S = 1.0
"""How long a cancellation waits for the run to end, so that its answer can usually show it."""
TAGS_LENGTH = 4000
"""Characters of all the tags that a client compares with."""

router = APIRouter(prefix="/v1/runs", route_class=JsonBodyRoute, tags=["runs"], responses=PROBLEMS)

After = Annotated[str | None, Query(max_length=500, description="`next_cursor` of the page before.")]
Include = Annotated[
    str,
    Query(
        pattern=r"^((result|objective|levels)(,(result|objective|levels)){0,2})?$",
        description=(
            "What each run of the list has in full, joined by commas: `result` and `levels`, which are null otherwise, "
            f"and `objective`, which is cut to {OBJECTIVE_PREVIEW} characters otherwise."
        ),
    ),
]
IfNoneMatch = Annotated[
    str | None,
    Header(alias="If-None-Match", description="ETag of what the client has already; 304 while it is the same."),
]
PageLimit = Annotated[int, Query(ge=1, le=100, description="Runs of a page.")]
TaskId = Annotated[str, Path(description="Id of a task.")]


class Cancel(BaseModel):
    """What a client may say when it cancels."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)

    reason: str | None = Field(default=None, max_length=2000)
    """Why; shown with the run."""


async def _listing(
    which: FilterOf,
    sort: SortedBy = "created_at",
    order: InOrder = "desc",
    after: After = None,
    include: Include = "",
) -> Listing:
    asked = include.split(",")
    listing = Listing(which, sort, order, None, *(name in asked for name in ("objective", "result", "levels")))
    return replace(listing, after=place_of(after, listing)) if after is not None else listing


ListingOf = Annotated[Listing, Depends(_listing)]


@router.get("", response_model=RunPage)
async def list_runs(visit: VisitOf, listing: ListingOf, limit: PageLimit = 20) -> Response:
    """Runs, newest first unless another order is asked for. Filters that are named together must all fit.

    A list carries neither results nor long objectives unless they are asked for. A cursor belongs to its filters and
    its order: with others it is refused.
    """
    rows = await page_of_runs(visit.database, visit.tenant, listing, limit=limit + 1)
    shown, now = rows[:limit], datetime.now(UTC)
    more = cursor_of(Place(shown[-1]["place"], shown[-1]["id"]), listing) if len(rows) > limit else None
    ids = [row["id"] for row in shown] if listing.levels else []
    levels = await levels_of_runs(visit.database, visit.tenant, ids) if ids else {}
    return JSONResponse(page([run_resource(row, now) | {"levels": levels.get(row["id"])} for row in shown], more))


@router.get("/{run_id}", response_model=Run, responses={304: {"description": "The run is as the client knows it."}})
async def get_run(
    request: Request, run_id: RunId, visit: VisitOf, wait_s: WaitSeconds, _: IfNoneMatch = None
) -> Response:
    """One run. `Prefer: wait=N` answers when it has ended or waits, after N seconds at the latest, at most 60."""
    known = request.headers.getlist("if-none-match")
    if sum(map(len, known)) > TAGS_LENGTH:
        errors = [{"parameter": "if-none-match", "detail": f"This may have at most {TAGS_LENGTH} characters."}]
        raise Refusal(400, "header_invalid", "A header is too long.", errors=errors)
    if wait_s:
        check_room(visit.runtime)
    row = await run_settled(visit, run_id, SETTLED, wait_s or 0)
    if row is None:
        raise RunNotFound
    tag = f'"{run_id}-{row["last_seq"]}-{row["status"]}"'
    # Until it has ended its clocks tick, so that two answers under one tag differ.
    etag = tag if row["status"] in TERMINAL_RUN else f"W/{tag}"
    headers = {"ETag": etag, "Vary": "Prefer"}
    if wait_s is not None:
        headers["Preference-Applied"] = f"wait={wait_s}"
    if is_known(tag, known):
        return Response(status_code=304, headers=headers)
    return JSONResponse(run_resource(row, datetime.now(UTC)), headers=headers)


@router.get("/{run_id}/tasks", response_model=TaskPage)
async def list_tasks(run_id: RunId, visit: VisitOf) -> Response:
    """The tasks of the plan with every attempt; none before there is a plan."""
    tasks = task_resources(await existing_whole_run(visit, run_id))
    return StreamingResponse(_page_of(tasks), media_type="application/json")


async def _page_of(resources: Sequence[Resource]) -> AsyncIterator[bytes]:
    """The page, one resource at a time: they may be large, and others have their turn between them."""
    comma = b""
    yield b'{"data":['
    for resource in resources:
        yield comma + to_json(resource)
        comma = b","
        await asyncio.sleep(0)
    yield b'],"has_more":false,"next_cursor":null}'


@router.get("/{run_id}/tasks/{task_id}", response_model=RunTask)
async def get_task(run_id: RunId, task_id: TaskId, visit: VisitOf) -> Response:
    """One task with every attempt."""
    for task in task_resources(await existing_whole_run(visit, run_id)):
        if task["id"] == task_id:
            return JSONResponse(task)
    raise Refusal(404, "task_not_found", "The run has no such task.")


@router.post("/{run_id}/cancel", status_code=202, response_model=Run)
async def cancel_run(run_id: RunId, visit: VisitOf, body: Cancel | None = None) -> Response:
    """Cancel a run. Repeating it changes nothing; a run that has ended is left as it is (409)."""
    asked = await request_cancel(
        visit.database, visit.runtime.queue, visit.tenant, run_id, reason=body.reason if body else None
    )
    if asked is None:
        raise RunNotFound
    if not asked:
        raise Refusal(409, "run_ended", "The run has ended already.")
    row = await run_settled(visit, run_id, TERMINAL_RUN, CANCEL_WAIT_S)
    assert row is not None
    return JSONResponse(run_resource(row, datetime.now(UTC)), 202)


async def existing_run(visit: Visit, run_id: str) -> Row:
    """The run's row. Raises `RunNotFound`."""
    row = await find_run(visit.database, visit.tenant, run_id)
    if row is None:
        raise RunNotFound
    return row


async def existing_whole_run(visit: Visit, run_id: str) -> WholeRun:
    """The run with its plans, tasks and attempts. Raises `RunNotFound`."""
    run = await whole_run(visit.database, visit.tenant, run_id)
    if run is None:
        raise RunNotFound
    return run
