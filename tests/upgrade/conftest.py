from collections.abc import Iterator
from dataclasses import replace
from urllib.parse import urlsplit

import pytest

from app.store.schema import migrate
from tests.support.fixtures import _plain_logs, _settled_heap, services, stub
from tests.support.postgres import Databases
from tests.upgrade.left import SCHEMA_0_1

__all__ = ["_plain_logs", "_settled_heap", "services", "stub"]


@pytest.fixture(scope="session")
def databases_of_0_1(databases: Databases) -> Iterator[Databases]:
    """Databases with the schema of release 0.1."""
    with replace(databases, template="template0").fresh() as url:
        migrate(url, SCHEMA_0_1)
        yield replace(databases, template=urlsplit(url).path.removeprefix("/"))


@pytest.fixture
def database_url(databases_of_0_1: Databases) -> Iterator[str]:
    """A database of the test's own, with the schema of release 0.1 and no rows."""
    with databases_of_0_1.fresh() as url:
        yield url
