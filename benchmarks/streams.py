"""From the commit of an event to its arrival over SSE: `python -m benchmarks.streams DATABASE_URL STUB_URL STREAMS`.

The measured process serves the API and executes the runs; its clients run in a thread of their own and read the time
at which each event arrived. An event's own time is taken when it is appended, so the commit itself is part of the figure
only as far as the wake-up follows it: what is subtracted is the time at which the commit returned.
"""

import asyncio
import json
import os
import sys
import time

import httpx2
import uvloop

from app.domain.team import Team
from app.store import journal
from benchmarks.bench import SERVING, percentile
from benchmarks.reference_job import EVENTS, TEAM
from tests.support.processes import QUICK, Replicas
from tests.support.service import running_service
from tests.support.stub_provider import StubProvider

committed = journal.commit
committed_at: dict[tuple[str, int], float] = {}


async def timed_commit(database: object, owner: str, batches: list[journal.Batch]) -> set[str]:
    """The journal's commit, with the time at which each event was committed."""
    done = await committed(database, owner, batches)  # type: ignore[arg-type]
    now = time.time()
    for batch in batches:
        for event in batch.events:
            committed_at[batch.run.brief.run_id, event.seq] = now
    return done


async def main(url: str, stub_url: str, streams: int) -> None:
    """Follow `streams` runs, one stream each, from a replica that does not execute them."""
    journal.commit = timed_commit  # type: ignore[assignment]
    stub = StubProvider()
    stub.url = stub_url
    team = Team.model_validate(TEAM)
    delays: list[float] = []
    async with Replicas(url, stub_url) as replicas:
        api = await replicas.start(engine="false", heartbeat_seconds="15")
        os.sched_setaffinity(api.process.pid, SERVING)
        settings = {"runs_at_once": 20, "lease_seconds": 10, "model_calls_at_once": 10_000}
        async with (
            running_service(url, stub, **settings) as service,
            httpx2.AsyncClient(
                base_url=api.url, timeout=120, limits=httpx2.Limits(max_connections=streams + 10)
            ) as client,
        ):
            ids = [await service.submit("Do the sums.", team) for _ in range(streams)]

            async def follow(run_id: str) -> None:
                path, headers = f"/v1/runs/{run_id}/events", {"accept": "text/event-stream"}
                async with client.stream("GET", path, headers=headers) as response:
                    async for line in response.aiter_lines():
                        if line.startswith("id:"):
                            now, seq = time.time(), int(line[3:])
                            if (run_id, seq) in committed_at:
                                delays.append((now - committed_at[run_id, seq]) * 1000)

            await asyncio.gather(*(follow(run_id) for run_id in ids))
    figures = {
        "streams": streams,
        "events": len(delays),
        "of": streams * EVENTS,
        "median_ms": percentile(delays, 0.5),
        "p99_ms": percentile(delays, 0.99),
    }
    print(json.dumps(figures))


if __name__ == "__main__":
    assert QUICK
    _, url, stub_url, streams = sys.argv
    uvloop.run(main(url, stub_url, int(streams)))
