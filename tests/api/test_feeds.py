"""Readers of one run: what they share, and what none of them takes from another."""

import asyncio
from collections.abc import Sequence

import pytest

from app.api import long_polls
from app.api.feeds import KEPT_BYTES, Batch, Feed, Feeds, Subscription
from app.api.frames import Frame as LogFrame
from app.api.frames import SharedPages
from app.domain.keys import DEFAULT_TENANT
from app.store.wakeups import Wakeups
from tests.support.api import Api, Starts, served
from tests.support.raw_reader import Frame, Reading, reading
from tests.support.waiting import until


class CountingPages(SharedPages):
    """Counts the looks at the log, those that share a read included."""

    looks = 0

    async def behind(self, tenant: str, run_id: str, after: int) -> Sequence[LogFrame]:
        self.looks += 1
        return await super().behind(tenant, run_id, after)


@pytest.fixture
def pages(api: Api) -> CountingPages:
    return CountingPages(api.runtime.database)


@pytest.fixture
def feeds(api: Api, pages: CountingPages) -> Feeds:
    return Feeds(api.runtime, pages)


async def caught_up(feed: Feed, after: int = 0) -> Batch:
    """Where a reader stands that has read the log to its end."""
    batch = feed.entry(after)
    while batch.followed:
        batch = await following_on(feed, batch)
    return batch


async def following_on(feed: Feed, last: Batch) -> Batch:
    found = await asyncio.wait_for(feed.behind(last), 10)
    assert found is not None
    return found


def ids(batch: Batch) -> list[int]:
    lines = b"".join(batch.events).splitlines()
    return [int(line.removeprefix(b"id: ")) for line in lines if line.startswith(b"id: ")]


async def test_readers_in_step_get_the_same_bytes_after_one_look(api: Api, feeds: Feeds, pages: CountingPages) -> None:
    play = await api.played()
    with feeds.joined(Subscription(DEFAULT_TENANT, play.run_id)) as feed:
        places = [await caught_up(feed) for _ in range(50)]
        before = pages.looks
        waits = [asyncio.create_task(following_on(feed, place)) for place in places]
        await play.start()
        batches = await asyncio.gather(*waits)

    assert {id(batch) for batch in batches} == {id(batches[0])}
    assert ids(batches[0]) == [2]
    assert pages.looks == before + 1


async def test_who_has_fallen_behind_what_is_kept_gets_all_of_it(api: Api, feeds: Feeds) -> None:
    play = await api.played()
    await play.start()
    with feeds.joined(Subscription(DEFAULT_TENANT, play.run_id)) as feed:
        slow = quick = await caught_up(feed)
        missed: list[int] = []
        for _ in range(4):
            coming = asyncio.create_task(following_on(feed, quick))
            await play.chatter(20, characters=KEPT_BYTES // 40)
            quick = await coming
        while slow.after < 82:
            slow = await following_on(feed, slow)
            missed += ids(slow)

    assert missed == list(range(3, 83))


async def test_nothing_is_read_ahead_of_a_reader_that_takes_nothing(
    api: Api, feeds: Feeds, pages: CountingPages
) -> None:
    play = await api.played()
    heard: list[int] = []
    with feeds.joined(Subscription(DEFAULT_TENANT, play.run_id)) as feed:
        place = await caught_up(feed)
        before = pages.looks
        with api.runtime.wakeups.listening(play.run_id, heard.append):
            await play.start()
            await play.chatter(3)
            await until(lambda: 5 in heard)
        looks_meanwhile = pages.looks - before
        batch = await following_on(feed, place)

    assert looks_meanwhile == 0
    assert ids(batch) == [2, 3, 4, 5]


async def test_a_feed_ends_with_its_last_reader(api: Api, feeds: Feeds, pages: CountingPages) -> None:
    play = await api.played()
    with feeds.joined(Subscription(DEFAULT_TENANT, play.run_id)) as first:
        with feeds.joined(Subscription(DEFAULT_TENANT, play.run_id)) as second:
            assert first is second
        coming = asyncio.create_task(following_on(first, await caught_up(first)))
        await play.start()
        assert ids(await coming) == [2]
    with feeds.joined(Subscription(DEFAULT_TENANT, play.run_id)) as later:
        assert later is not first
    assert await asyncio.wait_for(first.behind(Batch(2, 0)), 10) is None


async def test_text_takes_no_reader_back_behind_what_it_has_read_by_itself(
    api: Api, feeds: Feeds, database_url: str
) -> None:
    api.runtime.wakeups = Wakeups(database_url)  # which nobody connects
    play = await api.played()
    with feeds.joined(Subscription(DEFAULT_TENANT, play.run_id, deltas=True)) as feed:
        early = await caught_up(feed)
        waits = asyncio.create_task(following_on(feed, early))
        await play.start()
        late = await caught_up(feed)
        late_waits = asyncio.create_task(following_on(feed, late))
        await until(lambda: api.runtime.deltas.wanted(play.run_id))
        api.runtime.deltas.publish(play.run_id, purpose="plan", task_id=None, attempt=None, text="word")
        batches = await asyncio.gather(waits, late_waits)

    assert [(batch.after, b"word" in batch.passing) for batch in batches] == [(1, True), (2, True)]


async def test_a_stream_of_few_types_gives_signs_of_life_while_others_come(start_api: Starts) -> None:
    api = await start_api(heartbeat_seconds=0.1)
    play = await api.played()
    await play.start()
    async with (
        served(api) as address,
        reading(address, play.run_id, "?types=run.failed") as stream,
        asyncio.timeout(20),
    ):
        signs = asyncio.create_task(blocks_of(stream, 4))
        while not signs.done():
            await play.chatter(1)

    assert all(sign.comments and not sign.fields for sign in signs.result())


async def blocks_of(stream: Reading, count: int) -> list[Frame]:
    return [await anext(stream.frames) for _ in range(count)]


async def test_what_two_subscriptions_have_in_common_comes_to_both(api: Api, address: str) -> None:
    play = await api.played()
    async with (
        reading(address, play.run_id) as whole,
        reading(address, play.run_id, "?types=task.started,run.succeeded") as some,
    ):
        await api.until_heard_by(2)
        await play.whole()
        every, chosen = await asyncio.gather(whole.ids(), some.rest())

    assert every == list(range(1, 11))
    assert [frame.fields["event"] for frame in chosen if frame.fields] == ["task.started", "run.succeeded"]


async def test_runs_that_are_executed_take_no_room_from_readers(
    api: Api, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(long_polls, "READERS_ALLOWED", 1)
    run_id = await api.ended()
    with api.runtime.wakeups.listening(run_id, lambda _: None):
        async with reading(address, run_id) as stream:
            assert await stream.ids() == list(range(1, 11))
