from collections.abc import AsyncIterator

import pytest

from tests.support.api import Api, running_api
from tests.support.fixtures import _plain_logs, _settled_heap, service, services, stub


@pytest.fixture
async def api(database_url: str) -> AsyncIterator[Api]:
    """Another process on the same database, that serves the API and executes nothing."""
    async with running_api(database_url) as api:
        yield api


__all__ = ["_plain_logs", "_settled_heap", "api", "service", "services", "stub"]
