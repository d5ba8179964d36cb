"""The application: routes, what surrounds them, and the runtime they work on."""

import asyncio
import json
import signal
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from copy import deepcopy
from functools import cached_property
from types import FrameType
from typing import TYPE_CHECKING, Any

from fastapi import Depends, FastAPI

from app import version
from app.api import (
    artifacts,
    breakers,
    bulk_cancel,
    console,
    deliveries,
    engines,
    events,
    health,
    inputs,
    intake,
    jobs,
    keys,
    limits,
    metrics,
    pages,
    plans,
    questions,
    replays,
    runs,
    schedules,
    second_looks,
    teams,
    trace,
    usage,
    webhooks,
)
from app.api.border import BodyLimit, HeadRequests, RequestIds, WholeBodies
from app.api.deps import known_parameters_alone
from app.api.description import complete
from app.api.doorkeeper import Doorkeeper
from app.api.errors import install_error_handlers
from app.api.feeds import Feeds
from app.api.frames import SharedPages
from app.api.keyring import KeyRing
from app.api.long_polls import called_when_set
from app.api.pace import Line
from app.api.rate_limits import RateLimits
from app.api.shared_looks import SharedLooks
from app.api.timekeeper import Timekeeper
from app.api.visits import Visit
from app.parts import kept_up
from app.runtime import Runtime
from app.tracing.requests import telemetry_of

if TYPE_CHECKING:
    from app.tracing.pipeline import Tracing

SEND_LIMIT_S = 30.0
"""Seconds for which the reader of a stream may take nothing before it is dropped."""

RuntimeFactory = Callable[[], AbstractAsyncContextManager[Runtime]]


class Application(FastAPI):
    """FastAPI with a description that is complete."""

    def openapi(self) -> dict[str, Any]:
        """The OpenAPI description."""
        return complete(deepcopy(super().openapi()))

    @cached_property
    def document(self) -> bytes:
        """The description as it is served."""
        return json.dumps(self.openapi(), ensure_ascii=False).encode()


def create_app(
    runtime: RuntimeFactory,
    *,
    body_limit_bytes: int,
    send_limit_s: float = SEND_LIMIT_S,
    tracing: "Tracing | None" = None,
) -> FastAPI:
    """The API over the runtime that `runtime` opens; nothing is opened before the application starts.

    `tracing` takes the spans of requests.
    """

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with runtime() as opened:
            app.state.runtime = opened
            app.state.looks = SharedLooks(opened.database)
            app.state.keys = ring = KeyRing(lambda: opened.database)
            app.state.feeds = feeds = Feeds(opened, SharedPages(opened.database))
            app.state.line = Line()
            timekeeper = Timekeeper(opened, lambda caller: Visit(opened, app.state.looks, caller, ring))
            parts = {"timekeeper": timekeeper.keep_forever} if opened.sees_to_schedules else {}
            async with kept_up(keys=ring.watch_forever, **parts):
                with _draining_on_signals(opened.draining), called_when_set(opened.draining, feeds.ring):
                    yield

    app = Application(
        title="Chargehand",
        summary="Supervisor-worker orchestration as an API.",
        version=version,
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        dependencies=[Depends(known_parameters_alone)],
        generate_unique_id_function=lambda route: route.name,
        lifespan=lifespan,
        telemetry=telemetry_of(tracing),
    )
    app.state.send_limit_s = send_limit_s
    parts = (
        pages, jobs, bulk_cancel, runs, plans, questions, replays, second_looks, events, inputs, artifacts, trace,
        teams, breakers, keys, limits, usage, webhooks, deliveries, schedules, engines, intake, health, metrics,
        console,
    )  # fmt: skip
    for part in parts:
        app.include_router(part.router)
    install_error_handlers(app)
    # The last one added is the first one passed.
    app.add_middleware(BodyLimit, limit_bytes=body_limit_bytes)
    app.add_middleware(RateLimits)
    app.add_middleware(Doorkeeper)
    app.add_middleware(WholeBodies)
    app.add_middleware(HeadRequests)
    app.add_middleware(RequestIds)
    return app


@contextmanager
def _draining_on_signals(draining: asyncio.Event) -> Iterator[None]:
    """Have `draining` set by the signals that stop the server, before it waits for open streams to end."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    loop = asyncio.get_running_loop()
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def drain(number: int, frame: FrameType | None) -> None:
        loop.call_soon_threadsafe(draining.set)
        handler = before[signal.Signals(number)]
        if callable(handler):
            handler(number, frame)

    for number in before:
        signal.signal(number, drain)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
