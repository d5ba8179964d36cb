"""Several replicas: how fast one takes over or hears of a cancel, how soon a job runs, and what more of them bring."""

import asyncio
import time
from pathlib import Path
from typing import Any

import aiohttp
import httpx2
import yaml

from benchmarks.bench import Bench, percentile
from benchmarks.reference_job import TEAM
from tests.support.processes import Replica, post_job, start_replica
from tests.support.proxy import listening, proxied
from tests.support.stub_answers import as_json, held
from tests.support.stub_provider import StubProvider

SLOW = {"lease_seconds": "10", "poll_seconds": "2"}
FAST = {"lease_seconds": "2", "poll_seconds": "0.5"}
"""The default lease, and a short one."""


async def takeover_seconds(surroundings: Bench, settings: dict[str, str], times: int) -> list[float]:
    """Kill the replica that executes a run, `times` times: seconds until another one asks the model on its behalf."""
    async with StubProvider() as stub:
        stub.on("plan", held(as_json({"tasks": []})))
        survivor = await start_replica(surroundings.database_url, stub.url, **settings)
        try:
            return [await _one_takeover(surroundings, stub, survivor, settings, seen=2 * n) for n in range(times)]
        finally:
            await survivor.end()


async def _one_takeover(
    surroundings: Bench, stub: StubProvider, survivor: Replica, settings: dict[str, str], *, seen: int
) -> float:
    """The victim alone hears of the job, since the survivor executes nothing until the victim has the run."""
    victim = await start_replica(surroundings.database_url, stub.url, **settings)
    try:
        survivor.signal(19)
        async with victim.client as client:
            run_id = (await client.post("/v1/jobs", json={"objective": "Wait."})).json()["id"]
        await stub.seen(seen + 1, role="plan")
        survivor.signal(18)
        await victim.kill()
        died = time.monotonic()
        await stub.seen(seen + 2, role="plan", timeout_s=60)
        waited = time.monotonic() - died
        async with survivor.client as client:
            await client.post(f"/v1/runs/{run_id}/cancel")
        return waited
    finally:
        await victim.end()


async def cancel_seconds(surroundings: Bench, times: int, *, deaf: bool) -> list[float]:
    """Cancel a run through a replica that does not execute it: seconds until its model call is broken off.

    The one that executes it hears no notices if it is `deaf`.
    """
    async with StubProvider() as stub, proxied(surroundings.database_url) as proxy:
        stub.on("plan", held(as_json({"tasks": []})))
        asked = await start_replica(surroundings.database_url, stub.url, **SLOW, engine="false")
        executing = await start_replica(proxy.url, stub.url, **SLOW)
        try:
            if deaf:
                proxy.newcomers = "refuse"
                assert proxy.drop(listening)
            async with asked.client as client:
                return [await _one_cancel(client, stub, asked, seen=n) for n in range(times)]
        finally:
            await executing.end()
            await asked.end()


async def _one_cancel(client: httpx2.AsyncClient, stub: StubProvider, asked: Replica, *, seen: int) -> float:
    run_id = await post_job(asked)
    call = await stub.seen(seen + 1, role="plan")
    start = time.monotonic()
    await client.post(f"/v1/runs/{run_id}/cancel")
    await stub.ended(call)
    assert call.ended_at is not None
    return call.ended_at - start


async def first_calls(surroundings: Bench, jobs: int, *, busy_with: int) -> list[float]:
    """Seconds from POST to the first model call of `jobs` jobs, one after the other, while others are in flight."""
    async with StubProvider() as stub:
        stub.on("plan", held(as_json({"tasks": []})))
        settings = {"runs_at_once": "1000", "model_calls_at_once": "1000", **SLOW}
        replica = await start_replica(surroundings.database_url, stub.url, **settings)
        try:
            async with aiohttp.ClientSession(replica.url) as session:
                for _ in range(busy_with):
                    await _post(session, "general")
                if busy_with:
                    await stub.seen(busy_with, role="plan", timeout_s=120)
                waits = []
                for n in range(jobs):
                    start = time.monotonic()
                    await _post(session, "general")
                    call = await stub.seen(busy_with + n + 1, role="plan", timeout_s=60)
                    waits.append(call.at - start)
        finally:
            await replica.end()
    return waits


async def throughput(surroundings: Bench, teams_dir: Path, replicas: int, jobs: int) -> float:
    """Reference jobs a second with so many replicas, on whatever cores there are."""
    (teams_dir / "bench.yaml").write_text(yaml.safe_dump(TEAM), encoding="utf-8")
    started: list[Replica] = []
    settings = {"teams_dir": str(teams_dir), "log_level": "warning", "runs_at_once": "50", **SLOW}
    try:
        for _ in range(replicas):
            replica = await start_replica(surroundings.database_url, surroundings.stub_url, **settings)
            started.append(replica)
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:
            start = time.monotonic()
            done = await asyncio.gather(*(_done(session, started[n % replicas].url) for n in range(jobs)))
            wall = time.monotonic() - start
    finally:
        for replica in started:
            await replica.end()
    assert set(done) == {"succeeded"}
    return jobs / wall


async def _post(session: aiohttp.ClientSession, team: str, url: str = "") -> dict[str, Any]:
    async with session.post(f"{url}/v1/jobs", json={"objective": "Do the sums.", "team": team}) as response:
        run: dict[str, Any] = await response.json()
        return run


async def _done(session: aiohttp.ClientSession, url: str) -> str:
    run = await _post(session, "bench", url)
    while run["finished_at"] is None:
        async with session.get(f"{url}/v1/runs/{run['id']}", headers={"prefer": "wait=60"}) as response:
            run = await response.json()
    return str(run["status"])


def spread(values: list[float], unit: float = 1000) -> str:
    """Median and 99th percentile of seconds, in milliseconds."""
    return (
        f"{percentile(values, 0.5) * unit:.0f} ms (median), {percentile(values, 0.99) * unit:.0f} ms (99th percentile)"
    )
