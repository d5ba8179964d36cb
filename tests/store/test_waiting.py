import asyncio
import time
from datetime import UTC, datetime, timedelta
from statistics import median

import psycopg

from app.domain import events as ev
from app.domain.keys import DEFAULT_TENANT
from app.domain.policy.breakers import reset, trip
from app.domain.team import Team
from app.domain.worker import Worker
from app.store import ownership, reconcile
from app.store.breakers import change_breaker
from tests.support.fixtures import Services
from tests.support.service import Service, plan_of, report, task
from tests.support.stub_answers import as_json, rate_limited
from tests.support.stub_provider import StubProvider
from tests.support.waiting import until

ONE = plan_of(task("t1"))
PARKED = 10_000
TRULY_PARKED, PLACES = 50, 10


def team_on(model: str) -> Team:
    """A team whose only worker is on this model."""
    return Team(name=model, workers=(Worker(name="writer", description="Writes.", instructions="Write.", model=model),))


WRITERS = "model:claude-sonnet-5-5"
"""The breaker of the model that asks for a pause."""
QUICK = team_on("fast")
"""A team on another model than the one that asks for a pause."""

_COPIES = """
    INSERT INTO runs (id, tenant, status, objective, team_name, team_version, priority, turn, metadata, limits,
                      waiting_for, wake_at, plan_revision, progress, usage, timing, last_seq, created_at, started_at,
                      phase, owner_epoch)
    SELECT 'run_copy' || n, tenant, status, objective, team_name, team_version, priority, turn, metadata, limits,
           waiting_for, wake_at, plan_revision, progress, usage, timing, last_seq, created_at, started_at,
           phase, owner_epoch
    FROM runs, generate_series(1, %(count)s) AS n WHERE id = %(id)s;
    INSERT INTO events (run_id, seq, type, at, task_id, attempt, data)
    SELECT 'run_copy' || n, seq, type, at, task_id, attempt, data
    FROM events, generate_series(1, %(count)s) AS n WHERE run_id = %(id)s;
"""


async def parked(service: Service, stub: StubProvider, retry_after: str = "600") -> str:
    """A run whose provider has told it to come back later."""
    stub.on("work", replies=[rate_limited(retry_after)], reply=as_json(report()))
    run_id = await service.submit(plan=ONE)
    await service.until(run_id, lambda row: row["status"] == "waiting")
    return run_id


async def test_a_run_that_must_wait_for_its_provider_gives_its_place_to_others_and_comes_back(
    services: Services, stub: StubProvider
) -> None:
    service = await services.start(runs_at_once=1, park_after_s=0.5)
    waiting = await parked(service, stub, "3")
    row = await service.until(waiting, lambda row: row["waiting_for"] == "provider")
    passing = await service.submit(team=QUICK, plan=ONE)
    await service.ended(passing)
    still = await service.until(waiting, lambda _: True)
    run = await service.ended(waiting)

    assert (row["status"], still["status"], run["status"]) == ("waiting", "waiting", "succeeded")
    log = await service.events(waiting)
    parking = next(event.data for event in log if isinstance(event.data, ev.RunWaiting))
    back_at, back = next((event.at, event.data) for event in log if isinstance(event.data, ev.RunResumed))
    assert parking.until is not None
    assert parking.until <= back_at < parking.until + timedelta(seconds=5)
    assert (back.lost_calls, run["usage"]["llm_calls"]) == (0, 2)
    assert len(stub.log) == 3


async def test_whoever_waits_for_a_person_too_goes_on_when_the_models_breaker_closes(
    services: Services, stub: StubProvider, sql: psycopg.Connection
) -> None:
    service = await services.start(retry_base_s=60)
    run_id = await parked(service, stub)
    sql.execute("UPDATE runs SET waiting_for = 'answer'")
    await change_breaker(service.database, DEFAULT_TENANT, "tool:calculate", trip)
    await change_breaker(service.database, DEFAULT_TENANT, "tool:calculate", lambda breaker, _: reset(breaker))
    asleep = sql.execute("SELECT count(*) FROM runs WHERE wake_at > now() + interval '30 seconds'").fetchone()

    await change_breaker(service.database, DEFAULT_TENANT, WRITERS, lambda breaker, _: reset(breaker))
    run = await service.ended(run_id)

    assert asleep == (1,)
    assert (run["status"], len(stub.log)) == ("succeeded", 2)


async def test_a_run_is_cancelled_while_it_waits_and_ends_at_once(services: Services, stub: StubProvider) -> None:
    service = await services.start()
    run_id = await parked(service, stub)

    assert await service.cancel(run_id) is True

    row = await service.until(run_id, lambda _: True)
    assert (row["status"], row["waiting_for"]) == ("cancelled", None)
    assert len(stub.log) == 1


async def test_runs_that_wait_are_held_by_no_engine_and_leave_no_task_behind(
    services: Services, stub: StubProvider
) -> None:
    service = await services.start(runs_at_once=PLACES)
    assert service.engine is not None
    stub.on("work", call=1, reply=as_json(report()))
    stub.on("work", rate_limited("600"))
    await service.ended(await service.submit(team=QUICK, plan=ONE))
    before = tasks_of_the_service()

    # A model that has asked for a pause is left alone by all runs: these must each come to it by themselves.
    runs = [await service.submit(team=team_on(f"model-{number}"), plan=ONE) for number in range(TRULY_PARKED)]
    for run_id in runs:
        await service.until(run_id, lambda row: row["waiting_for"] == "provider")
    await until(lambda: tasks_of_the_service() <= before)

    assert service.engine._held == {}
    assert len(stub.log) == 1 + TRULY_PARKED


def tasks_of_the_service() -> int:
    """How many tasks there are in this process, those apart that serve the provider's connections."""
    return sum("RequestHandler" not in repr(task.get_coro()) for task in asyncio.all_tasks())


POOLS = 20
"""Connections that the pools of one service may hold, whatever waits."""


async def durations(service: Service, count: int = 7) -> float:
    """Seconds that a small run takes from its submission to its end: the median of some."""
    found = []
    for _ in range(count):
        start = time.monotonic()
        await service.ended(await service.submit(team=QUICK, plan=ONE))
        found.append(time.monotonic() - start)
    return median(found)


async def test_ten_thousand_waiting_runs_cost_nothing_and_slow_nobody(
    services: Services, stub: StubProvider, sql: psycopg.Connection
) -> None:
    service = await services.start()
    run_id = await parked(service, stub)
    before, tasks_before = await durations(service), len(asyncio.all_tasks())

    sql.execute(_COPIES % {"count": PARKED, "id": f"'{run_id}'"})
    sql.execute("ANALYZE runs")
    after = await durations(service)

    assert after < before * 3 + 0.1
    assert len(asyncio.all_tasks()) <= tasks_before + 5
    assert sessions(sql) <= POOLS
    assert sql.execute("SELECT count(*) FROM runs WHERE status = 'waiting'").fetchone() == (PARKED + 1,)
    assert scans_of_all_runs(sql) == []


def sessions(sql: psycopg.Connection) -> int:
    [count] = sql.execute("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()").fetchone() or (0,)
    return int(count)


def scans_of_all_runs(sql: psycopg.Connection) -> list[str]:
    """What the recurrent statements would read from end to end."""
    plans = []
    for statement, values in (
        (reconcile._UNATTENDED, {"limit": 200}),
        (
            ownership._CLAIM,
            {"id": "run_0", "owner": "me", "lease": 1, "ended": ["succeeded"], "suspect_after": 2, "suspects": True}
            | {"at": datetime.now(UTC), "channel": "nobody_listens"},
        ),
    ):
        named = str(statement)
        for name in sorted(values, key=len, reverse=True):
            named = named.replace(f":{name}", f"%({name})s")
        plans += [row[0] for row in sql.execute(f"EXPLAIN {named}".encode(), values)]
    return [line for line in plans if "Seq Scan on runs" in line]


async def test_a_run_does_not_wait_beyond_its_own_deadline(services: Services, stub: StubProvider) -> None:
    service = await services.start()
    stub.on("work", rate_limited("3600"))

    run = await service.ended(await service.submit(plan=ONE, limits={"timeout_s": 60, "attempts": 1}))

    assert (run["status"], len(stub.log)) == ("failed", 1)
    assert isinstance(run["finished_at"], datetime)
