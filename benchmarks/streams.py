"""From the commit of an event to its arrival over SSE, with many streams open.

One replica on the measured core serves the streams and executes the runs. The time of a commit is Postgres's own, taken
when it begins to write the commit to disk: what the disk takes is part of the figure.
"""

import asyncio
import os
import time
from pathlib import Path
from typing import Any

import aiohttp
import psutil
import psycopg
import yaml

from benchmarks.bench import MEASURED, Bench, percentile
from benchmarks.reference_job import TEAM
from tests.support.processes import Replica, start_replica

RUNS = 10


async def measure(surroundings: Bench, teams_dir: Path, streams: int) -> dict[str, Any]:
    """Follow ten runs with `streams` readers; the delays of all arrivals in milliseconds, and what a reader weighs."""
    replica = await start_measured_replica(surroundings, teams_dir)
    arrivals: list[tuple[str, int, float]] = []
    try:
        connector = aiohttp.TCPConnector(limit=0)
        async with aiohttp.ClientSession(replica.url, connector=connector) as session:
            ids = [await post_reference_job(session) for _ in range(RUNS)]
            process = psutil.Process(replica.process.pid)
            before = process.memory_info().rss
            opened = await asyncio.gather(*(_follow(session, ids[n % RUNS], arrivals) for n in range(streams)))
            reader_kib = (process.memory_info().rss - before) / 1024 / streams
    finally:
        await replica.end()
    committed = commit_times(surroundings.database_url)
    live = [each for each in arrivals if committed[each[:2]] > max(opened)]
    delays = [(at - committed[run_id, seq]) * 1000 for run_id, seq, at in live]
    return {
        "reader_kib": reader_kib,
        "arrivals": len(delays),
        "median_ms": percentile(delays, 0.5),
        "p99_ms": percentile(delays, 0.99),
    }


async def start_measured_replica(surroundings: Bench, teams_dir: Path) -> Replica:
    """A replica on the measured core that knows the team of the reference job."""
    (teams_dir / "bench.yaml").write_text(yaml.safe_dump(TEAM), encoding="utf-8")
    replica = await start_replica(
        surroundings.database_url,
        surroundings.stub_url,
        teams_dir=str(teams_dir),
        lease_seconds="10",
        poll_seconds="2",
        log_level="warning",
    )
    os.sched_setaffinity(replica.process.pid, MEASURED)
    return replica


async def post_reference_job(session: aiohttp.ClientSession) -> str:
    """Post a reference job; the id of its run."""
    async with session.post("/v1/jobs", json={"objective": "Do the sums.", "team": "bench"}) as response:
        return str((await response.json())["id"])


async def _follow(session: aiohttp.ClientSession, run_id: str, arrivals: list[tuple[str, int, float]]) -> float:
    """Read a stream to its end; when it was opened."""
    headers = {"accept": "text/event-stream"}
    async with session.get(f"/v1/runs/{run_id}/events", headers=headers) as response:
        opened = time.time()
        async for line in response.content:
            if line.startswith(b"id:"):
                arrivals.append((run_id, int(line[3:]), time.time()))  # noqa: PERF401 what came counts if it breaks off
    return opened


def commit_times(url: str) -> dict[tuple[str, int], float]:
    """When each event was committed, by run and number."""
    with psycopg.connect(url) as connection:
        rows = connection.execute(
            "SELECT run_id, seq, extract(epoch FROM pg_xact_commit_timestamp(xmin)) FROM events"
        ).fetchall()
    return {(run_id, seq): float(at) for run_id, seq, at in rows}
