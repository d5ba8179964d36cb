"""Fixtures of the tests that run whole services: whatever a test does, its runs are checked when it is over."""

import asyncio
import gc
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
import structlog

import app
from app.domain.crew import Means
from app.replay import Today, replay_run
from app.store.database import Database
from tests.support.rows import check_rows, every
from tests.support.service import Service, running_service
from tests.support.stub_provider import StubProvider

_OURS = str(Path(app.__file__).parent)


class Services:
    """Starts services on the test's database, as many as it likes, and lets them die."""

    def __init__(self, url: str, stub: StubProvider) -> None:
        self._url = url
        self._stub = stub
        self._stacks: dict[str, AsyncExitStack] = {}
        self._running: dict[str, Service] = {}
        self.means: dict[str, Means] = {}
        """What the tools of the services were good for."""

    async def start(self, **changes: Any) -> Service:
        """A service with these settings and options of `running_service`: `engine=False` executes nothing."""
        stack = AsyncExitStack()
        service = await stack.enter_async_context(running_service(self._url, self._stub, **changes))
        self._stacks[service.runtime.name] = stack
        self._running[service.runtime.name] = service
        return service

    async def crash(self, service: Service) -> None:
        """End a service in such a way that nobody hears of it: what it says from here on reaches no database."""
        service.database.cut = True
        service.runtime.drain_s = 0
        await self.stop(service)

    async def stop(self, service: Service) -> None:
        """End a service in good order."""
        self._running.pop(service.runtime.name)
        self.means |= service.runtime.means
        await self._stacks.pop(service.runtime.name).aclose()

    async def close(self) -> None:
        """End whatever is left."""
        for service in [*self._running.values()]:
            await self.stop(service)


@pytest.fixture
async def stub() -> AsyncIterator[StubProvider]:
    """The model provider."""
    async with StubProvider() as stub:
        yield stub


@pytest.fixture(scope="session")
def _settled_heap() -> None:
    """Leave what all tests share out of the collections that follow: they take a third of a second otherwise."""
    gc.collect()
    gc.freeze()


@pytest.fixture
def _plain_logs() -> Iterator[None]:
    """Tracebacks without the values of every variable: those take longer than the test."""
    renderer = structlog.dev.ConsoleRenderer(colors=False, exception_formatter=structlog.dev.plain_traceback)
    structlog.configure(
        processors=[structlog.contextvars.merge_contextvars, structlog.processors.add_log_level, renderer]
    )
    yield
    structlog.reset_defaults()


@pytest.fixture
async def services(
    database_url: str, stub: StubProvider, _plain_logs: None, _settled_heap: None
) -> AsyncIterator[Services]:
    """Services to start. Afterwards no task of ours is left, no exception was lost, and rows agree with logs."""
    lost: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: lost.append(context))
    services = Services(database_url, stub)
    try:
        yield services
    finally:
        await services.close()
    gc.collect()  # A lost exception is told when its task is collected.
    assert lost == []
    assert [task for task in asyncio.all_tasks() if _is_ours(task)] == []
    await _check_every_ended_run(database_url, Today(means=services.means))


@pytest.fixture
async def service(services: Services) -> Service:
    """One service with an engine and quick settings."""
    return await services.start()


def _is_ours(task: asyncio.Task[Any]) -> bool:
    code = getattr(task.get_coro(), "cr_code", None)
    return code is not None and code.co_filename.startswith(_OURS)


async def _check_every_ended_run(url: str, today: Today) -> None:
    """The rows of each are what its log says, in full and cut, and readers of replies come to what it tells of them."""
    database = Database(url, pool=2)
    try:
        for row in await every(database, "SELECT id, tenant FROM runs WHERE finished_at IS NOT NULL"):
            replay = await replay_run(database, row["tenant"], row["id"], today)
            assert replay is not None
            assert replay.differences == (), replay.differences
            await check_rows(database, row["id"], cut=True)
    finally:
        await database.close()
