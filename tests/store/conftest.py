from collections.abc import Iterator
from urllib.parse import urlsplit, urlunsplit
from uuid import uuid4

import psycopg
import pytest

from tests.support.fixtures import Services, _plain_logs, _settled_heap, services, stub
from tests.support.postgres import Databases
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


@pytest.fixture
def empty_url(databases: Databases) -> Iterator[str]:
    """A database without a schema."""
    name = f"empty_{uuid4().hex}"
    with psycopg.connect(databases.server_url, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} TEMPLATE template0".encode())
        try:
            yield urlunsplit(urlsplit(databases.server_url)._replace(path=f"/{name}"))
        finally:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())
