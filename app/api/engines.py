"""The processes that execute runs: which there are, and how one is made to let go of its runs."""

from typing import Annotated

from fastapi import APIRouter, Path
from starlette.responses import JSONResponse, Response

from app.api.errors import Refusal
from app.api.resources import Resource, instant, page
from app.api.schemas.operators import Engine, EnginePage
from app.api.schemas.service import PROBLEMS
from app.api.visits import Visit, VisitOf
from app.store.engines import KnownEngine, known_engines, set_drained

router = APIRouter(prefix="/v1/engines", tags=["operations"], responses=PROBLEMS)

NAME_LENGTH = 300

EngineName = Annotated[str, Path(description="Name of an engine.")]


@router.get("", response_model=EnginePage)
async def list_engines(visit: VisitOf) -> Response:
    """The processes that execute runs, with the runs of the tenant that each of them has.

    One that has said nothing for a while is `stale`, and gone from the list ten minutes later.
    """
    return JSONResponse(page([_resource(visit, each) for each in await known_engines(visit.database, visit.tenant)]))


@router.post("/{name}/drain", response_model=Engine)
async def drain_an_engine(name: EngineName, visit: VisitOf) -> Response:
    """Have a process claim nothing more and hand its runs over to the others. It goes on answering requests.

    It begins within moments; `runs_of_all` is 0 once it is done. It lasts until `resume`, or until the process is
    started again. Repeating it changes nothing. What is drained serves all tenants: with keys, this is for those of the
    tenant `default`, which are the operator's.
    """
    return await _set(visit, name, drained=True)


@router.post("/{name}/resume", response_model=Engine)
async def resume_an_engine(name: EngineName, visit: VisitOf) -> Response:
    """Have a process that was drained claim runs again."""
    return await _set(visit, name, drained=False)


async def _set(visit: Visit, name: str, *, drained: bool) -> Response:
    found: list[KnownEngine] = []
    if visit.caller.is_operator and len(name) <= NAME_LENGTH and name.isprintable():
        await set_drained(visit.database, name, drained=drained)
        found = [*await known_engines(visit.database, visit.tenant, name)]
    if not found:
        raise Refusal(404, "engine_not_found", "There is no such engine, or the key is not one of the operator's.")
    return JSONResponse(_resource(visit, found[0]))


def _resource(visit: Visit, engine: KnownEngine) -> Resource:
    return {
        "name": engine.name,
        "object": "engine",
        "version": engine.version,
        "started_at": instant(engine.started_at),
        "renewed_at": instant(engine.renewed_at),
        "stale": engine.is_silent,
        "draining": engine.drains,
        "drain_requested_at": instant(engine.drained_at),
        "runs_at_once": engine.runs_at_once,
        "runs": engine.ours,
        "run_ids": list(engine.ids),
        "runs_of_all": engine.of_all if visit.caller.is_operator else None,
    }
