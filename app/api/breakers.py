"""The circuit breakers that all replicas share: what is left alone for a while, and how to say otherwise."""

import re
from typing import Annotated

from fastapi import APIRouter, Path
from starlette.responses import JSONResponse, Response

from app.api.errors import Refusal
from app.api.resources import breaker_resource, page
from app.api.schemas.service import PROBLEMS, Breaker, BreakerPage
from app.api.visits import Visit, VisitOf
from app.domain.names import TEAM_NAME
from app.domain.policy.breakers import Breaker as KnownBreaker
from app.domain.policy.breakers import reset, trip
from app.domain.worker import TIERS
from app.store.breakers import all_breakers, change_breaker
from app.store.teams import team_named

router = APIRouter(prefix="/v1/breakers", tags=["breakers"], responses=PROBLEMS)

BreakerNamed = Annotated[str, Path(description="`model:<id>`, `worker:<team>/<worker>` or `tool:<name>`.")]

_MODEL = re.compile(r"model:[!-~]{1,200}")
_WORKER = re.compile(rf"worker:({TEAM_NAME})/([!-~]{{1,64}})")
_NAME_LENGTH = 210


@router.get("", response_model=BreakerPage)
async def list_breakers(visit: VisitOf) -> Response:
    """Every breaker that has counted a failure or was opened by hand, by name. One that is not listed is closed.

    Where there are more than a thousand, those that are open come before the others.
    """
    return JSONResponse(page([breaker_resource(each) for each in await all_breakers(visit.database, visit.tenant)]))


@router.post("/{name:path}/reset", response_model=Breaker)
async def reset_breaker(name: BreakerNamed, visit: VisitOf) -> Response:
    """Close a breaker by hand and forget its failures. Runs that wait for a model go on within seconds."""
    found = None
    if len(name) <= _NAME_LENGTH and name.isprintable():
        found = await change_breaker(visit.database, visit.tenant, name, lambda breaker, _: reset(breaker), known=True)
    return _answer(found)


@router.post("/{name:path}/trip", response_model=Breaker)
async def trip_breaker(name: BreakerNamed, visit: VisitOf) -> Response:
    """Open a breaker by hand. Nothing is sent there until somebody resets it; what is under way goes on."""
    found = await change_breaker(visit.database, visit.tenant, name, trip) if await _exists(name, visit) else None
    return _answer(found)


async def _exists(name: str, visit: Visit) -> bool:
    """Whether there is something behind a breaker of that name. Any model may be asked for by its id, and only so."""
    if _MODEL.fullmatch(name):
        return name.partition(":")[2] not in TIERS
    if found := _WORKER.fullmatch(name):
        stored = await team_named(visit.database, visit.tenant, found[1])
        return stored is not None and stored.team.worker(found[2]) is not None
    kind, _, tool = name.partition(":")
    return kind == "tool" and tool in visit.runtime.tools


def _answer(breaker: KnownBreaker | None) -> Response:
    if breaker is None:
        raise Refusal(404, "breaker_not_found", "There is no such breaker.")
    return JSONResponse(breaker_resource(breaker))
