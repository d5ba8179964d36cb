from collections.abc import AsyncIterator

import pytest

from tests.support.api import running_api, served
from tests.support.fixtures import _plain_logs, _settled_heap, service, services, stub
from tests.support.processes import Replicas
from tests.support.stub_provider import StubProvider

__all__ = ["_plain_logs", "_settled_heap", "service", "services", "stub"]


@pytest.fixture
async def replicas(database_url: str, stub: StubProvider) -> AsyncIterator[Replicas]:
    async with Replicas(database_url, stub.url) as replicas:
        yield replicas


@pytest.fixture
async def address(database_url: str) -> AsyncIterator[str]:
    """Where a true server serves the API, and executes nothing."""
    async with running_api(database_url) as api, served(api) as address:
        yield address
