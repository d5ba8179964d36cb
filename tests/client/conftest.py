from collections.abc import AsyncIterator

import pytest

from tests.support.fixtures import stub
from tests.support.processes import Replicas
from tests.support.stub_provider import StubProvider

__all__ = ["stub"]


@pytest.fixture
async def replicas(database_url: str, stub: StubProvider) -> AsyncIterator[Replicas]:
    async with Replicas(database_url, stub.url) as replicas:
        yield replicas
