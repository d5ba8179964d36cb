"""What readers cost: the same ten runs on one replica, followed by nobody and by very many.

The runs wait for their plans until every stream is open and go on one after the other, since jobs of many clients do
not come in step. The clients do next to nothing: they take the time of what comes and look for ids.
"""

import asyncio
import re
import time
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import aiohttp
import psutil
import psycopg

from benchmarks.bench import Bench, percentile
from benchmarks.reference_job import plan_latch
from benchmarks.streams import RUNS, commit_times, post_reference_job, start_measured_replica

APART_SECONDS = 0.2
"""Between the plan of one run and that of the next."""
LOOK_SECONDS = 0.05
_ID = re.compile(rb"\nid: (\d+)\n")
_ID_BYTES = 24
"""No line with an id is longer."""


@dataclass(slots=True)
class Figures:
    """What one number of readers cost."""

    cpu_s: float
    """Of the replica, from the first plan to the end of the last run."""
    delays_ms: list[float] = field(repr=False)
    """From the commit of an event to each of its arrivals."""

    def __str__(self) -> str:
        if not self.delays_ms:
            return f"{self.cpu_s:.2f} s | | | 0"
        median, p99 = percentile(self.delays_ms, 0.5), percentile(self.delays_ms, 0.99)
        return f"{self.cpu_s:.2f} s | {median:.1f} ms | {p99:.1f} ms | {len(self.delays_ms)}"


async def measure(surroundings: Bench, teams_dir: Path, readers: int) -> Figures:
    """Have `readers` follow ten runs from their plans to their ends."""
    replica = await start_measured_replica(surroundings, teams_dir)
    process = psutil.Process(replica.process.pid)
    try:
        async with aiohttp.ClientSession(replica.url) as session:
            ids = [await post_reference_job(session) for _ in range(RUNS)]
            await session.get(f"{surroundings.stub_url}/_seen", params={"role": "plan", "n": RUNS})
            opened = [await _Reader.on(replica.url, ids[n % RUNS]) for n in range(readers)]
            before, began = _cpu_seconds(process), time.time()
            for number in range(RUNS):
                await session.post(f"{surroundings.stub_url}/_release", json={"latch": plan_latch(number + 1)})
                await asyncio.sleep(APART_SECONDS)
            await _all_ended(surroundings.database_url)
            await asyncio.gather(*(reader.ended for reader in opened))
            spent = _cpu_seconds(process) - before
    finally:
        await replica.end()
    committed = commit_times(surroundings.database_url)
    arrivals = [(reader.run_id, seq, at) for reader in opened for seq, at in reader.arrivals]
    delays = [(at - committed[run_id, seq]) * 1000 for run_id, seq, at in arrivals if committed[run_id, seq] > began]
    return Figures(spent, delays)


class _Reader(asyncio.Protocol):
    """Follows a run, and notes when each of its events came."""

    def __init__(self, run_id: str, host: str) -> None:
        self.run_id = run_id
        self.arrivals: list[tuple[int, float]] = []
        loop = asyncio.get_running_loop()
        self.ended: asyncio.Future[None] = loop.create_future()
        self._begun: asyncio.Future[None] = loop.create_future()
        self._host = host
        self._rest = b""

    @classmethod
    async def on(cls, url: str, run_id: str) -> "_Reader":
        """A reader to whom the first event has come."""
        where = urlsplit(url)
        assert where.hostname is not None
        loop = asyncio.get_running_loop()
        _, reader = await loop.create_connection(lambda: cls(run_id, where.netloc), where.hostname, where.port)
        await reader._begun
        return reader

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Ask for the events."""
        assert isinstance(transport, asyncio.Transport)
        head = f"GET /v1/runs/{self.run_id}/events HTTP/1.1\r\nHost: {self._host}\r\nAccept: text/event-stream\r\n"
        transport.write(f"{head}Connection: close\r\n\r\n".encode())

    def data_received(self, data: bytes) -> None:
        """Note the events that are complete."""
        now, end = time.time(), 0
        data = self._rest + data
        for found in _ID.finditer(data):
            self.arrivals.append((int(found[1]), now))
            end = found.end()
        self._rest = data[max(end, len(data) - _ID_BYTES) :]
        if self.arrivals and not self._begun.done():
            self._begun.set_result(None)

    def connection_lost(self, exc: Exception | None) -> None:
        """The stream has ended."""
        error = exc or (None if self.arrivals else ConnectionError("the stream was refused"))
        for each in (self._begun, self.ended):
            if not each.done():
                each.set_exception(error) if error else each.set_result(None)


def _cpu_seconds(process: psutil.Process) -> float:
    used = process.cpu_times()
    return float(used.user + used.system)


async def _all_ended(url: str) -> None:
    """Wait until no run is left, by asking the database: the replica has nothing to do with it."""
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as connection:
        while True:
            left = await connection.execute("SELECT count(*) FROM runs WHERE finished_at IS NULL")
            if (await left.fetchone()) == (0,):
                return
            await asyncio.sleep(LOOK_SECONDS)
