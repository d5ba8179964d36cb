import asyncio
import gc
from typing import Any

import psycopg
import pytest

from app.store import connections
from app.store.database import OUTAGE, Database
from tests.support.rows import every

ROUNDS = 40
"""More than it takes to get a connection that is open, and to make it ready."""


async def test_whoever_stands_still_in_a_transaction_is_cut_off_and_its_locks_are_free(
    database_url: str, sql: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(connections.SESSION_SETTINGS, "idle_in_transaction_session_timeout", "200ms")
    database = Database(database_url, pool=1)

    async def stands_still() -> None:
        async with database.transaction() as connection:
            await connection.exec_driver_sql("SELECT pg_advisory_xact_lock(1)")
            await asyncio.to_thread(sql.execute, "SELECT pg_advisory_lock(1)")
            await connection.exec_driver_sql("SELECT 1")

    with pytest.raises(OUTAGE):
        await stands_still()
    assert await every(database, "SELECT 1 AS one") == [{"one": 1}]
    await database.close()


async def test_a_connection_that_was_dropped_is_closed(database_url: str, sql: psycopg.Connection) -> None:
    connection = await connections.ImpatientConnection.connect(database_url)
    sessions = f"SELECT count(*) FROM pg_stat_activity WHERE pid = {connection.info.backend_pid}"
    assert sql.execute(sessions.encode()).fetchone() == (1,)

    del connection
    gc.collect()

    async with asyncio.timeout(5):
        while sql.execute(sessions.encode()).fetchone() != (0,):  # Postgres tells nobody of an end.
            await asyncio.to_thread(sql.execute, "SELECT pg_sleep(0.01)")


@pytest.mark.parametrize("times", [1, 2])
@pytest.mark.parametrize("way", ["driver", "statement", "transaction"])
async def test_a_connection_comes_back_wherever_its_work_is_stopped(database_url: str, way: str, times: int) -> None:
    database = Database(database_url, pool=1)

    async def work() -> None:
        async with getattr(database, way)():
            await asyncio.Event().wait()

    for rounds in range(ROUNDS):
        task = asyncio.create_task(work())
        for stop in range(times):
            for _ in range(rounds if stop == 0 else 1):
                await asyncio.sleep(0)  # One round of the loop: the work is stopped a step further each time.
            task.cancel()
        await asyncio.wait({task})
        async with asyncio.timeout(5):
            assert await every(database, "SELECT 1 AS one") == [{"one": 1}]
    await database.close()


async def test_every_process_of_ours_is_cut_off_in_time(database_url: str) -> None:
    database = Database(database_url, pool=1)

    [found] = await every(database, "SHOW idle_in_transaction_session_timeout")

    assert found == {"idle_in_transaction_session_timeout": "3s"}
    await database.close()


async def test_a_fresh_connection_is_used_without_asking_whether_it_is_alive(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = Database(database_url, pool=1)

    def dead(_: Any) -> bool:
        raise psycopg.OperationalError("gone")

    monkeypatch.setattr("app.store.database._is_read_only", dead)

    await database.ping()
    await database.close()
