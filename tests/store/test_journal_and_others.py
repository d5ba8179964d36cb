"""The journal beside others: clients that cancel, databases that go back, clocks that differ."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta

import psycopg
import pytest

from app.domain import events as ev
from app.domain.errors import OwnershipLost
from app.domain.events import Entry
from app.domain.fold import extend
from app.domain.policy.decide import decide
from app.store.journal import Journal, RunLog
from app.store.journal_sql import Batch, commit
from app.store.ownership import _CLAIM
from tests.support.claims import ME, claimed, spent
from tests.support.service import Service

CLAIMS = 300


@pytest.fixture
async def log(service: Service) -> AsyncIterator[RunLog]:
    """The log of a run that its claim has started, whose committer is at work."""
    journal = Journal(service.database, ME)
    committing = asyncio.create_task(journal.commit_forever())
    claim = await claimed(service)
    yield journal.open(claim.snapshot, claim.epoch, lambda: None)
    committing.cancel()
    with suppress(asyncio.CancelledError):
        await committing


def waiting(until: datetime) -> Entry:
    """The run is parked."""
    return Entry(ev.RunWaiting(reason="provider", until=until))


async def test_a_wait_decided_in_ignorance_of_a_cancel_is_dropped(log: RunLog, service: Service) -> None:
    assert await service.cancel(log.run_id) is True

    assert await log.append(waiting(datetime.now(UTC) + timedelta(hours=1))) is False
    assert await log.append(*decide(log.snapshot, datetime.now(UTC)).entries) is True

    assert [event.type for event in await service.events(log.run_id)][-2:] == ["run.cancel_requested", "run.cancelled"]


async def test_a_decision_made_in_ignorance_of_others_is_dropped_and_what_has_happened_stands(
    log: RunLog, service: Service
) -> None:
    assert await service.cancel(log.run_id) is True

    settled, happened = log.append(spent(), decided=True), log.append(spent())

    assert (await settled, await happened) == (False, True)
    types = [event.type for event in await service.events(log.run_id)]
    assert types[-2:] == ["run.cancel_requested", "llm.failed"]


async def test_a_log_whose_database_has_gone_back_is_closed(
    log: RunLog, service: Service, sql: psycopg.Connection
) -> None:
    assert await log.append(spent())
    with sql.transaction():
        sql.execute("DELETE FROM events WHERE seq = 3")
        sql.execute("UPDATE runs SET last_seq = 2")

    with pytest.raises(OwnershipLost):
        await asyncio.wait_for(log.append(spent()), 5)
    assert log.lost


@pytest.mark.parametrize("skew_s", [-30, 30])
async def test_a_parked_run_wakes_by_the_clock_that_it_is_looked_at_with(
    service: Service, sql: psycopg.Connection, skew_s: float
) -> None:
    claim, ours = await claimed(service), datetime.now(UTC) + timedelta(seconds=skew_s)
    run_id = claim.snapshot.brief.run_id
    run, events = extend(claim.snapshot, [waiting(ours + timedelta(seconds=60))], ours)

    assert await commit(service.database, ME, [Batch(run, events, claim.epoch, 2, ours)]) == {run_id}

    [(left,)] = sql.execute("SELECT extract(epoch FROM wake_at - now()) FROM runs")
    assert 55 < left <= 60


async def test_a_claim_never_sets_the_number_of_the_last_event_back(service: Service, database_url: str) -> None:
    run_id = await service.submit()
    values = {"id": run_id, "owner": ME, "lease": 1, "ended": ["failed"], "suspects": True, "suspect_after": 1_000}
    values |= {"at": datetime.now(UTC), "channel": "nobody_listens"}
    stop = asyncio.Event()

    async def write() -> None:
        async with await psycopg.AsyncConnection.connect(database_url, autocommit=True) as connection:
            while not stop.is_set():
                await connection.execute(
                    "WITH run AS (UPDATE runs SET last_seq = last_seq + 1 RETURNING id, last_seq)"
                    " INSERT INTO events (run_id, seq, type, at, data) SELECT id, last_seq, 'x', now(), '{}' FROM run"
                )

    writing = asyncio.create_task(write())
    behind = 0
    for _ in range(CLAIMS):
        async with service.database.driver() as connection, connection.transaction(force_rollback=True):
            if await connection.rows(_CLAIM, values):
                [found] = await connection.rows("SELECT max(seq) > max(last_seq) AS behind FROM events, runs", {})
                behind += found.behind
    stop.set()
    await writing

    assert behind == 0
