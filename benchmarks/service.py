"""The reference job by the service's engine, in a process of its own.

Run as a process: `python -m benchmarks.service DATABASE_URL STUB_URL RUNS AT_ONCE`; prints its figures as JSON. Jobs
enter as the API enters them; what HTTP adds on top is measured elsewhere.
"""

import asyncio
import json
import os
import resource
import sys
import time

import uvloop

from app.domain.team import Team
from benchmarks.floor import _cpu_seconds
from benchmarks.reference_job import EVENTS, TEAM
from tests.support.service import Service, running_service
from tests.support.stub_provider import StubProvider


async def main(url: str, stub_url: str, runs: int, at_once: int) -> None:
    """Do `runs` jobs, `at_once` at a time."""
    stub = StubProvider()
    stub.url = stub_url
    team = Team.model_validate(TEAM)
    settings = {"runs_at_once": at_once, "lease_seconds": 10, "poll_seconds": 2, "model_calls_at_once": 10_000}
    async with running_service(url, stub, **settings) as service:
        await _one(service, team)
        alone = [await _one(service, team) for _ in range(3)]
        memory = _memory_kib()
        slots, times = asyncio.Semaphore(at_once), []

        async def one() -> None:
            async with slots:
                times.append(await _one(service, team))

        before, start = _cpu_seconds(), time.perf_counter()
        await asyncio.gather(*(one() for _ in range(runs)))
        wall, cpu = time.perf_counter() - start, _cpu_seconds() - before
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    figures = {"alone": sorted(alone)[1], "times": times, "wall": wall, "cpu": cpu, "memory_kib": peak - memory}
    print(json.dumps(figures))


async def _one(service: Service, team: Team) -> float:
    """Seconds from start to end of one run, as its own record says."""
    run_id = await service.submit("Do the sums.", team)
    last = asyncio.Event()
    with service.runtime.wakeups.listening(run_id, lambda newest: last.set() if newest >= EVENTS else None):
        await last.wait()
    row = await service.ended(run_id)
    assert row["status"] == "succeeded", row["stop_reason"]
    return float((row["finished_at"] - row["started_at"]).total_seconds())


def _memory_kib() -> int:
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * 4


if __name__ == "__main__":
    _, url, stub_url, runs, at_once = sys.argv
    if os.environ.get("PROFILE"):
        import cProfile

        cProfile.run("uvloop.run(main(url, stub_url, int(runs), int(at_once)))", "/tmp/prof.out")
        raise SystemExit
    uvloop.run(main(url, stub_url, int(runs), int(at_once)))
