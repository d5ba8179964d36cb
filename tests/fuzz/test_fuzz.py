"""Odd replies, odd requests and odd tool calls: nothing freezes, kills or miscounts.

Each test goes on for CHARGEHAND_FUZZ_MINUTES, through cases that CHARGEHAND_FUZZ_SEED decides, one after the other.
"""

import asyncio
import gc
import os
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import urlsplit

import yaml

from app.domain import events as ev
from app.domain.team import Team
from app.domain.usage import Usage
from app.domain.worker import Worker
from app.store.database import Database
from app.tools.catalogue import catalogue
from app.tools.fetch_page import PageFetcher
from app.tools.network_guard import NetworkGuard
from app.tools.sandbox import Sandbox
from tests.fuzz import oddities
from tests.fuzz.provider import OddProvider
from tests.fuzz.requests import answer_to, odd_request
from tests.fuzz.tool_calls import HOST, ToolCall, odd_inputs
from tests.fuzz.watch import LoopWatch, Watch, faults_in_logs
from tests.support.processes import Replica, post_job, run_at_end, start_replica
from tests.support.rows import check_rows, events_in, every
from tests.support.summary import TOLD
from tests.tools.site import open_site

MINUTES = float(os.environ.get("CHARGEHAND_FUZZ_MINUTES", "0.15"))
SEED = os.environ.get("CHARGEHAND_FUZZ_SEED", "1")
AT_ONCE = 6
RUN_TAKES_S = 90
LOOP_LATE_S = 2.0
MOST_SENT = 20_000_000
"""Bytes of a job; more is refused while it is sent."""
SITE = "127.0.0.2"
"""Plays an address of the public internet."""
PLAUSIBLE_TOKENS = 100_000_000
TEAM = Team(
    name="crew",
    workers=(
        Worker(
            name="analyst",
            description="Works things out.",
            instructions="Work out.",
            tools=("query_data", "read_input", "calculate"),
            max_steps=6,
        ),
        Worker(name="writer", description="Writes.", instructions="Write."),
    ),
)

Told = Callable[[str, object], None]


def batches() -> Iterator[range]:
    """Numbers of cases, so many at a time, until the time is over."""
    enough = time.monotonic() + 60 * MINUTES
    start = 0
    while start == 0 or time.monotonic() < enough:
        yield range(start, start + AT_ONCE)
        start += AT_ONCE


@asynccontextmanager
async def served(database_url: str, provider_url: str, home: Path) -> AsyncIterator[Replica]:
    """One replica, which nothing may end."""
    (home / "crew.yaml").write_text(yaml.safe_dump(TEAM.model_dump(mode="json")))
    replica = await start_replica(database_url, provider_url, teams_dir=str(home), lease_seconds="10")
    try:
        yield replica
    finally:
        await replica.end()


async def faults_of_runs(database: Database, run_ids: set[str]) -> list[str]:
    """What is wrong with runs that have ended: how they ended, and what they say that they cost."""
    faults: list[str] = []
    for run_id in run_ids:
        await check_rows(database, run_id)
        log = await events_in(database, run_id)
        faults += [f"{run_id}: {fault}" for fault in _faults_of_log(log)]
    for row in await every(database, "SELECT id, owner_epoch FROM runs WHERE owner_epoch > 1"):
        if row["id"] in run_ids and not any(
            event.type == "run.waiting" for event in await events_in(database, row["id"])
        ):
            faults.append(f"{row['id']} lost its owner")
    return faults


def _faults_of_log(log: list[ev.Event]) -> Iterator[str]:
    for event in log:
        problem = getattr(event.data, "error", None)
        if problem is not None and problem.code == "internal_error":
            yield f"{event.type}: {problem}"
        usage = getattr(event.data, "usage", None)
        if usage is not None:
            yield from _faults_of_usage(usage)


def _faults_of_usage(usage: Usage) -> Iterator[str]:
    numbers = usage.model_dump(exclude={"cost_usd", "estimated"})
    if any(not 0 <= number <= PLAUSIBLE_TOKENS for number in numbers.values()) or not 0 <= usage.cost_usd < 10_000:
        yield f"counted {usage}"


async def test_odd_replies_end_runs_and_nothing_else(database_url: str, tmp_path: Path, record_property: Told) -> None:
    database = Database(database_url, pool=2)
    ends: Counter[str] = Counter()
    counted = 0
    async with OddProvider(SEED) as provider, served(database_url, provider.url, tmp_path) as replica:
        with Watch(replica) as watch:
            for batch in batches():
                runs = await asyncio.gather(*(_run_of(replica, Random(f"{SEED}:{case}")) for case in batch))
                faults = await faults_of_runs(database, {run["id"] for run in runs})
                ends.update(f"{run['status']}/{run['stop_reason']}" for run in runs)
                counted += sum(run["usage"]["llm_calls"] for run in runs)
                if counted != provider.requests:
                    faults.append(f"{counted} calls are told of, and {provider.requests} were sent")
                faults += [*watch.told(), *faults_in_logs(replica)]
                assert faults == [], f"cases {batch} of seed {SEED}: {faults}"
    await database.close()
    record_property(
        TOLD,
        f"fuzz of replies, seed {SEED}: {sum(ends.values())} runs, {provider.requests} requests; "
        f"latest answer {watch.latest_s:.2f} s, most memory {watch.most_bytes / 2**20:.0f} MiB\n  "
        + ", ".join(f"{count} {what}" for what, count in (ends | provider.done).most_common()),
    )


def _body(chance: Random) -> bytes:
    """A job that may be sent. It takes seconds to write some, in which a client on this loop would time out."""
    while True:
        job = {"team": "crew", "inputs": odd_inputs(chance), "limits": {"timeout_s": 30, "attempts": 2}}
        body = oddities.encoded({"objective": "Find out."} | job, chance)
        if len(body) <= MOST_SENT:
            return body


async def _run_of(replica: Replica, chance: Random) -> dict[str, Any]:
    body = await asyncio.to_thread(_body, chance)
    async with replica.client as client:
        response = await client.post("/v1/jobs", content=body, headers={"content-type": "application/json"})
    if response.status_code in (400, 422):  # The inputs were too odd.
        return await _run_of(replica, chance)
    return await run_at_end(replica, response.json()["id"], within_s=RUN_TAKES_S)


async def test_odd_requests_are_answered_and_nothing_else(
    database_url: str, tmp_path: Path, record_property: Told
) -> None:
    database = Database(database_url, pool=2)
    statuses: Counter[int] = Counter()
    async with OddProvider(SEED, odd=0) as provider, served(database_url, provider.url, tmp_path) as replica:
        known = await post_job(replica, team="crew")
        port = urlsplit(replica.url).port
        assert port is not None
        with Watch(replica) as watch:
            for batch in batches():
                requests = [odd_request(Random(f"{SEED}:{case}"), known) for case in batch]
                answers = await asyncio.gather(*(answer_to(request, port) for request in requests))
                faults = [
                    f"{fault}: {request[:300]!r}"
                    for answer, request in zip(answers, requests, strict=True)
                    if (fault := answer.fault())
                ]
                statuses.update(answer.status for answer in answers)
                faults += [*watch.told(), *faults_in_logs(replica)]
                assert faults == [], f"cases {batch} of seed {SEED}: {faults}"
            run_ids = {row["id"] for row in await every(database, "SELECT id FROM runs")}
            for run_id in run_ids:
                await run_at_end(replica, run_id, within_s=RUN_TAKES_S)
            assert [*await faults_of_runs(database, run_ids), *watch.told(), *faults_in_logs(replica)] == []
    await database.close()
    record_property(
        TOLD,
        f"fuzz of requests, seed {SEED}: {sum(statuses.values())} requests, {len(run_ids)} runs; latest answer "
        f"{watch.latest_s:.2f} s, most memory {watch.most_bytes / 2**20:.0f} MiB\n  "
        + ", ".join(f"{count} x {status}" for status, count in sorted(statuses.items())),
    )


async def _resolved(host: str, port: int) -> list[str]:
    return [SITE] if host == HOST else []


async def test_odd_tool_calls_are_answered_and_nothing_else(record_property: Told) -> None:
    codes: Counter[str] = Counter()
    slowest_s, latest_s, most_bytes = 0.0, 0.0, 0
    guard = NetworkGuard(resolve=_resolved, permits=lambda address: str(address) == SITE, ports=range(65_536))
    async with Sandbox() as sandbox, PageFetcher(sandbox, guard) as pages, open_site(SITE) as site:
        tools = catalogue(sandbox, pages)
        for batch in batches():
            calls = [ToolCall.of(f"{SEED}:{case}") for case in batch]
            async with LoopWatch() as watched:
                answers = await asyncio.gather(*(each.made(tools, site) for each in calls))
            codes.update(code for code, _ in answers)
            slowest_s = max(slowest_s, *(took_s for _, took_s in answers))
            latest_s, most_bytes = max(latest_s, watched.latest_s), max(most_bytes, watched.most_bytes)
            assert latest_s < LOOP_LATE_S, f"the loop was {latest_s:.1f} s late in cases {batch} of seed {SEED}"
    gc.collect()
    record_property(
        TOLD,
        f"fuzz of tools, seed {SEED}: {sum(codes.values())} calls; loop {latest_s * 1000:.0f} ms late at most, "
        f"slowest call {slowest_s:.1f} s, most memory {most_bytes / 2**20:.0f} MiB\n  "
        + ", ".join(f"{count} {code}" for code, count in codes.most_common()),
    )
