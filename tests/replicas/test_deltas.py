import asyncio
import json
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

import psycopg
import pytest

from app.store import deltas as deltas_module
from app.store.deltas import DELTAS_CHANNEL, LISTENERS_CHANNEL, Deltas, Passage
from app.store.wakeups import Wakeups
from tests.support.processes import Replicas, post_job
from tests.support.proxy import Proxy
from tests.support.raw_reader import reading
from tests.support.service import plan_of, report, task
from tests.support.stub_answers import as_json, held
from tests.support.stub_provider import StubProvider
from tests.support.waiting import until

RUN = "run_1"
STORY = " ".join(f"word{number}" for number in range(400))
CHAIN = plan_of(task("t1", "researcher"), task("t2", "writer", ["t1"]))


@asynccontextmanager
async def process_at(url: str) -> AsyncIterator[Deltas]:
    """What one process knows of text and of who listens to it."""
    wakeups = Wakeups(url)
    deltas = Deltas(url, wakeups)
    parts = {asyncio.create_task(wakeups.listen_forever()), asyncio.create_task(deltas.share_forever())}
    await asyncio.wait_for(wakeups.connected.wait(), 10)
    try:
        yield deltas
    finally:
        for part in parts:
            part.cancel()
        await asyncio.wait(parts)


@pytest.fixture
async def here(database_url: str) -> AsyncIterator[Deltas]:
    async with process_at(database_url) as deltas:
        yield deltas


@pytest.fixture
async def there(database_url: str) -> AsyncIterator[Deltas]:
    async with process_at(database_url) as deltas:
        yield deltas


class Notices:
    """Hears our channels as a stranger does."""

    def __init__(self, connection: psycopg.Connection) -> None:
        self._connection = connection
        for channel in (LISTENERS_CHANNEL, DELTAS_CHANNEL):
            connection.execute(f"LISTEN {channel}")

    def on(self, channel: str) -> list[str]:
        """The payloads on a channel since the last look."""
        return [notice.payload for notice in self._connection.notifies(timeout=0) if notice.channel == channel]


@pytest.fixture
def notices(sql: psycopg.Connection) -> Notices:
    return Notices(sql)


def write(deltas: Deltas, text: str, run_id: str = RUN, task_id: str = "t1") -> None:
    deltas.publish(run_id, purpose="work", task_id=task_id, attempt=1, text=text)


def text_of(envelopes: list[str]) -> str:
    return "".join(json.loads(envelope)["data"]["text"] for envelope in envelopes)


@contextmanager
def collected(deltas: Deltas, run_id: str = RUN) -> Iterator[list[str]]:
    heard: list[str] = []
    with deltas.listening(run_id, heard.append):
        yield heard


async def test_text_reaches_a_reader_on_a_replica_that_does_not_execute_the_run(
    replicas: Replicas, stub: StubProvider, sql: psycopg.Connection
) -> None:
    stub.on("work:researcher", held(as_json(report())))
    stub.on("work:writer", as_json(report(STORY), pieces=20, stall_after_events=18, latch="rest"))
    executing, other = await asyncio.gather(replicas.start(), replicas.start(engine="false"))
    run_id = await post_job(executing, plan=CHAIN)
    await stub.seen(1)
    sql.execute(f"LISTEN {LISTENERS_CHANNEL}")
    async with reading(other.url, run_id, "?deltas=true") as stream:
        await stream.next_event()
        assert run_id in next(sql.notifies(timeout=10)).payload
        stub.release()
        frames = [await stream.next_event()]
        while frames[-1].fields["event"] != "text.delta":
            frames.append(await stream.next_event())
        stub.release("rest")
        frames += [frame for frame in await stream.rest() if "data" in frame.fields]

    envelopes = [json.loads(frame.fields["data"]) for frame in frames]
    texts = [each for each in envelopes if each["type"] == "text.delta"]
    seqs = [each["seq"] for each in envelopes if each["type"] != "text.delta"]
    assert stub.log[1].streamed
    assert seqs == list(range(2, seqs[-1] + 1))
    assert [("id" in frame.fields) for frame in frames] == [each["type"] != "text.delta" for each in envelopes]
    assert {(each["run_id"], each["task_id"], each["data"]["purpose"]) for each in texts} == {(run_id, "t2", "work")}
    assert STORY.startswith("".join(each["data"]["text"] for each in texts))
    told = next(n for n, each in enumerate(envelopes) if (each["type"], each["task_id"]) == ("llm.completed", "t2"))
    assert all(each["type"] != "text.delta" for each in envelopes[told:])


async def test_text_comes_whole_and_in_order_however_long_and_odd_it_is(here: Deltas, there: Deltas) -> None:
    odd = 'quote " backslash \\ line\nbreak \u2028 nul \x00 half \ud83d control \x01 emoji 🙂'
    long = "".join(f"{number} {odd}\x01\x02\x03" for number in range(700))
    with collected(there) as heard:
        await until(lambda: here.wanted(RUN))
        for start in range(0, len(long), 333):
            write(here, long[start : start + 333])
        expected = long.replace("\x00", "\ufffd").replace("\ud83d", "\ufffd")
        await until(lambda: len(text_of(heard)) >= len(expected))

    assert text_of(heard) == expected


async def test_text_for_others_is_put_together_a_few_times_a_second(
    here: Deltas, there: Deltas, notices: Notices
) -> None:
    with collected(there) as heard:
        await until(lambda: here.wanted(RUN))
        began = time.monotonic()
        for number in range(100):
            write(here, f"{number} ", task_id=f"t{number % 5}")
            await asyncio.sleep(0.005)  # the pace of a model that writes
        await until(lambda: sum(len(text_of([each])) for each in heard) == sum(len(f"{n} ") for n in range(100)))
        lasted = time.monotonic() - began

    sent = notices.on(DELTAS_CHANNEL)
    assert 1 <= len(sent) <= 10 * lasted + 2
    assert all(len(payload.encode()) <= 7_900 for payload in sent)


async def test_nothing_is_sent_when_nobody_listens_elsewhere(here: Deltas, there: Deltas, notices: Notices) -> None:
    write(here, "nobody")
    with collected(here) as heard, collected(there, "run_2") as marker:
        write(here, "somebody here")
        await until(lambda: here.wanted("run_2"))
        write(here, "the end", run_id="run_2")
        await until(lambda: bool(marker))

    assert text_of(heard) == "somebody here"
    assert not there.wanted("run_3")
    assert [payload for payload in notices.on(DELTAS_CHANNEL) if RUN in payload.split()] == []


async def test_a_reader_that_stays_is_believed_and_one_that_went_is_forgotten(
    here: Deltas, there: Deltas, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deltas_module, "ANNOUNCE_SECONDS", 0.2)
    monkeypatch.setattr(deltas_module, "REMEMBER_SECONDS", 0.6)
    with collected(there):
        await until(lambda: here.wanted(RUN))
        deadline = time.monotonic() + 1.2
        while time.monotonic() < deadline:
            assert here.wanted(RUN)
            await asyncio.sleep(0.05)  # time in which it would be forgotten
    await until(lambda: not here.wanted(RUN))


async def test_text_that_an_event_tells_of_is_not_sent_behind_it(here: Deltas, there: Deltas) -> None:
    with collected(there) as heard:
        await until(lambda: here.wanted(RUN))
        write(here, "superseded", task_id="t1")
        here.supersede(Passage(RUN, "work", "t1", 1))
        write(here, "still being written", task_id="t2")
        await until(lambda: bool(heard))

    assert text_of(heard) == "still being written"


async def test_trouble_with_the_database_costs_text_and_nothing_else(
    database_url: str, proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deltas_module, "ANNOUNCE_SECONDS", 0.2)
    monkeypatch.setattr(deltas_module, "SEND_SECONDS", 0.3)
    async with process_at(proxy.url) as here, process_at(database_url) as there:
        with collected(there) as heard, collected(here) as own:
            await until(lambda: here.wanted(RUN))
            proxy.newcomers = "refuse"
            proxy.drop()
            for _ in range(1_000):
                write(here, "x" * 1_000)
            proxy.resume()
            await until(lambda: _reaches(here, heard))

    assert text_of(own).startswith("x" * 1_000_000)
    assert len(text_of(heard)) < 1_000_000


def _reaches(here: Deltas, heard: list[str]) -> bool:
    """Whether what is written now comes through."""
    write(here, "again")
    return any("again" in envelope for envelope in heard)
