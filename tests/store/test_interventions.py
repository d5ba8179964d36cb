"""Writing into a run without owning it."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import psycopg
import pytest

from app.domain import events as ev
from app.domain.errors import JobRefused
from app.domain.events import Entry
from app.domain.fold import extend
from app.domain.keys import DEFAULT_TENANT
from app.domain.snapshot import Snapshot
from app.store import interventions
from app.store.interventions import TRIES_BEFORE_LOCKING, intervene
from app.store.journal_sql import Batch, commit
from tests.support.claims import ME, claimed, try_claim
from tests.support.rows import check_rows, every
from tests.support.service import Service
from tests.support.waiting import until

GROW = """
    WITH run AS (UPDATE runs SET last_seq = last_seq + 1 WHERE id = %s RETURNING id, last_seq)
    INSERT INTO events (run_id, seq, type, at, data)
    SELECT id, last_seq, 'run.resumed', now(), '{"engine": "me", "epoch": 1}' FROM run
"""
"""What an owner's commit does."""
WAITING_FOR_LOCKS = """
    SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()
"""
REQUEST = Entry(ev.RunCancelRequested(reason="enough"))


async def parked(service: Service, until: datetime | None) -> str:
    """A run that waits, and that nobody owns."""
    claim = await claimed(service)
    waiting = Entry(ev.RunWaiting(reason="provider", until=until))
    run, events = extend(claim.snapshot, [waiting], datetime.now(UTC))
    batch = Batch(run, events, claim.epoch, claim.snapshot.last_seq, datetime.now(UTC))
    run_id = run.brief.run_id
    assert await commit(service.database, ME, [batch]) == {run_id}
    return run_id


async def intervene_in(service: Service, run_id: str, *entries: Entry) -> bool | None:
    runtime = service.runtime
    return await intervene(runtime.database, runtime.queue, DEFAULT_TENANT, run_id, lambda _: entries)


@pytest.mark.parametrize("until", [None, datetime.now(UTC) + timedelta(hours=1)])
async def test_a_run_that_waits_is_taken_up_by_nobody_until_there_is_news(
    service: Service, until: datetime | None
) -> None:
    run_id = await parked(service, until)
    assert await try_claim(service, run_id) is None

    assert await intervene_in(service, run_id) is True
    assert await try_claim(service, run_id) is None, "nothing was said"


async def test_a_claim_of_a_run_that_waits_changes_its_owner_and_nothing_it_says(service: Service) -> None:
    run_id = await parked(service, datetime.now(UTC) - timedelta(seconds=1))
    [before] = await every(service.database, "SELECT status, waiting_for, wake_at, phase, last_seq FROM runs")

    claim = await claimed(service, run_id)

    [after] = await every(service.database, "SELECT status, waiting_for, wake_at, phase, last_seq FROM runs")
    assert after == before
    assert claim.snapshot.waiting is not None
    await check_rows(service.database, run_id)


async def test_what_is_said_into_a_run_that_somebody_has_just_taken_up_leaves_it_with_its_owner(
    service: Service, sql: psycopg.Connection
) -> None:
    run_id = await parked(service, datetime.now(UTC) - timedelta(seconds=1))
    await claimed(service, run_id)
    sql.execute("UPDATE runs SET lease_until = now()")  # A cancel of a live owner's run needs none of this.

    assert await intervene_in(service, run_id, REQUEST) is True

    [row] = await every(service.database, "SELECT status, owner FROM runs")
    assert (row["status"], row["owner"]) == ("waiting", ME)
    await check_rows(service.database, run_id)


async def test_whoever_is_overtaken_reads_again(service: Service, sql: psycopg.Connection) -> None:
    run_id = (await claimed(service)).snapshot.brief.run_id
    seen: list[int] = []

    def intervention(run: Snapshot) -> Sequence[Entry]:
        seen.append(run.last_seq)
        if len(seen) <= TRIES_BEFORE_LOCKING:
            sql.execute(GROW, [run_id])
        return [REQUEST]

    runtime = service.runtime
    assert await intervene(runtime.database, runtime.queue, DEFAULT_TENANT, run_id, intervention) is True

    assert seen == [2, 3, 4, 5]
    await check_rows(service.database, run_id)


async def test_whoever_has_waited_for_a_commit_sees_what_it_brought(
    service: Service, sql: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(interventions, "TRIES_BEFORE_LOCKING", 0)
    run_id = (await claimed(service)).snapshot.brief.run_id
    seen: list[int] = []

    def intervention(run: Snapshot) -> Sequence[Entry]:
        seen.append(run.last_seq)
        return [REQUEST]

    runtime = service.runtime
    with psycopg.connect(service.url) as owner:
        owner.execute(GROW, [run_id])
        waiting = asyncio.create_task(intervene(runtime.database, runtime.queue, DEFAULT_TENANT, run_id, intervention))
        await until(lambda: sql.execute(WAITING_FOR_LOCKS).fetchone() == (1,))

    assert await waiting is True
    assert seen == [3]
    await check_rows(service.database, run_id)


async def test_whoever_refuses_leaves_no_trace(service: Service) -> None:
    run_id = await service.submit()

    def refuse(_: Snapshot) -> Sequence[Entry]:
        raise JobRefused("request_invalid", "There is no such question.")

    runtime = service.runtime
    with pytest.raises(JobRefused):
        await intervene(runtime.database, runtime.queue, DEFAULT_TENANT, run_id, refuse)

    assert [event.type for event in await service.events(run_id)] == ["run.queued"]


async def test_there_is_no_door_to_runs_of_others_and_to_runs_that_have_ended(service: Service) -> None:
    runtime, run_id = service.runtime, await service.submit()
    assert await intervene(runtime.database, runtime.queue, "another", run_id, lambda _: [REQUEST]) is None
    assert await intervene_in(service, run_id, REQUEST) is True
    assert await intervene_in(service, run_id, REQUEST) is False
