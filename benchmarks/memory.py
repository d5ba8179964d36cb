"""Memory per run that waits on the model: `python -m benchmarks.memory DATABASE_URL STUB_URL RUNS`."""

import asyncio
import gc
import json
import sys
from pathlib import Path

import uvloop

from app.domain.team import Team
from benchmarks.reference_job import TEAM
from tests.support.service import running_service
from tests.support.stub_provider import StubProvider


async def main(url: str, stub_url: str, runs: int) -> None:
    """Start `runs` runs, have all of them wait for their plan, and weigh the process."""
    stub = StubProvider()
    stub.url = stub_url
    team = Team.model_validate(TEAM)
    settings = {"runs_at_once": runs + 1, "lease_seconds": 60, "model_calls_at_once": 10_000}
    async with running_service(url, stub, **settings) as service:
        await service.cancel(await service.submit("Warm up.", team))
        gc.collect()
        before = resident_kib()
        ids = [await service.submit("Do the sums.", team) for _ in range(runs)]
        for run_id in ids:
            await service.until(run_id, lambda row: row["status"] == "running", 60)
        gc.collect()
        after = resident_kib()
        await asyncio.gather(*(service.cancel(run_id) for run_id in ids))
        for run_id in ids:
            await service.ended(run_id, 60)
    print(json.dumps({"runs": runs, "kib_per_run": (after - before) / runs}))


def resident_kib() -> int:
    """Memory of this process that is in RAM."""
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * 4


if __name__ == "__main__":
    _, url, stub_url, runs = sys.argv
    uvloop.run(main(url, stub_url, int(runs)))
