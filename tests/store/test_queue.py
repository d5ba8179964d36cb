import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import psycopg
import pytest
from sqlalchemy import text

from app.store.queue import Look, RunQueue
from tests.support.service import Service


@asynccontextmanager
async def delivering(queue: RunQueue, look: Look) -> AsyncIterator[None]:
    """A queue that calls `look` while the block runs."""
    task = asyncio.create_task(queue.deliver(look, at_once=5, poll_s=0.2))
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def announce(service: Service, *run_ids: str) -> None:
    async with service.database.transaction() as connection:
        for run_id in run_ids:
            await service.runtime.queue.announce(connection, run_id, priority=0)


def entries(sql: psycopg.Connection) -> list[tuple[str, str]]:
    rows = sql.execute("SELECT args->>'run_id', status::text FROM procrastinate_jobs ORDER BY id").fetchall()
    return [(str(run_id), str(status)) for run_id, status in rows]


async def test_announcing_twice_makes_one_entry_and_loses_nothing_of_the_transaction(
    service: Service, sql: psycopg.Connection
) -> None:
    run_id = await service.submit()
    queue = service.runtime.queue

    async with service.database.transaction() as connection:
        await connection.execute(text("UPDATE runs SET priority = priority + 1"))
        await queue.announce(connection, run_id, priority=0)
        await connection.execute(text("UPDATE runs SET priority = priority + 10"))
        await queue.announce(connection, run_id, priority=0)
        await connection.execute(text("UPDATE runs SET priority = priority + 100"))

    assert sql.execute("SELECT priority FROM runs").fetchone() == (111,)
    assert entries(sql) == [(run_id, "todo")]


async def test_what_is_rolled_back_was_never_announced(service: Service, sql: psycopg.Connection) -> None:
    with pytest.raises(KeyError):
        async with service.database.transaction() as connection:
            await service.runtime.queue.announce(connection, "run_x", priority=0)
            raise KeyError

    assert entries(sql) == []


async def test_a_job_that_is_accepted_is_announced_with_it(service: Service, sql: psycopg.Connection) -> None:
    run_id = await service.submit(priority=7)

    assert entries(sql) == [(run_id, "todo")]
    assert sql.execute("SELECT priority FROM procrastinate_jobs").fetchone() == (7,)


async def test_every_announced_run_is_looked_at_and_its_entry_is_gone(service: Service, sql: psycopg.Connection) -> None:
    looked: asyncio.Queue[str] = asyncio.Queue()
    run_ids = [f"run_{number}" for number in range(10)]

    async with delivering(service.runtime.queue, looked.put):
        await announce(service, *run_ids)
        found = [await asyncio.wait_for(looked.get(), 10) for _ in run_ids]

    assert sorted(found) == run_ids
    assert entries(sql) == []


async def test_two_processes_share_what_is_announced(service: Service) -> None:
    looked: Counter[str] = Counter()
    all_seen = asyncio.Event()

    async def look(run_id: str) -> None:
        looked[run_id] += 1
        if len(looked) == 20:
            all_seen.set()

    async with delivering(service.runtime.queue, look), delivering(RunQueue(service.url), look):
        await announce(service, *(f"run_{number}" for number in range(20)))
        await asyncio.wait_for(all_seen.wait(), 10)

    assert set(looked.values()) == {1}


async def test_a_run_may_be_announced_while_it_is_looked_at(service: Service) -> None:
    looks = 0
    twice = asyncio.Event()

    async def look(run_id: str) -> None:
        nonlocal looks
        looks += 1
        if looks == 1:
            await announce(service, run_id)
        else:
            twice.set()

    async with delivering(service.runtime.queue, look):
        await announce(service, "run_x")
        await asyncio.wait_for(twice.wait(), 10)


async def test_a_look_that_breaks_does_not_stop_the_delivery(service: Service) -> None:
    looked: asyncio.Queue[str] = asyncio.Queue()

    async def look(run_id: str) -> None:
        await looked.put(run_id)
        if run_id == "run_bad":
            raise KeyError("a bug")

    async with delivering(service.runtime.queue, look):
        await announce(service, "run_bad")
        assert await asyncio.wait_for(looked.get(), 10) == "run_bad"
        await announce(service, "run_good")
        assert await asyncio.wait_for(looked.get(), 10) == "run_good"


async def test_runs_of_higher_priority_are_looked_at_first(service: Service) -> None:
    looked: asyncio.Queue[str] = asyncio.Queue()
    async with service.database.transaction() as connection:
        for priority in (0, 5, -5):
            await service.runtime.queue.announce(connection, f"run_{priority}", priority=priority)

    task = asyncio.create_task(service.runtime.queue.deliver(looked.put, at_once=1, poll_s=0.2))
    found = [await asyncio.wait_for(looked.get(), 10) for _ in range(3)]
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task

    assert found == ["run_5", "run_0", "run_-5"]
