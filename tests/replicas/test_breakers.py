import asyncio
from collections import Counter
from typing import Any

import psycopg
import pytest

from app.llm.window import FIRST_CALLS
from tests.support.processes import Replica, Replicas, post_job, run_at_end
from tests.support.service import plan_of, report, synthesis, task
from tests.support.stub_answers import Answer, as_json, delayed, overloaded, unauthorized
from tests.support.stub_provider import StubProvider
from tests.support.stub_script import SeenRequest
from tests.support.waiting import until

RUNS = 20
JOB: dict[str, Any] = {
    "plan": plan_of(*(task(f"t{number}", "writer") for number in range(50))),
    "limits": {"concurrency": 50, "tasks": 50, "timeout_s": 600},
}
WORKERS = "model:claude-sonnet-5-5"
PATIENT = {"lease_seconds": "20"}
"""On a busy machine a short lease lapses with fifty calls under way in a run, which count at their worst then."""


async def post_all(replicas: list[Replica]) -> list[str]:
    posts = [post_job(replicas[number % len(replicas)], **JOB) for number in range(RUNS)]
    return list(await asyncio.gather(*posts))


async def all_at_end(replica: Replica, runs: list[str], within_s: float = 90) -> list[dict[str, Any]]:
    return [await run_at_end(replica, run_id, within_s=within_s) for run_id in runs]


@pytest.mark.parametrize("delay_s", [0, 0.5])
async def test_a_thousand_ready_tasks_on_two_replicas_meet_a_dead_account_a_few_times(
    replicas: Replicas, stub: StubProvider, delay_s: float
) -> None:
    stub.on("work", delayed(unauthorized(), delay_s))
    both = [await replicas.start(**PATIENT), await replicas.start(**PATIENT)]

    runs = await all_at_end(both[0], await post_all(both))

    print(f"{len(stub.log)} calls reached the provider")
    assert Counter(run["stop_reason"] for run in runs) == {"provider_auth": RUNS}
    assert len(stub.log) <= 2 * FIRST_CALLS + RUNS // 2  # One probe after each pause, for as long as runs come.


@pytest.mark.parametrize("delay_s", [0, 0.5])
async def test_a_thousand_ready_tasks_on_two_replicas_wait_out_an_overload_together(
    replicas: Replicas, stub: StubProvider, sql: psycopg.Connection, delay_s: float
) -> None:
    alive = asyncio.Event()

    def answer(_: SeenRequest) -> Answer:
        return as_json(report()) if alive.is_set() else delayed(overloaded(), delay_s)

    stub.on("work", answer)
    stub.on("synthesize", as_json(synthesis()))
    both = [await replicas.start(**PATIENT), await replicas.start(**PATIENT)]
    posted = await post_all(both)

    await until_held(sql)
    met = len(stub.log)
    probes = await probes_in(stub, seconds=6)
    alive.set()
    runs = await all_at_end(both[1], posted)

    print(f"{met} calls until all were held, {probes} in the six seconds after that")
    assert Counter(run["status"] for run in runs) == {"succeeded": RUNS}
    assert met <= 2 * FIRST_CALLS + 12
    assert probes <= 8
    assert sql.execute("SELECT state FROM breakers WHERE name = %s", [WORKERS]).fetchall() == [("closed",)]
    told = sql.execute("SELECT count(*) FROM events WHERE type = 'breaker.opened' GROUP BY run_id").fetchall()
    assert set(told) == {(1,)}


async def until_held(sql: psycopg.Connection) -> None:
    """Every run has been told that its model is left alone."""
    held = "SELECT count(DISTINCT run_id) FROM events WHERE type = 'breaker.opened'"
    await until(lambda: sql.execute(held).fetchone() == (RUNS,), 60)


async def probes_in(stub: StubProvider, seconds: float) -> int:
    """How many calls come in a while."""
    before = len(stub.log)
    await asyncio.sleep(seconds)  # the outage
    return len(stub.log) - before
