import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import psycopg
import pytest
from sqlalchemy import text

from app.store.queue import Look, Place, RunQueue
from tests.support.service import Service


@asynccontextmanager
async def delivering(queue: RunQueue, look: Look, *, at_once: int = 5) -> AsyncIterator[None]:
    """A queue that calls `look` while the block runs."""
    task = asyncio.create_task(queue.deliver(look, at_once=at_once, poll_s=0.2))
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def announce(service: Service, *run_ids: str) -> None:
    async with service.database.transaction() as connection:
        for run_id in run_ids:
            await service.runtime.queue.announce(connection, run_id, Place(0, 1))


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
        await queue.announce(connection, run_id, Place(0, 1))
        await connection.execute(text("UPDATE runs SET priority = priority + 10"))
        await queue.announce(connection, run_id, Place(0, 1))
        await connection.execute(text("UPDATE runs SET priority = priority + 100"))

    assert sql.execute("SELECT priority FROM runs").fetchone() == (111,)
    assert entries(sql) == [(run_id, "todo")]


async def test_what_is_rolled_back_was_never_announced(service: Service, sql: psycopg.Connection) -> None:
    async def announce_and_fail() -> None:
        async with service.database.transaction() as connection:
            await service.runtime.queue.announce(connection, "run_x", Place(0, 1))
            raise KeyError

    with pytest.raises(KeyError):
        await announce_and_fail()

    assert entries(sql) == []


async def test_a_job_that_is_accepted_is_announced_with_it(service: Service, sql: psycopg.Connection) -> None:
    run_id = await service.submit()

    assert entries(sql) == [(run_id, "todo")]


async def test_every_announced_run_is_looked_at_and_its_entry_is_gone(
    service: Service, sql: psycopg.Connection
) -> None:
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


async def test_higher_priority_goes_first_and_then_the_lower_turn(service: Service) -> None:
    looked: asyncio.Queue[str] = asyncio.Queue()
    places = {"d": Place(0, 9), "b": Place(5, 1_000_000), "a": Place(100, 2), "c": Place(0, 8), "e": Place(-100, 1)}
    async with service.database.transaction() as connection:
        for run_id, place in places.items():
            await service.runtime.queue.announce(connection, run_id, place)

    async with delivering(service.runtime.queue, looked.put, at_once=1):
        found = [await asyncio.wait_for(looked.get(), 10) for _ in places]

    assert found == ["a", "b", "c", "d", "e"]
