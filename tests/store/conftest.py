from collections.abc import Iterator

import psycopg
import pytest

from tests.support.fixtures import Services, _plain_logs, _settled_heap, services, stub
from tests.support.service import Service

__all__ = ["_plain_logs", "_settled_heap", "services", "stub"]


@pytest.fixture
async def service(services: Services) -> Service:
    """A service that executes nothing."""
    return await services.start(engine=False)


@pytest.fixture
def sql(database_url: str) -> Iterator[psycopg.Connection]:
    """A connection of the test's own, on which each statement is a transaction."""
    with psycopg.connect(database_url, autocommit=True) as connection:
        yield connection
