"""The API for tests: in process for plain requests, behind a true server for streams."""

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx2
from fastapi import FastAPI

from app.api.app import create_app
from app.api.server import Server
from app.runtime import Runtime, open_runtime
from app.settings import Settings
from tests.support.play import Play, Player, playing
from tests.support.service import FEW_TEAMS, Service
from tests.support.waiting import until

BODY_LIMIT = 300_000
JOB = {"objective": "Find out."}


@dataclass(slots=True)
class Api:
    """The application with its runtime, a client of it, and a player for its runs."""

    app: FastAPI
    runtime: Runtime
    client: httpx2.AsyncClient
    player: Player

    async def post(self, **job: Any) -> str:
        """Post a job; the id of its run."""
        answer = await self.client.post("/v1/jobs", json=JOB | job)
        assert answer.status_code == 202, answer.text
        run_id: str = answer.json()["id"]
        return run_id

    async def played(self) -> Play:
        """A new run."""
        return self.player.play(await self.post())

    async def ended(self) -> str:
        """The id of a run that has ended well, after 10 events."""
        play = await self.played()
        await play.whole()
        return play.run_id

    async def get(self, path: str, **options: Any) -> Any:
        """The body of a successful GET."""
        answer = await self.client.get(path, **options)
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def until_heard_by(self, listeners: int) -> None:
        """Wait until just so many streams and long polls are open."""
        await until(lambda: self.runtime.readers == listeners)


@asynccontextmanager
async def running_api(url: str, *, send_limit_s: float = 30, **settings: Any) -> AsyncIterator[Api]:
    """The API on the database at `url`, without an engine."""
    values = {"model": "demo", "anthropic_api_key": None, "poll_seconds": 10, "heartbeat_seconds": 60, **settings}

    @asynccontextmanager
    async def runtime() -> AsyncIterator[Runtime]:
        async with open_runtime(Settings(**values), url, built_in=FEW_TEAMS) as opened:
            await asyncio.wait_for(opened.wakeups.connected.wait(), 10)
            yield opened

    app = create_app(runtime, body_limit_bytes=BODY_LIMIT, send_limit_s=send_limit_s)
    async with app.router.lifespan_context(app):
        transport = httpx2.ASGITransport(app, raise_app_exceptions=False)
        async with (
            httpx2.AsyncClient(transport=transport, base_url="http://api.test") as client,
            playing(app.state.runtime.database) as player,
        ):
            yield Api(app, app.state.runtime, client, player)


@asynccontextmanager
async def client_of(runtime: Runtime, body_limit_bytes: int = BODY_LIMIT) -> AsyncIterator[httpx2.AsyncClient]:
    """A client of the API of a process that is open already, such as a service's."""
    async with (
        transport_to(runtime, body_limit_bytes) as transport,
        httpx2.AsyncClient(transport=transport, base_url="http://api.test", timeout=30) as client,
    ):
        yield client


@asynccontextmanager
async def transport_to(runtime: Runtime, body_limit_bytes: int = BODY_LIMIT) -> AsyncIterator[httpx2.ASGITransport]:
    """The way to that API, for clients of any make."""

    @asynccontextmanager
    async def opened() -> AsyncIterator[Runtime]:
        yield runtime

    app = create_app(opened, body_limit_bytes=body_limit_bytes, tracing=runtime.tracing)
    async with app.router.lifespan_context(app):
        yield httpx2.ASGITransport(app)


@asynccontextmanager
async def served(api: Api) -> AsyncIterator[str]:
    """The address of a server for the application, which is up already."""
    async with _listening(api.app) as address:
        yield address


@asynccontextmanager
async def served_service(service: Service, body_limit_bytes: int = BODY_LIMIT) -> AsyncIterator[str]:
    """The address of a server for a service that is running."""

    @asynccontextmanager
    async def opened() -> AsyncIterator[Runtime]:
        yield service.runtime

    app = create_app(opened, body_limit_bytes=body_limit_bytes, tracing=service.runtime.tracing)
    async with app.router.lifespan_context(app), _listening(app) as address:
        yield address


@asynccontextmanager
async def _listening(app: FastAPI) -> AsyncIterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        up = asyncio.Event()
        server = Server(app, up=up.set, lifespan=False, goodbye_s=1)
        serving = asyncio.create_task(server.serve(sockets=[listener]))
        try:
            await asyncio.wait_for(up.wait(), 10)
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            await serving


Starts = Callable[..., Awaitable[Api]]
