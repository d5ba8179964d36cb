import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import psycopg
import pytest

from app.domain.policy.breakers import Breaker, Fault, fail, reset, succeed, take_probe, trip
from app.domain.retries import Patience
from app.store.breaker_board import BreakerBoard
from app.store.breakers import Change, all_breakers, breakers_to_be_watched, change_breaker
from app.store.database import Database
from app.store.wakeups import Wakeups

NAME = "model:model-1"
PATIENCE = Patience(retry_base_s=1)


@pytest.fixture
async def pair(database_url: str) -> AsyncIterator[tuple[Database, Database]]:
    """Two replicas' handles of one database."""
    first, second = Database(database_url, pool=10), Database(database_url, pool=10)
    yield first, second
    await first.close()
    await second.close()


def failing(code: str = "provider_unavailable") -> Change:
    return lambda breaker, now: fail(breaker, Fault(code), now, PATIENCE)


def due(breaker: Breaker, now: datetime) -> Breaker:
    return replace(trip(breaker, now), probe_at=now)


async def test_failures_of_all_replicas_add_up(pair: tuple[Database, Database]) -> None:
    await asyncio.gather(*(change_breaker(pair[number % 2], "default", NAME, failing()) for number in range(5)))

    [breaker] = await all_breakers(pair[0], "default")

    assert (breaker.state, breaker.reason, breaker.failures) == ("open", "provider_unavailable", 5)


async def test_of_many_that_would_probe_at_the_same_moment_one_does(pair: tuple[Database, Database]) -> None:
    await change_breaker(pair[0], "default", NAME, due)

    def taking(prober: str) -> Change:
        return lambda breaker, now: take_probe(breaker, prober, now, 60)

    found = await asyncio.gather(
        *(change_breaker(pair[number % 2], "default", NAME, taking(f"{number}")) for number in range(20))
    )

    winners = [number for number, breaker in enumerate(found) if breaker and breaker.prober == f"{number}"]
    assert len(winners) == 1
    assert {breaker.prober for breaker in found if breaker} == {f"{winners[0]}"}


async def test_the_clock_is_the_databases(pair: tuple[Database, Database]) -> None:
    seen: list[datetime] = []

    def note(breaker: Breaker, now: datetime) -> Breaker:
        seen.append(now)
        return trip(breaker, now - timedelta(days=1))

    found = await change_breaker(pair[0], "default", NAME, note)

    assert found is not None
    assert found.opened_at is not None
    assert abs(datetime.now(UTC) - timedelta(days=1) - found.opened_at) < timedelta(seconds=5)
    assert (await all_breakers(pair[0], "default"))[0].opened_at == seen[0] - timedelta(days=1)


async def test_one_tenants_breakers_are_not_anothers(pair: tuple[Database, Database]) -> None:
    await change_breaker(pair[0], "one", NAME, trip)

    assert await all_breakers(pair[0], "other") == []
    assert list(await breakers_to_be_watched(pair[1])) == [("one", NAME)]


async def test_a_breaker_that_must_be_known_is_not_made(pair: tuple[Database, Database]) -> None:
    assert await change_breaker(pair[0], "default", NAME, lambda breaker, _: reset(breaker), known=True) is None
    assert await all_breakers(pair[0], "default") == []


async def test_another_process_hears_of_a_change(database_url: str, pair: tuple[Database, Database]) -> None:
    wakeups = Wakeups(database_url)
    board = BreakerBoard(wakeups)
    heard = asyncio.Event()
    board.watch(heard.set)
    parts = [
        asyncio.create_task(wakeups.listen_forever()),
        asyncio.create_task(board.follow_forever(lambda: pair[1], 60)),
    ]
    await asyncio.wait_for(wakeups.connected.wait(), 10)
    try:
        await change_breaker(pair[0], "default", NAME, trip)
        await asyncio.wait_for(heard.wait(), 10)
        assert board.open_of("default")[NAME].reason == "tripped"
        heard.clear()
        await change_breaker(pair[0], "default", NAME, lambda breaker, _: reset(breaker))
        await asyncio.wait_for(heard.wait(), 10)
        assert board.open_of("default") == {}
    finally:
        for part in parts:
            part.cancel()
        await asyncio.gather(*parts, return_exceptions=True)


async def test_what_a_process_has_just_learned_is_not_taken_back_by_an_older_look(
    database_url: str, pair: tuple[Database, Database]
) -> None:
    board = BreakerBoard(Wakeups(database_url))
    opened = fail(Breaker(NAME), Fault("provider_auth"), datetime.now(UTC), PATIENCE)
    with board.changing("default", NAME):
        board.put("default", opened)
        look = asyncio.create_task(board.follow_forever(lambda: pair[0], 0.01))
        await breakers_to_be_watched(pair[0])
        await breakers_to_be_watched(pair[0])
        assert board.find("default", NAME) == opened
    look.cancel()
    await asyncio.gather(look, return_exceptions=True)


async def test_the_table_holds_what_a_breaker_is(sql: psycopg.Connection, pair: tuple[Database, Database]) -> None:
    await change_breaker(pair[0], "default", NAME, due)
    for wrong in ("state = 'closed'", "state = 'half_open'", "prober = 'x'", "kind = 'door'", "opened_at = NULL"):
        with pytest.raises(psycopg.errors.CheckViolation):
            sql.execute(f"UPDATE breakers SET {wrong}")
    assert await change_breaker(pair[0], "default", NAME, lambda breaker, _: succeed(breaker)) is not None
