"""Readers are many and cheap: they share what they read, keep no writer waiting, and take little at a time."""

import asyncio
import json
import threading
from collections.abc import AsyncIterator
from typing import Any

import psycopg
import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from app.domain.snapshot import Snapshot
from app.store.database import RESERVED, Database
from app.store.input_cache import InputCache
from app.store.run_log import read_run
from app.store.runs import PAGE_BYTES, events_of, whole_run
from tests.support.fixtures import Services
from tests.support.service import Service, plan_of, report, task
from tests.support.stub_answers import as_json, held
from tests.support.stub_provider import StubProvider
from tests.support.waiting import until

POOL = RESERVED + 2


@pytest.fixture
async def database(database_url: str) -> AsyncIterator[Database]:
    database = Database(database_url, pool=POOL)
    yield database
    await database.close()


async def test_readers_leave_connections_to_writers(database: Database) -> None:
    reading, done = asyncio.Semaphore(0), asyncio.Event()

    async def read(_: AsyncConnection) -> None:
        reading.release()
        await done.wait()

    readers = [asyncio.create_task(database.read_together(number, read)) for number in range(20)]
    for _ in range(POOL - RESERVED):
        await reading.acquire()

    async with asyncio.timeout(5), database.transaction() as connection, database.statement() as other:
        assert (await connection.execute(text("SELECT 1"))).scalar_one() == 1
        assert (await other.execute(text("SELECT 1"))).scalar_one() == 1
    assert reading.locked()
    done.set()
    await asyncio.gather(*readers)


async def test_those_who_ask_before_a_read_begins_share_it_and_later_ones_do_not(database: Database) -> None:
    begun: list[int] = []
    go_on = asyncio.Event()

    async def read(_: AsyncConnection) -> int:
        begun.append(1)
        await go_on.wait()
        return len(begun)

    early = [asyncio.create_task(database.read_together("a run", read)) for _ in range(50)]
    await until(lambda: len(begun) == 1)
    late = asyncio.create_task(database.read_together("a run", read))
    await until(lambda: len(begun) == 2)
    go_on.set()

    await asyncio.gather(*early, late)
    assert len(begun) == 2


async def test_a_reader_that_goes_takes_the_read_from_nobody(database: Database) -> None:
    begun, go_on = asyncio.Event(), asyncio.Event()

    async def read(_: AsyncConnection) -> str:
        begun.set()
        await go_on.wait()
        return "read"

    first, second = [asyncio.create_task(database.read_together("a run", read)) for _ in range(2)]
    await begun.wait()
    first.cancel()
    go_on.set()

    assert await second == "read"


async def test_long_events_come_a_few_at_a_time_and_none_is_left_out(service: Service, sql: psycopg.Connection) -> None:
    run_id = await service.submit()
    sizes = [10, PAGE_BYTES // 2, PAGE_BYTES // 3, PAGE_BYTES // 3, 3 * PAGE_BYTES, 10, 10]
    for seq, size in enumerate(sizes, 2):
        data = json.dumps({"text": "x" * size})
        sql.execute(
            "INSERT INTO events (run_id, seq, type, at, data) VALUES (%s, %s, 'x', now(), %s)", [run_id, seq, data]
        )

    pages, after, more = [], 0, True
    while more:
        page = await events_of(service.database, "default", run_id, after=after, limit=100)
        pages.append([event.seq for event in page])
        after, more = page[-1].seq, page[-1].followed
        assert len(page) == 1 or sum(len(event.json) for event in page) < PAGE_BYTES + 10_000

    assert [seq for page in pages for seq in page] == list(range(1, len(sizes) + 2))
    assert [6] in pages
    limited = await events_of(service.database, "default", run_id, after=6, limit=2)
    assert [(event.seq, event.followed) for event in limited] == [(7, True), (8, False)]


async def test_inputs_are_read_when_they_are_needed_and_given_back(service: Service) -> None:
    inputs = [{"name": "b.txt", "content": "second"}, {"name": "a.txt", "content": "first"}]
    run_id = await service.submit(inputs=inputs)
    input_cache = InputCache()

    first, second = await asyncio.gather(*(input_cache.of_run(service.database, "default", run_id) for _ in range(2)))
    again = await input_cache.of_run(service.database, "default", run_id)
    input_cache.forget(run_id)
    anew = await input_cache.of_run(service.database, "default", run_id)

    assert [(each.name, each.content) for each in first] == [("b.txt", "second"), ("a.txt", "first")]
    assert first is second is again
    assert anew == first
    assert anew is not first


async def test_inputs_that_are_large_are_not_kept(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.store.input_cache.KEPT_CHARACTERS", 10)
    small = await service.submit(inputs=[{"name": "a.txt", "content": "x" * 9}])
    large = await service.submit(inputs=[{"name": "a.txt", "content": "x" * 11}])
    input_cache = InputCache()

    kept = [await input_cache.of_run(service.database, "default", run_id) for run_id in (large, large, small, small)]

    assert kept[0] is not kept[1]
    assert kept[2] is kept[3]


async def test_inputs_are_read_again_when_the_database_comes_back(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.store.input_cache.RETRY_SECONDS", 0)
    run_id = await service.submit(inputs=[{"name": "a.txt", "content": "x"}])
    service.database.next_error = OSError("the network is cut")

    [found] = await InputCache().of_run(service.database, "default", run_id)

    assert found.content == "x"


async def test_a_run_under_way_is_folded_once_for_all_who_ask_and_beside_the_loop(
    services: Services, stub: StubProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = await services.start()
    folded_in: list[threading.Thread] = []

    def noted(*log: Any) -> Snapshot:
        folded_in.append(threading.current_thread())
        return read_run(*log)

    monkeypatch.setattr("app.store.runs.read_run", noted)
    stub.on("work", held(as_json(report())))
    run_id = await service.submit(plan=plan_of(task("t1")))
    await stub.seen(1)

    found = await asyncio.gather(*(whole_run(service.database, "default", run_id) for _ in range(20)))

    assert {run.tasks[0]["status"] for run in found if run} == {"running"}
    assert len(folded_in) == 1
    assert folded_in[0] is not threading.current_thread()
