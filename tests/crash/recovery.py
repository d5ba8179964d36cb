"""What comes after a death: its runs are free, and an engine that lives on takes them."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tests.crash.features import PARK_AFTER_S
from tests.support.effects import Ledger, example_tools
from tests.support.rows import every
from tests.support.service import Service, running_service
from tests.support.stub_provider import StubProvider


async def leave_to_others(service: Service) -> None:
    """Let the lease of the dead end now: how long that takes otherwise is no matter of these tests."""
    await every(service.database, "UPDATE runs SET lease_until = now() WHERE owner IS NOT NULL RETURNING id")


@asynccontextmanager
async def survivor_of(service: Service, stub: StubProvider, ledger: Ledger) -> AsyncIterator[Service]:
    """An engine on the service's database, with the tools whose effects are in `ledger`."""
    tools = example_tools(ledger)
    async with running_service(service.url, stub, poll_seconds=0.1, park_after_s=PARK_AFTER_S, tools=tools) as survivor:
        yield survivor
