"""The reference job by the service's engine, in a process of its own.

Run as a process: `python -m benchmarks.service DATABASE_URL STUB_URL RUNS AT_ONCE STAGGER_SECONDS`; prints its figures
as JSON. Jobs enter as the API enters them, without HTTP around it.
"""

import asyncio
import json
import resource
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import uvloop

from app.domain.team import Team
from app.runtime import tune_garbage_collection
from benchmarks.floor import cpu_seconds
from benchmarks.reference_job import EVENTS, TEAM
from tests.support.service import Service, running_service
from tests.support.stub_provider import StubProvider

ALONE = 7
"""Runs that are measured one at a time; the first of them only warms up."""


@asynccontextmanager
async def tuned_service(url: str, stub_url: str, at_once: int, **changes: Any) -> AsyncIterator[Service]:
    """A service as `serve` would have it, with some settings changed, against a provider that is there already."""
    stub = StubProvider()
    stub.url = stub_url
    settings = {"runs_at_once": at_once, "lease_seconds": 10, "poll_seconds": 2, "model_calls_at_once": 10_000}
    async with running_service(url, stub, **settings | changes) as service:
        tune_garbage_collection()
        yield service


async def main(url: str, stub_url: str, runs: int, at_once: int, stagger_s: float) -> None:
    """Do `runs` jobs, `at_once` at a time; the first ones start `stagger_s` seconds one after the other."""
    team = Team.model_validate(TEAM)
    async with tuned_service(url, stub_url, at_once) as service:
        alone = [await one(service, team) for _ in range(ALONE)][1:]
        slots, times = asyncio.Semaphore(at_once), []

        async def next_one(n: int) -> None:
            await asyncio.sleep(min(n, at_once) * stagger_s)
            async with slots:
                times.append(await one(service, team))

        before, start = cpu_seconds(), time.perf_counter()
        await asyncio.gather(*(next_one(n) for n in range(runs)))
        wall, cpu = time.perf_counter() - start, cpu_seconds() - before
    figures = {
        "alone": sorted(alone)[len(alone) // 2],
        "times": times,
        "wall": wall,
        "cpu": cpu,
        "extra_runs": ALONE,
        "peak_kib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,
    }
    print(json.dumps(figures))


async def one(service: Service, team: Team) -> float:
    """Seconds from start to end of one run, as its own record says."""
    run_id = await service.submit("Do the sums.", team)
    last = asyncio.Event()
    with service.runtime.wakeups.listening(run_id, lambda newest: last.set() if newest >= EVENTS else None):
        await last.wait()
    row = await service.ended(run_id)
    assert row["status"] == "succeeded", row["stop_reason"]
    return float((row["finished_at"] - row["started_at"]).total_seconds())


if __name__ == "__main__":
    _, url, stub_url, runs, at_once, stagger_s = sys.argv
    uvloop.run(main(url, stub_url, int(runs), int(at_once), float(stagger_s)))
