"""The service as processes of its own, to be killed, stopped and started again."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import httpx2

ROOT = Path(__file__).resolve().parents[2]
READY = "Chargehand is at "

QUICK = {
    "CHARGEHAND_LEASE_SECONDS": "1",
    "CHARGEHAND_POLL_SECONDS": "0.2",
    "CHARGEHAND_DRAIN_SECONDS": "2",
    "CHARGEHAND_RETRY_BASE_S": "0.02",
    "CHARGEHAND_LOG_FORMAT": "json",
}
"""Settings under which another replica takes over within about a second."""


@dataclass(slots=True)
class Replica:
    """One `chargehand serve` process."""

    process: asyncio.subprocess.Process
    url: str
    said: list[str] = field(default_factory=list)
    """What it wrote to standard error, line by line."""
    logged: list[str] = field(default_factory=list)
    """Its log lines."""
    readers: list[asyncio.Task[None]] = field(default_factory=list)

    @property
    def client(self) -> httpx2.AsyncClient:
        """A client of its API."""
        return httpx2.AsyncClient(base_url=self.url, timeout=30, trust_env=False)

    def signal(self, number: int) -> None:
        """Send it a signal."""
        self.process.send_signal(number)

    async def kill(self) -> None:
        """SIGKILL, and wait until it is gone."""
        self.process.kill()
        await self.process.wait()

    async def stop(self) -> int:
        """SIGTERM, and its exit code."""
        self.process.send_signal(signal.SIGTERM)
        async with asyncio.timeout(30):
            return await self.process.wait()

    async def end(self) -> None:
        """Make sure that it is gone, whatever state it is in."""
        if self.process.returncode is None:
            self.process.send_signal(signal.SIGCONT)
            self.process.kill()
            await self.process.wait()
        for reader in self.readers:
            reader.cancel()


async def start_process(
    arguments: Sequence[str], environment: dict[str, str], release: Path = ROOT
) -> asyncio.subprocess.Process:
    """A Python process in the checkout, with nothing of ours in its environment but `environment`.

    `release` is another directory that has our packages, of which `-m` then takes the modules."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("CHARGEHAND_", "ANTHROPIC_"))}
    return await asyncio.create_subprocess_exec(
        sys.executable,
        *arguments,
        cwd=release,
        env=kept | environment,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        limit=2**24,
    )


async def start_replica(
    database_url: str, stub_url: str, release: Path = ROOT, *, program: str = "app", **settings: str
) -> Replica:
    """A replica that serves on a free port, or on the one that is named; returns once it does.

    `program` is the module that is run, of `release`.
    """
    port = settings.pop("port", "0")
    environment = {
        "DATABASE_URL": database_url,
        "ANTHROPIC_API_KEY": "sk-test",
        "ANTHROPIC_BASE_URL": stub_url,
        **QUICK,
        **{f"CHARGEHAND_{name.upper()}": value for name, value in settings.items()},
    }
    process = await start_process(["-m", program, "serve", "--port", port], environment, release)
    replica = Replica(process, "")
    try:
        await _comes_up(replica)
    except BaseException:
        await replica.end()
        raise
    return replica


async def _comes_up(replica: Replica) -> None:
    ready, process = asyncio.Event(), replica.process
    assert process.stderr is not None
    assert process.stdout is not None
    replica.readers.append(asyncio.create_task(_read(process.stderr, replica.said, ready)))
    replica.readers.append(asyncio.create_task(_read(process.stdout, replica.logged, ready)))
    async with asyncio.timeout(30):
        while not (found := [line for line in replica.said if line.startswith(READY)]):
            if process.returncode is not None:
                raise RuntimeError(f"the replica ended: {replica.said}")
            ready.clear()
            await asyncio.wait(
                {asyncio.create_task(ready.wait()), asyncio.create_task(process.wait())}, return_when="FIRST_COMPLETED"
            )
    replica.url = found[0].removeprefix(READY)
    await _answers(replica)


async def _read(stream: asyncio.StreamReader, lines: list[str], news: asyncio.Event) -> None:
    while line := await stream.readline():
        lines.append(line.decode().rstrip())
        news.set()


async def _answers(replica: Replica) -> None:
    """The address is printed once the socket listens: the first request waits until the application has started."""
    async with asyncio.timeout(30), replica.client as client:
        while (await client.get("/readyz")).status_code != 200:
            continue  # Its database may be away for a moment.


@dataclass(slots=True)
class Replicas:
    """Replicas on one database and one provider; all of them end with the test."""

    database_url: str
    stub_url: str
    started: list[Replica] = field(default_factory=list)

    async def start(self, release: Path = ROOT, /, **settings: str) -> Replica:
        """One more, of a release."""
        replica = await start_replica(self.database_url, self.stub_url, release, **settings)
        self.started.append(replica)
        return replica

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        for replica in self.started:
            await replica.end()


async def post_job(replica: Replica, **job: Any) -> str:
    """POST a job; the run's id."""
    async with replica.client as client:
        response = await client.post("/v1/jobs", json={"objective": "Find out."} | job)
        assert response.status_code == 202, response.text
        return str(response.json()["id"])


async def run_at_end(replica: Replica, run_id: str, *, within_s: float = 30) -> dict[str, Any]:
    """The run's resource once it has ended."""
    async with asyncio.timeout(within_s), replica.client as client:
        while True:
            response = await client.get(f"/v1/runs/{run_id}", headers={"prefer": "wait=5"})
            run: dict[str, Any] = response.json()
            if run["finished_at"] is not None:
                return run


@asynccontextmanager
async def following(replica: Replica, run_id: str, after: int = 0) -> AsyncIterator[AsyncIterator[int]]:
    """The numbers of the run's events as they come over SSE from this replica."""
    async with (
        replica.client as client,
        client.stream("GET", f"/v1/runs/{run_id}/events", headers=_stream_headers(after), timeout=60) as response,
    ):
        yield _numbers(response)


async def until_told(replica: Replica, run_id: str, type_: str, *, within_s: float = 20) -> None:
    """Wait until the run's stream has told an event of that type."""
    async with (
        asyncio.timeout(within_s),
        replica.client as client,
        client.stream("GET", f"/v1/runs/{run_id}/events", headers=_stream_headers(0), timeout=60) as response,
    ):
        async for line in response.aiter_lines():
            if line.removeprefix("event:").strip() == type_:
                return
    raise AssertionError(f"the run ended without {type_}")


def _stream_headers(after: int) -> dict[str, str]:
    return {"accept": "text/event-stream"} | ({"last-event-id": str(after)} if after else {})


async def _numbers(response: httpx2.Response) -> AsyncIterator[int]:
    async for line in response.aiter_lines():
        if line.startswith("id:"):
            yield int(line.removeprefix("id:"))
