import pytest

from app.team_files import BUILT_IN_TEAMS
from tests.api.conftest import client
from tests.engine.conftest import _plain_logs, _settled_heap, services, stub
from tests.support.fixtures import Services
from tests.support.service import Service


@pytest.fixture
async def service(services: Services) -> Service:
    """A service with all built-in teams."""
    return await services.start(built_in=BUILT_IN_TEAMS)


__all__ = ["_plain_logs", "_settled_heap", "client", "services", "stub"]
