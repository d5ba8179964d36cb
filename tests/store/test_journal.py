import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime

import psycopg
import pytest

from app.domain import events as ev
from app.domain.errors import IllegalMove, OwnershipLost, Unwritable
from app.domain.events import Entry
from app.domain.policy.decide import decide
from app.store import journal as journal_module
from app.store.journal import Journal, RunLog
from app.store.journal_sql import commit
from tests.support.claims import ME, claimed, failed, spent, started
from tests.support.rows import check_rows
from tests.support.service import Service
from tests.support.waiting import until_blocked


@pytest.fixture
async def journal(service: Service) -> AsyncIterator[Journal]:
    """A journal whose committer is at work."""
    journal = Journal(service.database, ME)
    committing = asyncio.create_task(journal.commit_forever())
    yield journal
    assert not committing.done()
    committing.cancel()
    with suppress(asyncio.CancelledError):
        await committing


def nothing() -> None:
    """Nobody waits for changes."""


async def opened(journal: Journal, service: Service) -> RunLog:
    """The log of a new run, which its claim has started."""
    claim = await claimed(service)
    return journal.open(claim.snapshot, claim.epoch, nothing)


async def types_of(service: Service, log: RunLog) -> list[str]:
    return [event.type for event in await service.events(log.run_id)]


@contextmanager
def held_row(sql: psycopg.Connection, log: RunLog) -> Iterator[None]:
    """Keep the run's row locked, so that a commit of it has to wait."""
    with sql.transaction():
        sql.execute("SELECT 1 FROM runs WHERE id = %s FOR UPDATE", [log.run_id])
        yield


async def test_events_are_recorded_in_order_with_the_rows_they_change(journal: Journal, service: Service) -> None:
    log = await opened(journal, service)

    await asyncio.gather(*(log.append(spent()) for _ in range(20)))
    assert await log.append(failed()) is True

    assert log.snapshot == log.ahead
    assert (log.snapshot.status, log.snapshot.last_seq, log.snapshot.usage.llm_calls) == ("failed", 23, 20)
    await check_rows(service.database, log.run_id)


async def test_what_is_appended_during_a_commit_shares_the_next_one(
    journal: Journal, service: Service, sql: psycopg.Connection
) -> None:
    logs = [await opened(journal, service) for _ in range(5)]
    with held_row(sql, logs[0]):
        first = logs[0].append(spent())
        await until_blocked(service.database)
        later = [log.append(spent(), spent()) for log in logs for _ in range(10)]
    await asyncio.gather(first, *later)

    assert [log.snapshot.last_seq for log in logs] == [23, 22, 22, 22, 22]
    assert [_commits_of(sql, log) for log in logs] == [4, 3, 3, 3, 3]


def _commits_of(sql: psycopg.Connection, log: RunLog) -> int:
    """How many transactions have written the run's events."""
    row = sql.execute("SELECT count(DISTINCT xmin::text) FROM events WHERE run_id = %s", [log.run_id]).fetchone()
    assert row is not None
    return int(row[0])


async def test_what_is_ahead_is_seen_at_once_and_is_fact_only_when_it_is_recorded(
    journal: Journal, service: Service, sql: psycopg.Connection
) -> None:
    log = await opened(journal, service)

    with held_row(sql, log):
        recorded = log.append(spent())
        assert (log.ahead.usage.llm_calls, log.snapshot.usage.llm_calls) == (1, 0)
    await recorded

    assert log.snapshot.usage.llm_calls == 1


async def test_whoever_lost_the_run_writes_nothing_more(
    journal: Journal, service: Service, sql: psycopg.Connection
) -> None:
    log = await opened(journal, service)
    sql.execute("UPDATE runs SET owner_epoch = owner_epoch + 1, owner = 'another'")

    with pytest.raises(OwnershipLost):
        await log.append(spent())

    assert log.lost is True
    assert await types_of(service, log) == ["run.queued", "run.started"]
    with pytest.raises(OwnershipLost):
        log.append(spent())


async def test_an_owner_of_the_same_name_with_an_older_epoch_is_refused_too(
    journal: Journal, service: Service, sql: psycopg.Connection
) -> None:
    log = await opened(journal, service)
    sql.execute("UPDATE runs SET owner_epoch = owner_epoch + 1")

    with pytest.raises(OwnershipLost):
        await log.append(spent())


async def test_losing_one_run_does_not_hold_up_the_others_of_a_commit(
    journal: Journal, service: Service, sql: psycopg.Connection
) -> None:
    lost, kept = await opened(journal, service), await opened(journal, service)
    sql.execute("UPDATE runs SET owner_epoch = owner_epoch + 1 WHERE id = %s", [lost.run_id])

    gone, recorded = lost.append(spent()), kept.append(spent())

    assert await recorded is True
    with pytest.raises(OwnershipLost):
        await gone


async def test_a_cancel_between_two_appends_is_folded_in_where_it_happened(journal: Journal, service: Service) -> None:
    log = await opened(journal, service)
    await log.append(spent())
    await service.cancel(log.run_id)

    assert await log.append(spent()) is True

    assert await types_of(service, log) == [
        "run.queued", "run.started", "llm.failed", "run.cancel_requested", "llm.failed",
    ]  # fmt: skip
    assert log.snapshot.cancel_requested
    assert log.snapshot.last_seq == log.ahead.last_seq == 5
    assert (await service.folded(log.run_id)).usage == log.snapshot.usage


async def test_a_cancel_that_waits_for_a_commit_is_folded_in_behind_it(
    journal: Journal, service: Service, sql: psycopg.Connection
) -> None:
    log = await opened(journal, service)
    with held_row(sql, log):
        recorded = log.append(spent())
        await until_blocked(service.database)
        cancelling = asyncio.create_task(service.cancel(log.run_id))
        await until_blocked(service.database, statements=2)

    assert (await recorded, await cancelling) == (True, True)
    assert await types_of(service, log) == ["run.queued", "run.started", "llm.failed", "run.cancel_requested"]


async def test_an_end_decided_in_ignorance_of_a_cancel_is_dropped(journal: Journal, service: Service) -> None:
    log = await opened(journal, service)
    await service.cancel(log.run_id)

    assert await log.append(failed()) is False

    assert (log.snapshot.status, log.ahead.status) == ("running", "running")
    assert await log.append(*decide(log.snapshot, datetime.now(UTC)).entries) is True
    assert (await types_of(service, log))[-2:] == ["run.cancel_requested", "run.cancelled"]
    await check_rows(service.database, log.run_id)


async def test_a_look_fetches_what_others_have_added(journal: Journal, service: Service) -> None:
    changed = asyncio.Event()
    claim = await claimed(service)
    log = journal.open(claim.snapshot, claim.epoch, changed.set)
    await service.cancel(log.run_id)

    log.hear_of(3)

    await asyncio.wait_for(changed.wait(), 10)
    assert log.snapshot.cancel_requested


@pytest.mark.parametrize("later", [0, 2])
async def test_a_commit_whose_answer_was_lost_is_recognised_as_done(service: Service, later: int) -> None:
    claim = await claimed(service)
    journal = Journal(service.database, ME)
    log = journal.open(claim.snapshot, claim.epoch, nothing)
    recorded = [log.append(spent()), log.append(spent())]
    assert await commit(service.database, ME, [log.batch(datetime.now(UTC))]) == {log.run_id}
    recorded += [log.append(spent()) for _ in range(later)]

    committing = asyncio.create_task(journal.commit_forever())
    assert await asyncio.gather(*recorded) == [True] * (2 + later)
    committing.cancel()

    assert await types_of(service, log) == ["run.queued", "run.started", *["llm.failed"] * (2 + later)]
    assert log.snapshot.last_seq == log.ahead.last_seq == 4 + later
    assert log.snapshot.usage.llm_calls == 2 + later


async def test_a_connection_that_dies_during_a_commit_loses_and_doubles_nothing(
    journal: Journal, service: Service, sql: psycopg.Connection
) -> None:
    log = await opened(journal, service)
    _on_event_insert(sql, "IF nextval('deaths') = 1 THEN PERFORM pg_terminate_backend(pg_backend_pid()); END IF;")

    assert await log.append(spent()) is True

    assert await types_of(service, log) == ["run.queued", "run.started", "llm.failed"]


async def test_a_run_whose_rows_are_refused_holds_no_other_up(
    journal: Journal, service: Service, sql: psycopg.Connection
) -> None:
    poisoned, healthy = await opened(journal, service), await opened(journal, service)
    _on_event_insert(sql, f"IF NEW.run_id = '{poisoned.run_id}' THEN RAISE EXCEPTION 'never'; END IF;")

    refused = poisoned.append(spent())
    async with asyncio.timeout(2):
        for _ in range(20):
            assert await healthy.append(spent()) is True

    assert not refused.done()
    poisoned.close()


async def test_a_run_whose_rows_are_refused_for_good_is_given_up(
    journal: Journal, service: Service, sql: psycopg.Connection, quick_retries: None
) -> None:
    poisoned, healthy = await opened(journal, service), await opened(journal, service)
    _on_event_insert(sql, f"IF NEW.run_id = '{poisoned.run_id}' THEN RAISE EXCEPTION 'never'; END IF;")

    given_up = poisoned.append(spent())
    with pytest.raises(OwnershipLost):
        await asyncio.wait_for(given_up, 10)

    assert await types_of(service, poisoned) == ["run.queued", "run.started"]
    assert await asyncio.wait_for(healthy.append(spent()), 5) is True


async def test_what_cannot_be_put_into_bytes_is_taken_back_at_once_and_the_run_goes_on(
    journal: Journal, service: Service
) -> None:
    poisoned, healthy = await opened(journal, service), await opened(journal, service)
    unwritable = Entry(ev.RunResumed(engine="\ud800", epoch=1))

    given_up = poisoned.append(unwritable)

    with pytest.raises(Unwritable):
        await asyncio.wait_for(given_up, 10)
    for log in (healthy, poisoned):
        assert await asyncio.wait_for(log.append(spent()), 5) is True


@pytest.fixture
def quick_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal_module, "RETRY_SECONDS", 0.001)
    monkeypatch.setattr(journal_module, "RETRY_CEILING_SECONDS", 0.01)


async def test_an_event_that_cannot_follow_is_refused_and_leaves_the_log_as_it_was(
    journal: Journal, service: Service
) -> None:
    log = await opened(journal, service)

    with pytest.raises(IllegalMove):
        log.append(spent(), started())

    assert log.ahead == log.snapshot
    assert await log.append(spent()) is True


async def test_a_log_that_is_closed_while_its_commit_is_under_way_breaks_nothing(
    journal: Journal, service: Service, sql: psycopg.Connection
) -> None:
    closed, other = await opened(journal, service), await opened(journal, service)

    with held_row(sql, closed):
        waiting = closed.append(spent())
        await until_blocked(service.database)
        closed.close()
        with pytest.raises(OwnershipLost):
            await waiting

    assert await asyncio.wait_for(other.append(spent()), 5) is True


async def test_a_commit_wakes_whoever_listens_to_the_run(journal: Journal, service: Service) -> None:
    log = await opened(journal, service)
    news: asyncio.Queue[int] = asyncio.Queue()

    with service.runtime.wakeups.listening(log.run_id, news.put_nowait):
        await log.append(spent(), spent())
        heard = await asyncio.wait_for(news.get(), 10)
        while heard < 4:
            heard = await asyncio.wait_for(news.get(), 10)

    assert heard == 4


async def test_settled_waits_for_everything_that_was_appended(journal: Journal, service: Service) -> None:
    log = await opened(journal, service)
    for _ in range(10):
        log.append(spent())

    await log.settled()

    assert (log.waits, log.snapshot.usage.llm_calls) == (False, 10)


def _on_event_insert(sql: psycopg.Connection, does: str) -> None:
    """Have Postgres do something whenever an event is inserted."""
    sql.execute("CREATE SEQUENCE deaths")
    sql.execute(
        f"CREATE FUNCTION intrude() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {does} RETURN NEW; END $$".encode()
    )
    sql.execute("CREATE TRIGGER intrude BEFORE INSERT ON events FOR EACH ROW EXECUTE FUNCTION intrude()")
