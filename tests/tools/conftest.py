from collections.abc import AsyncIterator, Sequence
from ipaddress import ip_address

import pytest

from app.tools.fetch_page import PageFetcher
from app.tools.network_guard import NetworkGuard, is_public, resolve
from app.tools.sandbox import Sandbox
from app.tools.tool import ToolContext
from tests.tools.site import Site, open_site

STAND_IN = ip_address("127.0.0.2")
"""Plays an address of the public internet; 127.0.0.1 stays what it is."""


class Names:
    """A name server: each name has answers to give in turn, the last one for ever."""

    def __init__(self) -> None:
        self.answers: dict[str, list[list[str]]] = {"public.example": [[str(STAND_IN)]]}
        self.asked: list[str] = []

    async def resolve(self, host: str, port: int) -> Sequence[str]:
        self.asked.append(host)
        if host not in self.answers:
            return await resolve(host, port)
        answers = self.answers[host]
        return answers.pop(0) if len(answers) > 1 else answers[0]


@pytest.fixture
def names() -> Names:
    return Names()


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    """The server behind public.example."""
    async with open_site(str(STAND_IN)) as site:
        yield site


@pytest.fixture
async def canary() -> AsyncIterator[Site]:
    """A server inside: nothing may ever connect to it."""
    async with open_site("127.0.0.1") as site:
        yield site


@pytest.fixture
async def sandbox() -> AsyncIterator[Sandbox]:
    async with Sandbox() as sandbox:
        yield sandbox


@pytest.fixture
async def pages(names: Names, sandbox: Sandbox) -> AsyncIterator[PageFetcher]:
    guard = NetworkGuard(
        resolve=names.resolve,
        permits=lambda address: address == STAND_IN or is_public(address),
        ports=range(65_536),
    )
    async with PageFetcher(sandbox, guard) as pages:
        yield pages


@pytest.fixture
def context() -> ToolContext:
    return ToolContext(inputs=(), key="call-1")
