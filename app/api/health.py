"""Probes: whether this process lives, and whether it should be sent requests."""

import asyncio

from fastapi import APIRouter
from starlette.responses import JSONResponse, Response

from app.api.deps import RuntimeOf
from app.api.errors import Refusal
from app.api.schemas.service import PROBLEMS, Health
from app.store.database import OUTAGE

PING_S = 2.0

router = APIRouter(tags=["operations"])


@router.get("/livez", response_model=Health, responses=PROBLEMS)
async def live() -> Response:
    """Whether the process answers at all; nothing else is asked."""
    return JSONResponse({"status": "ok"})


@router.get("/readyz", response_model=Health, responses=PROBLEMS)
async def ready(runtime: RuntimeOf) -> Response:
    """Whether requests should come here: not while the process stops, nor without a database that answers in time,
    takes writes, and tells this process of what the others do."""
    if runtime.draining.is_set():
        raise Refusal(503, "draining", "This process is stopping.")
    try:
        async with asyncio.timeout(PING_S):
            await runtime.database.ping()
    except (*OUTAGE, TimeoutError):
        raise Refusal(503, "database_unavailable", "The database does not answer, or takes no writes.") from None
    if runtime.queue.is_deaf or not runtime.wakeups.connected.is_set():
        raise Refusal(503, "not_listening", "This process does not hear of runs at once at the moment.")
    return JSONResponse({"status": "ok"})
