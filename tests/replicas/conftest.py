from collections.abc import AsyncIterator, Iterator

import psycopg
import pytest

from tests.support.fixtures import Services, _plain_logs, _settled_heap, services, stub
from tests.support.processes import Replicas
from tests.support.proxy import Proxy, proxied
from tests.support.stub_provider import StubProvider

__all__ = ["_plain_logs", "_settled_heap", "services", "stub"]


@pytest.fixture
async def replicas(database_url: str, stub: StubProvider) -> AsyncIterator[Replicas]:
    async with Replicas(database_url, stub.url) as replicas:
        yield replicas


@pytest.fixture
def sql(database_url: str) -> Iterator[psycopg.Connection]:
    """A connection of the test's own, on which each statement is a transaction."""
    with psycopg.connect(database_url, autocommit=True) as connection:
        yield connection


@pytest.fixture
async def proxy(database_url: str) -> AsyncIterator[Proxy]:
    """A network before the test's database."""
    async with proxied(database_url) as proxy:
        yield proxy


@pytest.fixture
async def remote(proxy: Proxy, stub: StubProvider, services: Services) -> AsyncIterator[Services]:
    """Services that reach the test's database over the proxy only."""
    remote = Services(proxy.url, stub)
    yield remote
    await remote.close()
