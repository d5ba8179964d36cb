"""Many readers of one process: they share their looks, and beyond a bound they are sent away."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from sqlalchemy.ext.asyncio import AsyncConnection

from app.api import long_polls
from app.api.shared_looks import LOOKS_AT_ONCE, SharedLooks
from app.domain.keys import DEFAULT_TENANT
from app.store.database import Database
from tests.support.api import JOB, Api
from tests.support.waiting import until

WAIT = {"Prefer": "wait=30"}
STREAM = {"Accept": "text/event-stream"}


class CountingDatabase(Database):
    """A database that counts the statements sent to it, and those under way. What has begun can be held."""

    def __init__(self, url: str, *, pool: int) -> None:
        super().__init__(url, pool=pool)
        self.let_through = asyncio.Event()
        self.let_through.set()

    sent = 0
    begun = 0
    """Reads that nobody can share any more."""
    under_way = 0
    most = 0

    @asynccontextmanager
    async def statement(self) -> AsyncIterator[AsyncConnection]:
        self.sent += 1
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        try:
            async with super().statement() as connection:
                yield connection
        finally:
            self.under_way -= 1

    async def read_together(
        self,
        key: Hashable,
        read: Callable[[AsyncConnection], Awaitable[Any]],
        *,
        then: Callable[[Any], Awaitable[Any]] | None = None,
    ) -> Any:
        async def read_once_let(connection: AsyncConnection) -> Any:
            self.begun += 1
            await self.let_through.wait()
            return await read(connection)

        return await super().read_together(key, read_once_let, then=then)


@pytest.fixture
async def counting(api: Api) -> AsyncIterator[CountingDatabase]:
    database = CountingDatabase(api.runtime.database.url, pool=10)
    yield database
    await database.close()


async def test_those_who_wait_for_one_run_share_their_looks(api: Api, counting: CountingDatabase) -> None:
    run_id, looks = await api.post(), SharedLooks(counting)

    rows = await asyncio.gather(*(looks.at(DEFAULT_TENANT, run_id) for _ in range(200)))

    assert {row["id"] for row in rows if row} == {run_id}
    assert len(rows) == 200
    assert counting.sent == 1


async def test_a_look_that_has_begun_is_not_shared(api: Api, counting: CountingDatabase) -> None:
    play = await api.played()
    looks = SharedLooks(counting)
    counting.let_through.clear()
    early = asyncio.create_task(looks.at(DEFAULT_TENANT, play.run_id))
    await until(lambda: counting.begun == 1)
    late = asyncio.create_task(looks.at(DEFAULT_TENANT, play.run_id))
    await until(lambda: counting.begun == 2)
    await play.whole()
    counting.let_through.set()

    assert (await early) is not None
    row = await late
    assert row is not None
    assert row["status"] == "succeeded"
    assert counting.sent == 2


async def test_readers_leave_connections_to_others(api: Api, counting: CountingDatabase) -> None:
    run_ids, looks = [await api.post() for _ in range(12)], SharedLooks(counting)

    await asyncio.gather(*(looks.at(DEFAULT_TENANT, run_id) for run_id in run_ids))

    assert (counting.sent, counting.most) == (12, LOOKS_AT_ONCE)


async def test_a_reader_that_goes_takes_the_row_from_nobody(api: Api, counting: CountingDatabase) -> None:
    run_id, looks = await api.post(), SharedLooks(counting)
    gone, stays = (
        asyncio.create_task(looks.at(DEFAULT_TENANT, run_id)),
        asyncio.create_task(looks.at(DEFAULT_TENANT, run_id)),
    )
    gone.cancel()

    assert await stays is not None


async def test_beyond_the_bound_readers_are_sent_away_and_jobs_are_taken(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(long_polls, "READERS_ALLOWED", 1)
    run_id = await api.post()
    reading = asyncio.create_task(api.client.get(f"/v1/runs/{run_id}", headers=WAIT))
    await api.until_heard_by(1)
    refused = [
        await api.client.get(f"/v1/runs/{run_id}", headers=WAIT),
        await api.client.get(f"/v1/runs/{run_id}/events", headers=STREAM),
    ]
    posted = await api.client.post("/v1/jobs", json=JOB, headers=WAIT)

    for answer in refused:
        assert (answer.status_code, answer.json()["code"]) == (503, "too_many_readers")
        assert answer.headers["retry-after"]
    assert posted.status_code == 202
    assert "preference-applied" not in posted.headers
    assert (await api.client.get(f"/v1/runs/{run_id}")).status_code == 200
    await api.client.post(f"/v1/runs/{run_id}/cancel")
    assert (await reading).json()["status"] == "cancelled"
