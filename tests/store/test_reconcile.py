import asyncio

import psycopg
import pytest

from app.store.reconcile import announce_unattended
from tests.support.claims import claimed
from tests.support.service import Service

RUNNING = "status = 'running', started_at = now()"

UNATTENDED = {
    "queued and forgotten": "priority = 0",
    "running without an owner": RUNNING,
    "running with a lapsed lease": f"{RUNNING}, owner = 'dead', lease_until = now() - interval '1 second'",
    "waiting no longer": "status = 'waiting', waiting_for = 'provider', wake_at = now() - interval '1 second'",
}
ATTENDED = {
    "running with a lease": f"{RUNNING}, owner = 'alive', lease_until = now() + interval '1 minute'",
    "waiting": "status = 'waiting', waiting_for = 'provider', wake_at = now() + interval '1 minute'",
}


async def forgotten(service: Service, sql: psycopg.Connection, change: str) -> str:
    """A run in some state, which no entry of the queue waits for."""
    run_id = await service.submit()
    sql.execute("DELETE FROM procrastinate_jobs")
    sql.execute(f"UPDATE runs SET {change} WHERE id = '{run_id}'".encode())
    return run_id


@pytest.mark.parametrize("state", UNATTENDED)
async def test_a_run_that_ought_to_move_and_waits_for_nobody_is_announced_once(
    service: Service, sql: psycopg.Connection, state: str
) -> None:
    run_id = await forgotten(service, sql, UNATTENDED[state])

    assert await announce_unattended(service.database, service.runtime.queue) == 1
    assert await announce_unattended(service.database, service.runtime.queue) == 0

    assert sql.execute("SELECT queueing_lock FROM procrastinate_jobs").fetchall() == [(f"run:{run_id}",)]


@pytest.mark.parametrize("state", ATTENDED)
async def test_a_run_that_need_not_move_is_left_alone(service: Service, sql: psycopg.Connection, state: str) -> None:
    await forgotten(service, sql, ATTENDED[state])

    assert await announce_unattended(service.database, service.runtime.queue) == 0


async def test_a_run_that_has_ended_is_left_alone(service: Service, sql: psycopg.Connection) -> None:
    await service.cancel(await forgotten(service, sql, "priority = 0"))

    assert await announce_unattended(service.database, service.runtime.queue) == 0


async def test_several_processes_that_reconcile_at_once_announce_a_run_once(
    service: Service, sql: psycopg.Connection
) -> None:
    await forgotten(service, sql, "priority = 0")

    found = await asyncio.gather(*(announce_unattended(service.database, service.runtime.queue) for _ in range(5)))

    assert sum(found) == 1


async def test_entries_of_dead_processes_are_cleared_away(service: Service, sql: psycopg.Connection) -> None:
    run_id = (await claimed(service)).snapshot.brief.run_id
    sql.execute("UPDATE procrastinate_jobs SET status = 'doing'")

    await announce_unattended(service.database, service.runtime.queue)

    assert sql.execute("SELECT count(*) FROM procrastinate_jobs").fetchone() == (0,)
    assert sql.execute("SELECT id FROM runs").fetchall() == [(run_id,)]
