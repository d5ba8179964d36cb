import asyncio
import json
import socket
import time
from collections.abc import AsyncIterator, Sequence
from urllib.parse import urlsplit

import pytest
from structlog.testing import capture_logs

from app.api.feeds import Feeds
from app.api.frames import Frame, SharedPages
from app.domain.keys import DEFAULT_TENANT
from app.store.database import Database
from app.store.wakeups import Wakeups
from tests.support.api import Api, Starts, served
from tests.support.raw_reader import reading

ALL = list(range(1, 11))


async def test_a_stream_replays_an_ended_run_and_ends(api: Api, address: str) -> None:
    run_id = await api.ended()
    async with reading(address, run_id) as stream:
        frames = await stream.rest()

    page = await api.get(f"/v1/runs/{run_id}/events")
    assert frames[0].fields == {}
    assert [json.loads(frame.fields["data"]) for frame in frames[1:]] == page["data"]
    for frame, event in zip(frames[1:], page["data"], strict=True):
        assert (frame.id, frame.fields["event"]) == (event["seq"], event["type"])


async def test_every_block_of_a_stream_is_an_event_or_a_comment_alone(api: Api, address: str) -> None:
    async with reading(address, await api.ended()) as stream:
        frames = await stream.rest()

    assert [frame for frame in frames if bool(frame.comments) == ("data" in frame.fields)] == []
    assert [frame.fields.get("retry") for frame in frames if not frame.comments] == ["1000", *[None] * 9]


async def test_a_stream_says_that_it_must_be_neither_stored_nor_held_back(api: Api, address: str) -> None:
    async with reading(address, await api.ended(), accept_encoding="gzip, br") as stream:
        headers = stream.response.headers

    assert headers["content-type"].startswith("text/event-stream")
    assert headers["cache-control"] in ("no-store", "no-cache")
    assert headers["x-accel-buffering"] == "no"
    assert "content-encoding" not in headers


async def test_a_stream_follows_a_run_to_its_end(api: Api, address: str) -> None:
    play = await api.played()
    async with reading(address, play.run_id) as stream:
        seen = [(await stream.next_event()).fields["event"]]
        await play.start()
        seen.append((await stream.next_event()).fields["event"])
        await play.fail()
        seen += [frame.fields["event"] for frame in await stream.rest()]

    assert seen == ["run.queued", "run.started", "run.failed"]


async def test_an_event_is_sent_as_soon_as_it_is_committed(api: Api, address: str) -> None:
    play = await api.played()
    async with reading(address, play.run_id) as stream:
        await stream.next_event()
        await play.start()
        committed = time.monotonic()
        await stream.next_event()
        assert time.monotonic() - committed < 1


@pytest.mark.parametrize(
    ("known", "expected"),
    [
        ("3", ALL[3:]),
        ("0", ALL),
        ("-1", ALL),
        ("abc", ALL),
        ("", ALL),
        ("999999", ALL),
        ("1" * 60, ALL),
        ("٣", ALL),
        ("3.0", ALL),
    ],
)
async def test_a_client_that_comes_back_gets_what_it_lacks_and_all_if_it_makes_no_sense(
    api: Api, address: str, known: str, expected: list[int]
) -> None:
    run_id = await api.ended()
    if known.isascii():
        async with reading(address, run_id, last_event_id=known) as stream:
            assert await stream.ids() == expected
    async with reading(address, run_id, f"?after={known}") as stream:
        assert await stream.ids() == expected


async def test_the_header_wins_over_the_query(api: Api, address: str) -> None:
    async with reading(address, await api.ended(), "?after=2", last_event_id="8") as stream:
        assert await stream.ids() == [9, 10]


async def test_a_client_that_has_the_end_is_told_that_nothing_follows(api: Api, address: str) -> None:
    async with reading(address, await api.ended(), last_event_id="10") as stream:
        assert stream.response.status_code == 204


async def test_a_client_that_has_the_last_event_it_wants_is_told_that_nothing_follows(api: Api, address: str) -> None:
    run_id, wanted = await api.ended(), "?types=plan.created,task.succeeded"
    async with reading(address, run_id, wanted) as stream:
        last = (await stream.ids())[-1]
    async with reading(address, run_id, wanted, last_event_id=f"{last}") as stream:
        assert stream.response.status_code == 204
    async with reading(address, run_id, wanted, last_event_id=f"{last - 1}") as stream:
        assert await stream.ids() == [last]


async def test_an_empty_header_counts_for_nothing(api: Api, address: str) -> None:
    async with reading(address, await api.ended(), "?after=8", last_event_id="") as stream:
        assert await stream.ids() == [9, 10]


async def test_a_client_that_is_up_to_date_with_a_living_run_waits_for_more(api: Api, address: str) -> None:
    play = await api.played()
    async with reading(address, play.run_id, last_event_id="1") as stream:
        await api.until_heard_by(1)
        await play.start()
        assert (await stream.next_event()).id == 2


async def test_a_stream_of_no_run_is_refused_before_it_starts(api: Api, address: str) -> None:
    async with reading(address, "run_0") as stream:
        assert stream.response.status_code == 404
        assert stream.response.headers["content-type"] == "application/problem+json"


async def test_only_events_of_the_wanted_types_are_sent_and_the_stream_still_ends(api: Api, address: str) -> None:
    async with reading(address, await api.ended(), "?types=plan.created,task.succeeded") as stream:
        frames = [frame.fields["event"] for frame in await stream.rest() if "event" in frame.fields]

    assert frames == ["plan.created", "task.succeeded"]


async def test_a_silent_stream_gives_signs_of_life(start_api: Starts) -> None:
    api = await start_api(heartbeat_seconds=0.1)
    play = await api.played()
    async with asyncio.timeout(10), served(api) as address, reading(address, play.run_id) as stream:
        await stream.next_event()
        signs = [await anext(stream.frames) for _ in range(3)]
        await play.start()
        await play.succeed()
        assert await stream.ids() == [2, 3]

    assert all(sign.comments and not sign.fields for sign in signs)


async def test_every_reader_gets_every_event_once_on_every_replica(start_api: Starts) -> None:
    first, second = await start_api(), await start_api()
    play = await first.played()
    async with (
        served(first) as one,
        served(second) as two,
        reading(one, play.run_id) as early,
        reading(two, play.run_id) as other,
    ):
        await play.start()
        async with reading(two, play.run_id) as leaves:
            await leaves.next_event()
        await play.plan("t1")
        async with reading(two, play.run_id) as late:
            await play.start_task("t1")
            await play.finish_task("t1")
            await play.synthesize()
            await play.succeed()
            ids = await asyncio.gather(early.ids(), other.ids(), late.ids())

    assert list(ids) == [ALL, ALL, ALL]


async def test_a_client_that_goes_is_forgotten_and_the_run_goes_on(api: Api, address: str) -> None:
    play = await api.played()
    async with reading(address, play.run_id) as stream:
        await stream.next_event()
        await api.until_heard_by(1)
    await api.until_heard_by(0)

    await play.start()
    await play.succeed()
    assert (await api.get(f"/v1/runs/{play.run_id}"))["status"] == "succeeded"


async def test_a_lost_wake_up_only_delays_an_event(start_api: Starts, database_url: str) -> None:
    api = await start_api(poll_seconds=0.2)
    api.runtime.wakeups = Wakeups(database_url)  # which nobody connects
    play = await api.played()
    async with served(api) as address, reading(address, play.run_id) as stream:
        await stream.next_event()
        await api.until_heard_by(1)
        await play.start()
        assert (await asyncio.wait_for(stream.next_event(), 5)).id == 2


async def test_streams_end_when_the_process_is_told_to_stop(api: Api, address: str) -> None:
    play = await api.played()
    async with reading(address, play.run_id) as stream:
        await stream.next_event()
        await api.until_heard_by(1)
        api.runtime.draining.set()
        last = (await asyncio.wait_for(stream.rest(), 2))[-1]

    assert last.comments
    assert last.fields == {}


async def test_text_is_passed_on_while_it_is_written_to_those_who_want_it(api: Api, address: str) -> None:
    play = await api.played()
    deltas = api.runtime.deltas
    async with reading(address, play.run_id, "?deltas=true") as wants, reading(address, play.run_id) as other:
        await api.until_heard_by(2)
        await wants.next_event()
        for text in ("Hel", "lo"):
            deltas.publish(play.run_id, purpose="work", task_id="t1", attempt=1, text=text)
        frames = [await wants.next_event() for _ in range(2)]
        await play.start()
        await play.succeed()
        ids = await other.ids()
        assert await wants.ids() == [2, 3]

    assert [frame.fields["event"] for frame in frames] == ["text.delta"] * 2
    assert ["id" in frame.fields for frame in frames] == [False, False]
    assert [json.loads(frame.fields["data"])["data"]["text"] for frame in frames] == ["Hel", "lo"]
    assert ids == [1, 2, 3]
    assert not deltas.wanted(play.run_id)


async def test_of_text_that_nobody_takes_only_the_latest_is_kept(api: Api, address: str) -> None:
    play = await api.played()
    async with reading(address, play.run_id, "?deltas=true") as stream:
        await stream.next_event()
        await api.until_heard_by(1)
        for number in range(1000):
            api.runtime.deltas.publish(play.run_id, purpose="work", task_id="t1", attempt=1, text=f"{number}")
        await play.start()
        await play.succeed()
        frames = [frame for frame in await stream.rest() if frame.fields.get("event") == "text.delta"]

    assert len(frames) <= 256
    assert json.loads(frames[-1].fields["data"])["data"]["text"] == "999"


async def test_waiting_readers_hold_no_connection_to_the_database(start_api: Starts) -> None:
    api = await start_api(database_pool=2)
    play = await api.played()
    async with served(api) as address:
        streams = [reading(address, play.run_id) for _ in range(12)]
        opened = [await stream.__aenter__() for stream in streams]
        await api.until_heard_by(12)
        run = await asyncio.wait_for(api.get(f"/v1/runs/{play.run_id}"), 5)
        await play.start()
        await play.succeed()
        ids = await asyncio.gather(*(stream.ids() for stream in opened))
        for stream in streams:
            await stream.__aexit__(None, None, None)

    assert run["status"] == "queued"
    assert ids == [[1, 2, 3]] * 12


async def test_text_makes_nobody_read_the_log(api: Api, address: str) -> None:
    looks = 0

    class Counting(SharedPages):
        async def behind(self, tenant: str, run_id: str, after: int) -> Sequence[Frame]:
            nonlocal looks
            looks += 1
            return await super().behind(tenant, run_id, after)

    api.app.state.feeds = Feeds(api.runtime, Counting(api.runtime.database))
    play = await api.played()
    async with reading(address, play.run_id, "?deltas=true", last_event_id="1") as stream:
        await api.until_heard_by(1)
        for number in range(20):
            api.runtime.deltas.publish(play.run_id, purpose="work", task_id="t1", attempt=1, text=f"{number}")
            await stream.next_event()

    assert looks <= 2


async def test_an_outage_of_the_database_only_delays_a_stream(start_api: Starts) -> None:
    class Failing(SharedPages):
        failures = 2

        async def behind(self, tenant: str, run_id: str, after: int) -> Sequence[Frame]:
            if after == 1 and self.failures:
                self.failures -= 1
                raise OSError
            return await super().behind(tenant, run_id, after)

    api = await start_api(poll_seconds=0.1)
    failing = Failing(api.runtime.database)
    api.app.state.feeds = Feeds(api.runtime, failing)
    play = await api.played()
    await play.start()
    async with served(api) as address, reading(address, play.run_id, last_event_id="1") as stream:
        await play.succeed()
        assert await stream.ids() == [2, 3]
    assert failing.failures == 0


async def test_readers_at_the_same_place_share_a_read(api: Api) -> None:
    run_id = await api.ended()
    reads = 0

    class Counting(Database):
        def statement(self):  # type: ignore[no-untyped-def]
            nonlocal reads
            reads += 1
            return super().statement()

    database = Counting(api.runtime.database.url, pool=2)
    pages = SharedPages(database)
    same = await asyncio.gather(*(pages.behind(DEFAULT_TENANT, run_id, 0) for _ in range(10)))
    await pages.behind(DEFAULT_TENANT, run_id, 0)
    await database.close()

    assert reads == 2
    assert all([event.seq for event in page] == ALL for page in same)


@pytest.fixture
async def clogged(api: Api) -> AsyncIterator[socket.socket]:
    """A socket that takes little at a time."""
    with socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.setblocking(False)
        yield client


async def test_a_reader_that_takes_nothing_is_dropped_and_nobody_else_suffers(
    start_api: Starts, clogged: socket.socket
) -> None:
    api = await start_api(send_limit_s=0.3)
    play = await api.played()
    await play.start()
    async with served(api) as address:
        target = urlsplit(address)
        loop = asyncio.get_running_loop()
        await loop.sock_connect(clogged, (target.hostname, target.port))
        request = f"GET /v1/runs/{play.run_id}/events HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\n\r\n"
        await loop.sock_sendall(clogged, request.encode())
        await api.until_heard_by(1)
        async with reading(address, play.run_id) as other:
            with capture_logs() as lines:
                for _ in range(20):
                    await play.chatter(100, characters=3000)
                await api.until_heard_by(1)
            await play.fail()
            ids = await other.ids()
        async with reading(address, play.run_id, last_event_id="100") as back:
            rest = await back.ids()

    assert "slow reader dropped" in [line["event"] for line in lines]
    assert ids == list(range(1, 2004))
    assert rest == list(range(101, 2004))
