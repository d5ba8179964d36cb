"""A stub provider and a client of it for each test."""

from collections.abc import AsyncIterator

import pytest

from app.llm.claude import Claude
from tests.support.model_calls import claude_at
from tests.support.stub_provider import StubProvider


@pytest.fixture
async def stub() -> AsyncIterator[StubProvider]:
    async with StubProvider() as stub:
        yield stub


@pytest.fixture
async def claude(stub: StubProvider) -> AsyncIterator[Claude]:
    client = claude_at(stub.url)
    yield client
    await client.close()
