import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from urllib.parse import urlsplit

import psutil
import pytest

from app.store.database import Database
from tests.support.play import Player, playing
from tests.support.processes import Replica, Replicas, following, post_job, run_at_end
from tests.support.service import plan_of, report, task
from tests.support.stub_answers import as_json, held
from tests.support.stub_provider import StubProvider

READERS = 1000
MOVE_AFTER = 5
EVENTS, EVENT_CHARACTERS = 5_000, 4_000
GROWTH_BYTES = 12 * 2**20
CHAIN = plan_of(task("t1", "researcher"), task("t2", "writer", ["t1"]))


@pytest.fixture
async def player(database_url: str) -> AsyncIterator[Player]:
    database = Database(database_url, pool=2)
    try:
        async with playing(database) as player:
            yield player
    finally:
        await database.close()


async def rest(ids: AsyncIterator[int]) -> list[int]:
    return [number async for number in ids]


async def test_a_run_is_followed_on_any_replica_and_taken_up_again_on_any_other(
    replicas: Replicas, stub: StubProvider
) -> None:
    stub.on("work:researcher", held(as_json(report())))
    stub.on("work:writer", held(as_json(report()), "end"))
    executing, other = await asyncio.gather(replicas.start(), replicas.start(engine="false"))
    run_id = await post_job(executing, plan=CHAIN)
    await stub.seen(1)

    async with (
        following(executing, run_id) as at_owner,
        following(other, run_id) as elsewhere,
        following(other, run_id) as leaves,
    ):
        early = [await anext(elsewhere) for _ in range(3)]
        left_at = [await anext(leaves) for _ in range(3)][-1]
        stub.release()
        await stub.seen(2)
        async with following(other, run_id) as late, following(executing, run_id, after=left_at) as comes_back:
            stub.release("end")
            found = await asyncio.gather(*map(rest, (at_owner, elsewhere, late, comes_back)))

    last = (await run_at_end(other, run_id))["last_seq"]
    everything = list(range(1, last + 1))
    assert found[0] == found[2] == everything
    assert early + found[1] == everything
    assert found[3] == everything[left_at:]


async def test_a_stream_whose_replica_is_stopped_goes_on_at_another_one_without_a_gap(
    replicas: Replicas, player: Player
) -> None:
    stopping, staying = await asyncio.gather(replicas.start(engine="false"), replicas.start(engine="false"))
    play = player.play(await post_job(stopping))
    await play.start()

    async with following(stopping, play.run_id) as stream:
        first = [await anext(stream) for _ in range(2)]
        stopping.signal(15)
        first += await rest(stream)
    assert await stopping.process.wait() == 0
    await play.fail()
    async with following(staying, play.run_id, after=first[-1]) as stream:
        second = await rest(stream)

    assert first + second == [1, 2, 3]


class RawReader:
    """A reader of a stream as cheap as can be: it counts the ids that come over its socket."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    @classmethod
    async def on(cls, replica: Replica, run_id: str, after: int = 0) -> "RawReader":
        where = urlsplit(replica.url)
        reader, writer = await asyncio.open_connection(where.hostname, where.port)
        lines = (
            f"GET /v1/runs/{run_id}/events HTTP/1.1",
            "Host: x",
            "Accept: text/event-stream",
            "Connection: close",
            *([f"Last-Event-ID: {after}"] if after else ()),
        )
        writer.write("".join(f"{line}\r\n" for line in (*lines, "")).encode())
        assert b"200" in await reader.readline()
        return cls(reader, writer)

    async def until(self, last: int) -> list[int]:
        """The ids up to `last`."""
        ids: list[int] = []
        async for number in self._ids():
            ids.append(number)
            if number == last:
                return ids
        raise AssertionError(f"the stream ended with {ids}")

    async def rest(self) -> list[int]:
        """The ids up to the end of the stream."""
        return [number async for number in self._ids()]

    async def _ids(self) -> AsyncIterator[int]:
        async for line in self._reader:
            if line.startswith(b"id:"):
                yield int(line.removeprefix(b"id:"))

    def close(self) -> None:
        self._writer.close()


async def test_a_thousand_readers_of_one_run_get_all_of_it_also_those_that_change_the_replica(
    replicas: Replicas, player: Player
) -> None:
    pair = await asyncio.gather(*(replicas.start(engine="false", database_pool="5") for _ in range(2)))
    play = player.play(await post_job(pair[0]))

    async def moved(reader: RawReader, to: Replica) -> RawReader:
        reader.close()
        return await RawReader.on(to, play.run_id, after=MOVE_AFTER)

    async with asyncio.timeout(100):
        staying, moving = [
            [await RawReader.on(pair[number % 2], play.run_id) for number in range(READERS // 2)] for _ in range(2)
        ]
        await play.start()
        await play.plan("t1")
        await play.start_task("t1")
        early = await asyncio.gather(*(reader.until(MOVE_AFTER) for reader in (*staying, *moving)))
        moves = [asyncio.create_task(moved(reader, pair[1 - n % 2])) for n, reader in enumerate(moving)]
        await play.finish_task("t1")
        moving = await asyncio.gather(*moves)
        await play.synthesize()
        await play.succeed()
        async with pair[0].client as client:
            answer = await client.get(f"/v1/runs/{play.run_id}")
        late = await asyncio.gather(*(reader.rest() for reader in (*staying, *moving)))
    for reader in (*staying, *moving):
        reader.close()

    assert answer.json()["status"] == "succeeded"
    assert all(first + then == list(range(1, 11)) for first, then in zip(early, late, strict=True))


async def test_a_reader_that_takes_nothing_costs_little_and_delays_nobody(replicas: Replicas, player: Player) -> None:
    replica = await replicas.start(engine="false")
    play = player.play(await post_job(replica))
    await play.start()
    process = psutil.Process(replica.process.pid)
    async with AsyncExitStack() as stack:
        clogged = await RawReader.on(replica, play.run_id)
        stack.callback(clogged.close)
        reads = await stack.enter_async_context(following(replica, play.run_id))
        reading = asyncio.create_task(rest(reads))
        await play.chatter(100, EVENT_CHARACTERS)
        before = process.memory_info().rss
        for _ in range(EVENTS // 100):
            await play.chatter(100, EVENT_CHARACTERS)
        await play.fail()
        ids = await asyncio.wait_for(reading, 60)
        grown = process.memory_info().rss - before
        missed = await asyncio.wait_for(clogged.until(ids[-1]), 60)

    assert ids == missed == list(range(1, EVENTS + 104))
    assert grown < GROWTH_BYTES
