"""What this process has done and how the service is, for Prometheus: beside the API, or at a port of its own.

Whoever reaches it sees what all tenants together run and spend, and the names of teams. So where requests must bring
keys the API does not show it, and the port of its own, which only the operator's network should reach, does.
"""

import asyncio
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

from fastapi import APIRouter
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from app.api.deps import RuntimeOf
from app.api.errors import Refusal
from app.api.schemas.service import PROBLEMS
from app.api.server import Server
from app.metrics.scrape import CONTENT_TYPE
from app.runtime import Runtime

PATH = "/metrics"
_MEDIA_TYPE = "text/plain"
_SHOWN = {"schema": {"type": "string"}, "example": 'chargehand_runs{status="running"} 3.0\n'}

router = APIRouter(tags=["operations"], responses=PROBLEMS)


@router.get(
    PATH,
    response_class=Response,
    responses={200: {"description": "The text format of Prometheus.", "content": {_MEDIA_TYPE: _SHOWN}}},
)
async def metrics(runtime: RuntimeOf) -> Response:
    """What this process has done, and how the service is, in the text format of Prometheus.

    It needs no key. Where requests must bring one, and where `CHARGEHAND_METRICS_PORT` is set, it is not here, but at
    that port alone.
    """
    if not runtime.shows_metrics:
        raise Refusal(404, "not_found", "Metrics are at the port that CHARGEHAND_METRICS_PORT names, and nowhere else.")
    return await _scraped(runtime)


async def _scraped(runtime: Runtime) -> Response:
    text = await runtime.scrape.text(runtime.database, runtime.readers)
    return Response(text, headers={"Content-Type": CONTENT_TYPE, "Cache-Control": "no-store"})


@asynccontextmanager
async def metrics_served(runtime: Runtime, listener: socket.socket) -> AsyncIterator[None]:
    """Answer scrapes at a socket of their own during the block, and nothing else."""

    async def answer(_request: Request) -> Response:
        return await _scraped(runtime)

    up = asyncio.Event()
    server = _ServerBeside(Starlette(routes=[Route(PATH, answer)]), up=up.set, lifespan=False, goodbye_s=1)
    serving = asyncio.create_task(server.serve(sockets=[listener]), name="metrics")
    try:
        await up.wait()
        yield
    finally:
        server.should_exit = True
        await serving


class _ServerBeside(Server):
    """A server beside what the process is there for, whose signals it leaves alone."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Take none."""
        yield
