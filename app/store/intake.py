"""How a run comes to be, and how a client asks for its end: the two writes that do not belong to a run's owner."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import structlog
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from app.domain import events as ev
from app.domain.decisions import decide
from app.domain.errors import JobRefused, RunUnreadable
from app.domain.fold import extended, fold
from app.domain.job import Job, Limits
from app.domain.plan import Plan
from app.domain.retries import Policy
from app.domain.snapshot import Brief, Snapshot
from app.domain.states import TERMINAL_RUN
from app.domain.team import TeamRef
from app.domain.values import changed
from app.store.chronicle import tell
from app.store.database import Database, driver_of
from app.store.journal_sql import Batch, write
from app.store.logs import end_unreadable, note_cancel, read_run
from app.store.projection import Row, as_json, plain, run_row
from app.store.queue import NEW_ENTRY, Place, RunQueue
from app.store.teams import StoredTeam

log = structlog.get_logger(__name__)

_ACCEPT = f"""
    WITH key AS (
        INSERT INTO idempotency_keys (tenant, key, request, digest, run_id)
        SELECT %(tenant)s, %(key)s, %(request)s, %(digest)s, %(id)s WHERE CAST(%(key)s AS text) IS NOT NULL
        ON CONFLICT DO NOTHING RETURNING run_id
    ), run AS (
        INSERT INTO runs (id, tenant, status, objective, team_name, team_version, priority, turn, metadata, limits,
                          progress, usage, timing, last_seq, created_at)
        SELECT %(id)s, %(tenant)s, 'queued', %(objective)s, %(team_name)s, %(team_version)s, %(priority)s,
               greatest((SELECT min(turn) FROM runs WHERE status = 'queued' AND priority = %(priority)s),
                        (SELECT max(turn) + 1 FROM runs
                         WHERE status = 'queued' AND priority = %(priority)s AND tenant = %(tenant)s), 0),
               CAST(%(metadata)s AS json), CAST(%(limits)s AS json), CAST(%(progress)s AS json),
               CAST(%(usage)s AS json), CAST(%(timing)s AS json), 1, %(at)s
        WHERE CAST(%(key)s AS text) IS NULL OR EXISTS (SELECT FROM key)
        RETURNING id, priority, turn
    ), event AS (
        INSERT INTO events (run_id, seq, type, at, data)
        SELECT id, 1, 'run.queued', %(at)s, CAST(%(queued)s AS json) FROM run
    ), inputs AS (
        INSERT INTO run_inputs (run_id, position, name, media_type, content)
        SELECT run.id, n.position - 1, n.name, n.media_type, n.content
        FROM run, unnest(CAST(%(names)s AS text[]), CAST(%(media_types)s AS text[]), CAST(%(contents)b AS text[]))
                  WITH ORDINALITY AS n(name, media_type, content, position)
    )
    SELECT {NEW_ENTRY} FROM run
"""
_KEY = text("SELECT run_id, digest FROM idempotency_keys WHERE tenant = :tenant AND key = :key AND request = :request")
_LOCK_RUN = text(
    """
    SELECT runs.status, runs.objective, runs.limits, runs.cancellation, teams.definition,
           runs.priority, runs.turn, runs.owner, runs.owner_epoch, runs.last_seq, runs.lease_until < now() AS lapsed
    FROM runs JOIN teams ON teams.tenant = runs.tenant AND teams.name = runs.team_name
                        AND teams.version = runs.team_version
    WHERE runs.id = :id AND runs.tenant = :tenant FOR UPDATE OF runs
    """
)
_EVENTS = text("SELECT seq, type, at, run_id, task_id, attempt, data FROM events WHERE run_id = :id ORDER BY seq")


@dataclass(frozen=True, slots=True)
class IdempotencyKey:
    """A client's word that a repetition of the same request is meant to be the same job."""

    key: str
    request: str
    """Method and path."""
    digest: str
    """SHA-256 of the canonical body."""


@dataclass(frozen=True, slots=True)
class Accepted:
    """What became of a POSTed job."""

    run_id: str
    row: Row | None = None
    """The run as it was stored, in the columns of its resource; None for one that was there already."""

    @property
    def replayed(self) -> bool:
        """Whether the run was there already, under the same idempotency key."""
        return self.row is None


@dataclass(frozen=True, slots=True)
class Origin:
    """The request that brought a job."""

    request_id: str | None = None
    traceparent: str | None = None


@dataclass(frozen=True, slots=True)
class NewRun:
    """A job that was found fit to be executed."""

    run_id: str
    job: Job
    team: StoredTeam
    limits: Limits
    """As applied."""
    plan: Plan | None = None
    """The client's own plan, validated."""
    origin: Origin = Origin()


async def accept(database: Database, tenant: str, new: NewRun, *, key: IdempotencyKey | None = None) -> Accepted:
    """Store the run, its first event and its queue entry in one statement.

    Raises `JobRefused` (`idempotency_key_reused`) when the key was used with another body.
    """
    if key and (found := await _replayed(database, tenant, key)):
        return found
    run, event = _queued(new)
    row = _row(new, run, event)
    async with database.driver() as connection:
        stored = await connection.rows(_ACCEPT, _values_of(tenant, new, event, row, key))
    if not stored:  # Somebody else has used the key while we were at it.
        assert key is not None
        found = await _replayed(database, tenant, key)
        assert found is not None
        return found
    team = f"{new.team.team.name}@{new.team.version}"
    log.info("run accepted", run_id=new.run_id, team=team, inputs=len(new.job.inputs), priority=new.job.priority)
    return Accepted(new.run_id, row)


def _queued(new: NewRun) -> tuple[Snapshot, ev.RunQueued]:
    """The run's first event, and the state after it."""
    listed = tuple(
        ev.InputListed(name=item.name, media_type=item.media_type, characters=len(item.content))
        for item in new.job.inputs
    )
    accepted = ev.JobAccepted(
        objective=new.job.objective,
        team=TeamRef(name=new.team.team.name, version=new.team.version),
        limits=new.limits,
        inputs=listed,
        plan=new.plan,
        request_id=new.origin.request_id,
        traceparent=new.origin.traceparent,
    )
    event = ev.RunQueued(seq=1, at=datetime.now(UTC), run_id=new.run_id, data=accepted)
    brief = Brief(new.run_id, new.job.objective, new.team.team, new.limits, listed)
    return fold(brief, [event]), event


def _row(new: NewRun, run: Snapshot, event: ev.RunQueued) -> Row:
    """The run's row as `find_run` will read it."""
    job = {
        "objective": new.job.objective,
        "team_name": event.data.team.name,
        "team_version": event.data.team.version,
        "metadata": new.job.metadata,
        "limits": new.limits,
        "created_at": event.at,
    }
    return plain(run_row(run, event.at) | job)


def _values_of(tenant: str, new: NewRun, event: ev.RunQueued, row: Row, key: IdempotencyKey | None) -> Row:
    """What `_ACCEPT` stores.

    A tenant's runs stand one behind the other, side by side with those of other tenants. Each priority has a line of
    its own. A turn is never before that of the run which waits longest, so a new tenant overtakes nobody who was there
    first by more than one run (start-time fair queueing, Goyal, Vin and Cheng 1996).
    """
    inputs = new.job.inputs
    return {
        "id": new.run_id,
        "tenant": tenant,
        "priority": new.job.priority,
        **{name: row[name] for name in ("objective", "team_name", "team_version")},
        **{name: as_json(row[name]) for name in ("metadata", "limits", "progress", "usage", "timing")},
        "at": event.at,
        "queued": as_json(event.data),
        "names": [item.name for item in inputs],
        "media_types": [item.media_type for item in inputs],
        "contents": [item.content for item in inputs],
        "key": key and key.key,
        "request": key and key.request,
        "digest": key and key.digest,
    }


async def _replayed(database: Database, tenant: str, key: IdempotencyKey) -> Accepted | None:
    async with database.transaction() as connection:
        found = await connection.execute(_KEY, {"tenant": tenant, "key": key.key, "request": key.request})
        row = found.one_or_none()
    if row is None:
        return None
    if row.digest != key.digest:
        raise JobRefused("idempotency_key_reused", "This Idempotency-Key was used before with a different body.")
    return Accepted(row.run_id)


async def request_cancel(
    database: Database, queue: RunQueue, tenant: str, run_id: str, *, reason: str | None
) -> bool | None:
    """Ask for the end of a run, in its log. False when it has ended already, None when there is no such run.

    The owner sees the request there and stops; a run that nobody executes ends in this very transaction. A run whose
    owner has vanished is announced: whoever takes it reckons what was under way before it ends. A run that nobody
    executes and that cannot be read is failed. Asking twice changes nothing.
    """
    async with database.transaction() as connection:
        row = (await connection.execute(_LOCK_RUN, {"id": run_id, "tenant": tenant})).one_or_none()
        if row is None:
            return None
        if row.status in TERMINAL_RUN:
            return False
        if row.cancellation is not None and row.owner is not None:
            return True
        asked = ev.RunCancelRequested(at=datetime.now(UTC), run_id=run_id, data=ev.CancelRequested(reason=reason))
        log.info("run cancel requested", run_id=run_id)
        if await note_cancel(connection, asked):
            return True  # Its owner knows the log; folding it here would hold up the owner's commits.
        try:
            await _append_cancel(connection, run_id, row, asked)
        except RunUnreadable:
            await end_unreadable(connection, run_id)
            return True
        if row.lapsed:
            await queue.announce(connection, run_id, Place(row.priority, row.turn))
    return True


async def _append_cancel(connection: AsyncConnection, run_id: str, row: Any, asked: ev.RunCancelRequested) -> None:
    log = (await connection.execute(_EVENTS, {"id": run_id})).mappings()
    now = asked.at
    run = read_run(run_id, row, log, Policy(), {})
    run, new = extended(run, [] if run.cancel_requested else [asked])
    if row.owner is None:
        run, ends = extended(run, decide(run, now).events)
        new += ends
    elif run.status == "waiting":  # Its owner has just taken it, and has not said so yet.
        run = changed(run, status="running", waiting=None)
    written = await write(await driver_of(connection), row.owner, [Batch(run, new, row.owner_epoch, row.last_seq, now)])
    assert written, "the row is locked"
    tell(run, new)
