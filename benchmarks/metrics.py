"""What metrics cost: the reference job by the service's engine, with and without somebody who counts, in turn.

Run as a process: `python -m benchmarks.metrics DATABASE_URL STUB_URL RUNS AT_ONCE`; prints its figures as JSON. A
scrape every second is part of what is measured.
"""

import asyncio
import json
import sys
import time
from contextlib import suppress

import uvloop

from app.domain.team import Team
from app.store.witness import Witness
from benchmarks.floor import cpu_seconds
from benchmarks.reference_job import TEAM
from benchmarks.service import one, tuned_service
from tests.support.service import Service

TURNS = 8
"""Half of them with metrics; the order changes, so that what grows with time is on both sides."""


async def main(url: str, stub_url: str, runs: int, at_once: int) -> None:
    """Do `runs` jobs in each turn, `at_once` at a time."""
    team = Team.model_validate(TEAM)
    async with tuned_service(url, stub_url, at_once) as service:
        counting, spent = service.database.witness, {True: [0.0, 0.0], False: [0.0, 0.0]}
        await turn(service, team, at_once, at_once)
        for number in range(TURNS):
            counts = number % 4 in (0, 3)
            service.database.witness = counting if counts else Witness()
            scraping = asyncio.create_task(_scrape_forever(service)) if counts else None
            cpu, wall = cpu_seconds(), time.perf_counter()
            await turn(service, team, runs, at_once)
            spent[counts][0] += cpu_seconds() - cpu
            spent[counts][1] += time.perf_counter() - wall
            if scraping is not None:
                scraping.cancel()
                with suppress(asyncio.CancelledError):
                    await scraping
        begun = time.perf_counter()
        text = await service.runtime.scrape.text(service.database, 0)
        scrape_ms = (time.perf_counter() - begun) * 1000
    done = runs * TURNS / 2
    figures = {
        name: {"cpu_ms": cpu / done * 1000, "runs_per_s": done / wall}
        for name, (cpu, wall) in (("with", spent[True]), ("without", spent[False]))
    }
    print(json.dumps(figures | {"scrape_ms": scrape_ms, "scrape_bytes": len(text)}))


async def turn(service: Service, team: Team, runs: int, at_once: int) -> None:
    """Do `runs` jobs, `at_once` at a time."""
    slots = asyncio.Semaphore(at_once)

    async def next_one() -> None:
        async with slots:
            await one(service, team)

    await asyncio.gather(*(next_one() for _ in range(runs)))


async def _scrape_forever(service: Service) -> None:
    while True:
        await service.runtime.scrape.text(service.database, 0)
        await asyncio.sleep(1)


if __name__ == "__main__":
    _, url, stub_url, runs, at_once = sys.argv
    uvloop.run(main(url, stub_url, int(runs), int(at_once)))
