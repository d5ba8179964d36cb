"""How everybody but the owner writes into a run: clients that cancel, answer or approve, children that end.

A run's owner knows its log and writes without looking. Whoever intervenes reads the log, says what should be added to
it, and writes under the same guard as the owner: if the log has grown meanwhile, it is read again.
"""

import asyncio
import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import structlog
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from app.domain import events as ev
from app.domain.errors import RunUnreadable
from app.domain.events import Entry
from app.domain.fold import extend
from app.domain.fold_run import receipt_of
from app.domain.policy.decide import decide, ends_now
from app.domain.retries import Patience
from app.domain.snapshot import Snapshot
from app.domain.states import TERMINAL_RUN
from app.store.chronicle import tell
from app.store.database import Database, driver_of
from app.store.journal_sql import EVENTS_CHANNEL, Batch, write
from app.store.projection import as_json
from app.store.queue import Place, RunQueue
from app.store.run_log import LOG_AS_TEXT, Known, end_unreadable, read_run

log = structlog.get_logger(__name__)

TRIES_BEFORE_LOCKING = 3
"""How often a log that grows under our eyes is read again before its owner is made to wait for us."""

_READ = text(
    f"""
    SELECT runs.status, runs.tenant, teams.definition, runs.priority, runs.turn, runs.owner, runs.owner_epoch,
           runs.last_seq, runs.lease_until < now() AS lapsed, {LOG_AS_TEXT}
    FROM runs JOIN teams ON teams.tenant = runs.tenant AND teams.name = runs.team_name
                        AND teams.version = runs.team_version
    WHERE runs.id = :id AND runs.tenant = :tenant
    """
)
_LOCK = text("SELECT FROM runs WHERE id = :id AND tenant = :tenant FOR UPDATE")
"""A statement of its own: what is read beside a row that is waited for may be older than the row."""
_NOTE_CANCEL = text(
    """
    WITH found AS (
        SELECT id, coalesce(lease_until > now(), false) AS held, cancellation IS NOT NULL AS asked
        FROM runs WHERE id = :id AND tenant = :tenant FOR UPDATE
    ), changed AS (
        -- After waiting for a commit the row is the new one, while events are still seen as they were before.
        UPDATE runs SET cancellation = CAST(:cancellation AS json),
            last_seq = greatest(runs.last_seq, (SELECT max(seq) FROM events WHERE run_id = runs.id)) + 1
        FROM found WHERE runs.id = found.id AND found.held AND NOT found.asked RETURNING runs.id, runs.last_seq
    ), event AS (
        INSERT INTO events (run_id, seq, type, at, data)
        SELECT id, last_seq, 'run.cancel_requested', :at, CAST(:data AS json) FROM changed
    )
    SELECT held, (SELECT pg_notify(:channel, id || ':' || last_seq) FROM changed) FROM found
    """
)

KEEP_WAITING = ("plan.edited",)
"""What may be said into a run that waits, and gives nobody anything to do."""
_FORGET_TASKS = text(
    """
    WITH run AS (SELECT id FROM runs WHERE id = :id AND tenant = :tenant FOR UPDATE)
    DELETE FROM tasks USING run WHERE tasks.run_id = run.id
    """
)

Intervention = Callable[[Snapshot], Sequence[Entry]]
"""What is to be added to a run in the state it is in; it may refuse by raising."""


class _Overtaken(Exception):
    """The log has grown since it was read."""


async def intervene(
    database: Database, queue: RunQueue, tenant: str, run_id: str, intervention: Intervention
) -> bool | None:
    """Add to the log of a run. False when it has ended, None when there is no such run.

    A run that nobody executes and that is to end, since a client cancels it or rejects its plan, does so in this very
    transaction. One that others may go on with is announced, to be looked at again at once.
    Raises `RunUnreadable`, and whatever the intervention raises.
    """
    values = {"id": run_id, "tenant": tenant}
    for _ in range(TRIES_BEFORE_LOCKING):
        with suppress(_Overtaken):
            return await _intervene(database, queue, values, intervention, lock=False)
    return await _intervene(database, queue, values, intervention, lock=True)


async def _intervene(
    database: Database, queue: RunQueue, values: dict[str, str], intervention: Intervention, *, lock: bool
) -> bool | None:
    async with database.transaction() as connection:
        if lock:
            await connection.execute(_LOCK, values)
        row = (await connection.execute(_READ, values)).one_or_none()
        if row is None:
            return None
        if row.status in TERMINAL_RUN:
            return False
        # A long log takes seconds: in a thread it only slows others down.
        run = await asyncio.to_thread(_read, values["id"], row)
        now = datetime.now(UTC)
        run, events = extend(run, intervention(run), now)
        if row.owner is None and ends_now(run):
            run, ends = extend(run, decide(run, now).entries, now)
            events += ends
        rests = bool(events) and all(event.type in KEEP_WAITING for event in events)
        batch = Batch(run, events, row.owner_epoch, row.last_seq, now, wakes=row.owner is None and not rests)
        if any(event.type == "plan.edited" for event in events):
            await connection.execute(_FORGET_TASKS, values)  # Those of the new plan are written with it.
        if events and not await write(await driver_of(connection), row.owner, [batch]):
            raise _Overtaken
        if not rests and not run.ended and (row.owner is None or row.lapsed):
            # One that waited has begun already: it goes before those that have not, where their turns are the same.
            turn = row.turn - 1 if row.status == "waiting" else row.turn
            await queue.announce(connection, run.brief.run_id, Place(row.priority, turn))
    tell(database.witness, run, events)
    return True


def _read(run_id: str, row: Any) -> Snapshot:
    return read_run(Known(run_id, row.tenant, row.definition), json.loads(row.log), Patience(), {})


async def request_cancel(
    database: Database, queue: RunQueue, tenant: str, run_id: str, *, reason: str | None
) -> bool | None:
    """Ask for the end of a run, in its log. False when it has ended already, None when there is no such run.

    The owner sees the request there and stops; a run that nobody executes ends at once. A run whose owner has vanished
    is announced: whoever takes it reckons what was under way before it ends. A run that nobody executes and that cannot
    be read is failed. Asking twice changes nothing.
    """
    asked = ev.RunCancelRequested(reason=reason)
    async with database.transaction() as connection:
        done = await _note_cancel(connection, tenant, run_id, asked)
    if done is False:
        done = await _cancel_unheld(database, queue, tenant, run_id, asked)
    if done:
        log.info("run cancel requested", run_id=run_id, tenant=tenant)
    return done


async def _cancel_unheld(
    database: Database, queue: RunQueue, tenant: str, run_id: str, asked: ev.RunCancelRequested
) -> bool | None:
    """Cancel a run that nobody holds for sure. One that cannot be read is failed."""

    def cancel(run: Snapshot) -> Sequence[Entry]:
        return [] if run.cancel_requested else [Entry(asked)]

    try:
        return await intervene(database, queue, tenant, run_id, cancel)
    except RunUnreadable:
        async with database.transaction() as connection:
            ended = await end_unreadable(connection, run_id)
        if ended:
            database.witness.heard_unreadable()
        return True


async def _note_cancel(
    connection: AsyncConnection, tenant: str, run_id: str, asked: ev.RunCancelRequested
) -> bool | None:
    """Have the owner of a run cancel it; False when none has it for sure. None of its log is needed for that, and
    reading it would hold up the owner's commits.
    """
    now = datetime.now(UTC)
    values = {"id": run_id, "tenant": tenant, "at": now, "channel": EVENTS_CHANNEL}
    values |= {"data": as_json(asked), "cancellation": as_json(receipt_of(asked, now))}
    found = (await connection.execute(_NOTE_CANCEL, values)).one_or_none()
    return found.held if found else None
