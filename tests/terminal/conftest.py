import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
import structlog

from app import cli
from tests.support.api import Api, running_api, served
from tests.support.fixtures import _settled_heap, service, services, stub

__all__ = ["_settled_heap", "service", "services", "stub"]


class Ended(NamedTuple):
    """How a command ended, and what it printed."""

    code: object
    out: str
    err: str


Typed = Callable[..., Awaitable[Ended]]
"""Types a command, and lets it run beside the test."""


@pytest.fixture
def _plain_logs() -> Iterator[None]:
    """No log lines: standard output is the command's."""
    structlog.configure(logger_factory=structlog.ReturnLoggerFactory())
    yield
    structlog.reset_defaults()


@pytest.fixture(autouse=True)
def _own_environment(_plain_logs: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Nobody's profiles, keys and editors."""
    for name in os.environ:
        if name.startswith("CHARGEHAND_") or name in {"VISUAL", "EDITOR", "NO_COLOR", "FORCE_COLOR", "BROWSER"}:
            monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


@pytest.fixture
async def api(database_url: str) -> AsyncIterator[Api]:
    """Another process on the same database, that serves the API and executes nothing."""
    async with running_api(database_url) as api:
        yield api


@pytest.fixture
async def address(api: Api) -> AsyncIterator[str]:
    """Where a true server serves `api`."""
    async with served(api) as address:
        yield address


@pytest.fixture
def chargehand(capsys: pytest.CaptureFixture[str]) -> Typed:
    """Runs a command in a thread of its own."""

    def run(arguments: tuple[str, ...]) -> object:
        with pytest.raises(SystemExit) as end:
            cli.main(arguments)
        return end.value.code or 0

    async def typed(*arguments: str) -> Ended:
        code = await asyncio.to_thread(run, arguments)
        return Ended(code, *capsys.readouterr())

    return typed


@pytest.fixture
def at_service(address: str, chargehand: Typed, monkeypatch: pytest.MonkeyPatch) -> Typed:
    """The same, and it is the service of `api` that is meant."""
    monkeypatch.setenv("CHARGEHAND_URL", address)
    return chargehand
