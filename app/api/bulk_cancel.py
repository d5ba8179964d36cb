"""Many runs that are cancelled at once, by what they have in common."""

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field, StrictBool
from starlette.responses import JSONResponse, Response

from app.api.bodies import JsonBodyRoute
from app.api.cursors import cursor_of, place_of
from app.api.errors import Refusal
from app.api.resources import Resource
from app.api.run_filters import RunsMeant
from app.api.schemas.operators import BulkCancellation
from app.api.schemas.service import PROBLEMS
from app.api.visits import VisitOf
from app.store.interventions import request_cancel
from app.store.run_lists import Listing, RunFilter, untold_runs

RUNS_AT_A_TIME = 200

router = APIRouter(prefix="/v1/runs", route_class=JsonBodyRoute, tags=["runs"], responses=PROBLEMS)


class BulkCancel(BaseModel):
    """Which runs are to be cancelled, and whether that is meant."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)

    filter: RunsMeant | None = None
    """Which runs: something must be said, or `all`."""
    all: StrictBool = False
    """Every run of the tenant that has not ended."""
    dry_run: StrictBool = True
    """Only say which runs it would be. Send `false` to have them cancelled."""
    reason: str | None = Field(default=None, max_length=2000)
    """Why; shown with each run."""
    limit: int = Field(default=100, ge=1, le=RUNS_AT_A_TIME)
    """How many runs at most: the oldest."""
    after: str | None = Field(default=None, max_length=500)
    """`next_cursor` of the answer before."""


@router.post("/cancel", response_model=BulkCancellation)
async def cancel_many_runs(visit: VisitOf, body: BulkCancel) -> Response:
    """Cancel the runs that a filter finds, running, waiting and queued ones, or say which it would be.

    Nothing happens unless `dry_run` is false. Each run is cancelled as by its own `cancel`, and its receipt is with it.
    Those that have ended, or were cancelled already, are passed over. While `has_more` is true there are more of them:
    send the same again, with `next_cursor` as `after`.
    """
    listing = Listing(_which(body), order="asc")
    after = place_of(body.after, listing) if body.after is not None else None
    found = await untold_runs(visit.database, visit.tenant, listing.which, after=after, limit=body.limit + 1)
    taken = found.places[: body.limit]
    more = cursor_of(taken[-1], listing) if len(found.places) > body.limit else None
    ids = [place.run_id for place in taken]
    if not body.dry_run:
        ids = [run_id for run_id in ids if await _cancel(visit, run_id, body.reason)]
    told: Resource = {"object": "bulk_cancellation", "dry_run": body.dry_run, "matching": found.count}
    told |= {"cancelled": 0 if body.dry_run else len(ids), "data": ids}
    return JSONResponse(told | {"has_more": more is not None, "next_cursor": more})


def _which(body: BulkCancel) -> RunFilter:
    """The runs that are meant. Raises `Refusal` unless that is said, in one way."""
    which = body.filter.as_filter if body.filter else RunFilter()
    if body.all == bool(which.said()):
        detail = "Say which runs, by at least one thing that they have in common, or `all`: true for every one."
        errors = [{"pointer": "/filter", "detail": detail}]
        raise Refusal(422, "request_invalid", "It is not clear which runs are meant.", errors=errors)
    return which


async def _cancel(visit: VisitOf, run_id: str, reason: str | None) -> bool:
    asked = await request_cancel(visit.database, visit.runtime.queue, visit.tenant, run_id, reason=reason)
    return bool(asked)
