"""Probes: whether this process lives, and whether it should be sent requests."""

import asyncio

from fastapi import APIRouter
from starlette.responses import JSONResponse, Response

from app.api.deps import RuntimeOf
from app.api.errors import Refusal
from app.api.schemas.service import PROBLEMS, Health
from app.store.database import OUTAGE
from app.store.fitness import why_schema_is_unfit

PING_S = 2.0

router = APIRouter(tags=["operations"])


@router.get("/livez", response_model=Health, responses=PROBLEMS)
async def live() -> Response:
    """Whether the process answers at all; nothing else is asked."""
    return JSONResponse({"status": "ok"})


@router.get("/readyz", response_model=Health, responses=PROBLEMS)
async def ready(runtime: RuntimeOf) -> Response:
    """Whether requests should come here: not while the process stops, nor without a database that answers in time,
    takes writes, has a schema for this release, and tells this process of what the others do."""
    if runtime.draining.is_set():
        raise Refusal(503, "draining", "This process is stopping.")
    try:
        async with asyncio.timeout(PING_S):
            await runtime.database.ping()
            unfit = await why_schema_is_unfit(runtime.database)
    except (*OUTAGE, TimeoutError):
        raise Refusal(503, "database_unavailable", "The database does not answer, or takes no writes.") from None
    if unfit is not None:
        raise Refusal(503, "schema_unfit", f"This process cannot work with its database: {unfit}.")
    if runtime.queue.is_deaf or not runtime.wakeups.connected.is_set():
        raise Refusal(503, "not_listening", "This process does not hear of runs at once at the moment.")
    return JSONResponse({"status": "ok"})
