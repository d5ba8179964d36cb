from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass

import pytest
from playwright.async_api import Page

from tests.support.api import served_service
from tests.support.browser import Complaints, running_chromium, window
from tests.support.fixtures import Services, _plain_logs, _settled_heap, service, services, stub
from tests.support.processes import Replicas
from tests.support.service import Service
from tests.support.stub_provider import StubProvider

__all__ = ["Services", "_plain_logs", "_settled_heap", "service", "services", "stub"]


@dataclass(slots=True)
class Desk:
    """Somebody with a browser before a service."""

    url: str
    service: Service
    page: Page
    complaints: Complaints

    async def open(self, path: str) -> Page:
        """The page of the console at an address such as `/runs?status=failed`."""
        await self.page.goto(f"{self.url}/console{path}")
        return self.page


@pytest.fixture(scope="session")
def chromium_address() -> Iterator[str]:
    with running_chromium() as address:
        yield address


@pytest.fixture
def complaints() -> Iterator[Complaints]:
    """Whatever is in it at the end fails the test."""
    complaints = Complaints()
    yield complaints
    assert complaints == []


@pytest.fixture
async def page(chromium_address: str, complaints: Complaints) -> AsyncIterator[Page]:
    """A window of 1280 × 900; `page.set_viewport_size` makes it another."""
    async with window(chromium_address, complaints) as page:
        yield page


@pytest.fixture
async def desk(service: Service, page: Page, complaints: Complaints) -> AsyncIterator[Desk]:
    """The console of a service, whose models are the stub's."""
    async with served_service(service) as url:
        yield Desk(url, service, page, complaints)
        await page.goto("about:blank")  # Its streams end before the service does.


@pytest.fixture
async def quiet_desk(services: Services, page: Page, complaints: Complaints) -> AsyncIterator[Desk]:
    """The console of a service without an engine: what happens in its runs is what a test writes."""
    service = await services.start(engine=False)
    async with served_service(service) as url:
        yield Desk(url, service, page, complaints)
        await page.goto("about:blank")


@pytest.fixture
async def replicas(database_url: str, stub: StubProvider) -> AsyncIterator[Replicas]:
    async with Replicas(database_url, stub.url) as replicas:
        yield replicas
