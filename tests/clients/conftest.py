from collections.abc import AsyncIterator

import pytest

from tests.support.fixtures import stub
from tests.support.processes import Replica, start_replica
from tests.support.stub_provider import StubProvider

__all__ = ["stub"]


@pytest.fixture
async def served(database_url: str, stub: StubProvider) -> AsyncIterator[Replica]:
    """A process that serves, with the demo model."""
    replica = await start_replica(database_url, stub.url, model="demo")
    yield replica
    await replica.end()
