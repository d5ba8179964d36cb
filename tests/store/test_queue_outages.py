import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import psycopg
import pytest
from procrastinate.manager import JobManager
from structlog.testing import capture_logs

from app.store.queue import Look, Place
from tests.support.service import Service

REFUSED = """
CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'refused'; END $$;
CREATE TRIGGER refuse BEFORE DELETE ON procrastinate_jobs FOR EACH ROW EXECUTE FUNCTION refuse();
"""


@asynccontextmanager
async def delivering(service: Service, look: Look) -> AsyncIterator[None]:
    """The queue of a service, which calls `look` while the block runs."""
    task = asyncio.create_task(service.runtime.queue.deliver(look, at_once=5, poll_s=0.2))
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def announce(service: Service, run_id: str) -> None:
    async with service.database.transaction() as connection:
        await service.runtime.queue.announce(connection, run_id, Place(0, 1))


async def test_an_entry_that_cannot_be_deleted_breaks_nothing_and_is_told_of(
    service: Service, sql: psycopg.Connection
) -> None:
    looked: asyncio.Queue[str] = asyncio.Queue()
    sql.execute(REFUSED)

    with capture_logs() as lines:
        async with delivering(service, looked.put):
            for run_id in ("run_1", "run_2"):
                await announce(service, run_id)
                assert await asyncio.wait_for(looked.get(), 10) == run_id

    assert [line["event"] for line in lines if line["log_level"] == "warning"] == ["queue entry left behind"] * 2


async def test_a_look_that_the_database_breaks_off_is_told_of_in_one_line(service: Service) -> None:
    looked: asyncio.Queue[str] = asyncio.Queue()

    async def look(run_id: str) -> None:
        await looked.put(run_id)
        raise psycopg.OperationalError("terminating connection due to administrator command")

    with capture_logs() as lines:
        async with delivering(service, look):
            await announce(service, "run_1")
            await asyncio.wait_for(looked.get(), 10)

    assert [(line["event"], line["run_id"]) for line in lines] == [("look interrupted", "run_1")]


async def test_a_delivery_that_is_cancelled_while_it_opens_leaves_nothing_behind(service: Service) -> None:
    async def look(_: str) -> None:
        raise AssertionError("there is no run")

    for turns in range(0, 60, 3):
        delivery = asyncio.create_task(service.runtime.queue.deliver(look, at_once=5, poll_s=0.2))
        for _ in range(turns):
            await asyncio.sleep(0)
        delivery.cancel()
        await asyncio.wait({delivery})

    assert [task.get_name() for task in asyncio.all_tasks() if task.get_name().startswith("pool-")] == []


@pytest.fixture
def start(monkeypatch: pytest.MonkeyPatch) -> tuple[asyncio.Event, asyncio.Event]:
    """A worker that hears of no cancellation while it starts: when it does, and until when."""
    begun, over = asyncio.Event(), asyncio.Event()
    prune = JobManager.prune_stalled_workers

    async def hear_nothing(entries: JobManager, seconds: float) -> list[int]:
        begun.set()
        while not over.is_set():
            with suppress(asyncio.CancelledError):
                await over.wait()
        return await prune(entries, seconds)

    monkeypatch.setattr(JobManager, "prune_stalled_workers", hear_nothing)
    return begun, over


async def cancel(delivery: asyncio.Task[None]) -> None:
    """Cancel it, and let it get so far as to wait for its worker."""
    delivery.cancel()
    await asyncio.sleep(0)


async def test_a_delivery_is_stopped_again_until_its_worker_hears(
    service: Service, start: tuple[asyncio.Event, asyncio.Event], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.store.queue.STOP_SECONDS", 0.0)
    begun, over = start
    delivery = asyncio.create_task(service.runtime.queue.deliver(asyncio.Queue[str]().put, at_once=5, poll_s=0.2))
    await begun.wait()
    await cancel(delivery)
    await asyncio.sleep(0)  # Its worker has been told.

    over.set()

    await asyncio.wait({delivery}, timeout=10)
    assert delivery.cancelled()


async def test_a_delivery_that_is_cancelled_twice_leaves_nothing_behind(
    service: Service, start: tuple[asyncio.Event, asyncio.Event]
) -> None:
    begun, over = start
    others = asyncio.all_tasks()
    delivery = asyncio.create_task(service.runtime.queue.deliver(asyncio.Queue[str]().put, at_once=5, poll_s=0.2))
    await begun.wait()
    await cancel(delivery)
    await cancel(delivery)
    await asyncio.wait({delivery})

    over.set()

    await asyncio.wait(asyncio.all_tasks() - others, timeout=10)
    assert asyncio.all_tasks() <= others
