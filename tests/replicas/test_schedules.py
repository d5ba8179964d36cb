"""A time of a schedule is one run, however many replicas there are and whichever of them die."""

import asyncio

import psycopg

from tests.support.processes import Replica, Replicas
from tests.support.waiting import until

SCHEDULES = 40


async def make_some(replica: Replica) -> list[str]:
    """New schedules; their ids."""
    async with replica.client as client:
        body = {"cron": "0 9 1 1 *", "job": {"objective": "Find out."}}
        return [(await client.post("/v1/schedules", json=body)).json()["id"] for _ in range(SCHEDULES)]


async def test_a_time_makes_one_run_though_replicas_die_over_it(replicas: Replicas, sql: psycopg.Connection) -> None:
    first, second = await asyncio.gather(replicas.start(engine="false"), replicas.start(engine="false"))
    made = await make_some(first)

    def seen_to() -> int:
        [(count,)] = sql.execute("SELECT count(*) FROM schedule_firings").fetchall()
        return int(count)

    sql.execute("UPDATE schedules SET next_at = now(), look_at = now()")
    sql.execute("NOTIFY chargehand_schedules")
    await until(lambda: seen_to() > SCHEDULES // 6)
    await first.kill()
    # What it had begun is taken up once its time for that is over, which is half a minute.
    await until(lambda: sql.execute("SELECT 1 FROM schedules WHERE look_at <= now() LIMIT 1").fetchall() == [])
    sql.execute("UPDATE schedules SET look_at = now() WHERE next_at <= now()")
    sql.execute("NOTIFY chargehand_schedules")
    await until(lambda: seen_to() == SCHEDULES)

    runs = sql.execute("SELECT schedule ->> 'id' FROM runs").fetchall()
    assert sorted(schedule for (schedule,) in runs) == sorted(made)
    unknown = "SELECT 1 FROM schedule_firings LEFT JOIN runs ON runs.id = run_id WHERE runs.id IS NULL"
    assert sql.execute(unknown).fetchall() == []
    assert sql.execute("SELECT 1 FROM schedules WHERE next_at <= now()").fetchall() == []
    assert any("schedule fired" in line for line in first.logged)
    assert any("schedule fired" in line for line in second.logged)
