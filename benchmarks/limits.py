"""What keys and limits cost a request, and what limits cost a job, in turn with those that have none.

Run as a process: `python -m benchmarks.limits DATABASE_URL STUB_URL REQUESTS ENDED_RUNS`; prints its figures as JSON.
Requests are given to the application itself, without a server or a client around it, so that ratios are the largest
that there can be. Jobs are accepted beside so many runs that have ended this month.
"""

import asyncio
import json
import sys
import time
from collections.abc import Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import psycopg
import uvloop
from fastapi import FastAPI
from sqlalchemy import text

from app.api.app import create_app
from app.domain.keys import DEFAULT_TENANT, SCOPES
from app.domain.quotas import NOTHING_SAID, Quota
from app.store.keys import NewKey, create_key
from app.store.limits import change_limits
from benchmarks.floor import cpu_seconds
from benchmarks.service import tuned_service
from tests.support.service import Service

TURNS = 4
KEYS = 1_000
AT_ONCE = 8
RATE = Quota(requests_per_second=100_000)
RUNS = Quota(runs_in_flight=1_000_000, runs_queued=1_000_000)
MONEY = Quota(cost_usd_per_day=Decimal(900_000), cost_usd_per_month=Decimal(900_000))
JOB = json.dumps({"objective": "Do the sums.", "limits": {"cost_usd": "1.00"}}).encode()

_ENDED = """
    INSERT INTO runs (id, tenant, status, stop_reason, objective, team_name, team_version, priority, turn, metadata,
                      limits, progress, usage, timing, last_seq, created_at, started_at, finished_at)
    SELECT 'run_' || md5(CAST(n AS text)), tenant, 'succeeded', 'completed', objective, team_name, team_version, 0, 0,
           metadata, limits, progress, usage, timing, 2, now() - n * interval '1 s', now(), now()
    FROM (SELECT * FROM runs LIMIT 1) AS run, generate_series(1, %s) AS n
"""


@dataclass(slots=True)
class Cost:
    """What requests of one kind have taken."""

    cpu_s: float = 0.0
    times_s: list[float] = field(default_factory=list)

    @property
    def shown(self) -> dict[str, float]:
        """For each request: CPU, and the median of the time."""
        ordered = sorted(self.times_s)
        return {"cpu_ms": self.cpu_s / len(ordered) * 1000, "median_ms": ordered[len(ordered) // 2] * 1000}


async def main(url: str, stub_url: str, requests: int, ended: int) -> None:
    """Measure each kind in turn."""
    async with tuned_service(url, stub_url, 1) as service:
        application = create_app(lambda: _opened(service), body_limit_bytes=1_000_000)
        async with application.router.lifespan_context(application):
            gets = await _gets(service, application, requests)
            posts = await _posts(service, application, requests // 4, ended)
    figures = {"gets": gets, "posts": posts}
    print(json.dumps({kind: {name: cost.shown for name, cost in costs.items()} for kind, costs in figures.items()}))


@asynccontextmanager
async def _opened(service: Service) -> Any:
    yield service.runtime


async def _gets(service: Service, application: FastAPI, requests: int) -> dict[str, Cost]:
    database = service.runtime.database

    async def keys(count: int, quota: Quota) -> list[str]:
        new = NewKey(DEFAULT_TENANT, frozenset(SCOPES), quota=quota)
        return [(await create_key(database, new))[0].text for _ in range(count)]

    kinds: dict[str, Sequence[str | None]] = {
        "off": [None],
        "a key": await keys(1, NOTHING_SAID),
        "1,000 keys": await keys(KEYS, NOTHING_SAID),
        "a key with a rate": await keys(1, RATE),
        "1,000 keys with a rate": await keys(KEYS, RATE),
    }
    costs = {name: Cost() for name in kinds}
    for turn in range(TURNS + 1):  # The first one only warms up.
        for name, brought in list(kinds.items())[:: 1 if turn % 2 else -1]:
            service.runtime.wants_keys = name != "off"
            cost = await _turn(application, "GET", "/v1/runs", brought, requests)
            if turn:
                costs[name].cpu_s += cost.cpu_s
                costs[name].times_s += cost.times_s
    service.runtime.wants_keys = False
    return costs


async def _posts(service: Service, application: FastAPI, jobs: int, ended: int) -> dict[str, Cost]:
    """The queue is not heard: what is measured is acceptance alone."""
    assert service.engine is not None
    await service.engine.stop()
    database = service.runtime.database
    await _turn(application, "POST", "/v1/jobs", [None], 1)
    async with await psycopg.AsyncConnection.connect(database.url, autocommit=True) as connection:
        await connection.execute(_ENDED, [ended])  # It takes longer than connections of the service wait.
        await connection.execute("VACUUM ANALYZE runs")
    kinds = {"no limits": NOTHING_SAID, "runs": RUNS, "money": MONEY, "runs and money": MONEY.over(RUNS)}
    costs = {name: Cost() for name in kinds}
    for turn in range(TURNS // 2):
        for name, quota in list(kinds.items())[:: 1 if turn % 2 else -1]:
            await change_limits(database, DEFAULT_TENANT, quota, anew=True)
            await asyncio.sleep(8)  # Until they hold, and what is spent need not be added up any more.
            await _turn(application, "POST", "/v1/jobs", [None], 5)
            cost = await _turn(application, "POST", "/v1/jobs", [None], jobs)
            costs[name].cpu_s += cost.cpu_s
            costs[name].times_s += cost.times_s
            async with database.statement() as connection:
                await connection.execute(text("DELETE FROM runs WHERE status = 'queued'"))
                await connection.execute(text("DELETE FROM procrastinate_jobs"))
    return costs


async def _turn(application: FastAPI, method: str, path: str, keys: Sequence[str | None], requests: int) -> Cost:
    cost, slots, began = Cost(), asyncio.Semaphore(AT_ONCE), cpu_seconds()

    async def one(number: int) -> None:
        async with slots:
            begun = time.perf_counter()
            status = await _answered(application, method, path, keys[number % len(keys)])
            cost.times_s.append(time.perf_counter() - begun)
            assert status < 300, status

    await asyncio.gather(*(one(number) for number in range(requests)))
    cost.cpu_s = cpu_seconds() - began
    return cost


async def _answered(application: FastAPI, method: str, path: str, key: str | None) -> int:
    """The status of the answer to a request."""
    headers = [(b"host", b"bench"), (b"content-type", b"application/json")]
    if key is not None:
        headers.append((b"authorization", f"Bearer {key}".encode()))
    body = JOB if method == "POST" else b""
    headers.append((b"content-length", str(len(body)).encode()))
    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": method, "scheme": "http",
        "path": path, "raw_path": path.encode(), "query_string": b"", "headers": headers, "root_path": "",
        "client": ("127.0.0.1", 1), "server": ("bench", 80), "state": {},
    }  # fmt: skip
    status, pending = 0, [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> dict[str, Any]:
        if pending:
            return pending.pop()
        await asyncio.Event().wait()
        raise AssertionError

    async def send(message: Any) -> None:
        nonlocal status
        status = message.get("status", status)

    await application(scope, receive, send)
    return status


if __name__ == "__main__":
    _, url, stub_url, requests, ended = sys.argv
    uvloop.run(main(url, stub_url, int(requests), int(ended)))
