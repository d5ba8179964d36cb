"""What tests of every part share."""

from collections.abc import Iterator

import pytest

from tests.support.postgres import Databases, open_databases
from tests.support.summary import pytest_terminal_summary

__all__ = ["pytest_terminal_summary"]


@pytest.fixture(scope="session")
def databases() -> Iterator[Databases]:
    with open_databases() as databases:
        yield databases


@pytest.fixture
def database_url(databases: Databases) -> Iterator[str]:
    """A database of the test's own, with the schema and no rows."""
    with databases.fresh() as url:
        yield url
