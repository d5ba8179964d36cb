from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from typing import Any

import httpx2
import pytest

from tests.support.api import Api, Starts, client_of, running_api, served
from tests.support.fixtures import _plain_logs, _settled_heap, services, stub
from tests.support.service import Service

__all__ = ["_plain_logs", "_settled_heap", "services", "stub"]


@pytest.fixture
async def start_api(database_url: str) -> AsyncIterator[Starts]:
    """Starts the API with settings of the test's choice; several share the test's database."""
    async with AsyncExitStack() as stack:

        async def start(**settings: Any) -> Api:
            return await stack.enter_async_context(running_api(database_url, **settings))

        yield start


@pytest.fixture
async def api(start_api: Starts) -> Api:
    return await start_api()


@pytest.fixture
async def address(api: Api) -> AsyncIterator[str]:
    """Where a true server serves `api`."""
    async with served(api) as address:
        yield address


@pytest.fixture
async def client(service: Service) -> AsyncIterator[httpx2.AsyncClient]:
    """A client of the `service` that its test has."""
    async with client_of(service.runtime) as client:
        yield client
