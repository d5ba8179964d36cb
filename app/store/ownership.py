"""Who may execute a run: claims, leases and their renewal. The run row is the authority, whatever the queue says.

Whoever is the first to claim a run begins it in the same statement: `run.started` costs no commit of its own.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import structlog
from sqlalchemy import text

from app.domain import events as ev
from app.domain.errors import RunUnreadable
from app.domain.events import Entry
from app.domain.fold import extend
from app.domain.moments import written
from app.domain.retries import Patience
from app.domain.snapshot import Snapshot
from app.domain.states import TERMINAL_RUN
from app.store.chronicle import tell, whose
from app.store.database import Database
from app.store.journal_sql import EVENTS_CHANNEL
from app.store.queue import Place, RunQueue
from app.store.run_log import LOG_OF_RUN, Known, end_unreadable, read_run

log = structlog.get_logger(__name__)

IDLE_CLAIMS_ALLOWED = 5
"""Claims without a single event between them after which a run is held to be what kills its processes."""
SUSPECT_AFTER = 2
"""Such claims after which a run is suspected of it: a process takes one of those at a time, so that the others, which
may only have died with it, clear themselves."""
RENEWED_BELOW = 0.8
"""Share of a lease that must be left; with less it is renewed."""

_CLAIM = f"""
    WITH free AS (
        SELECT runs.id, runs.lease_until AS lapsed_at, runs.status = 'queued' AND told.is_new AS begins
        FROM runs, LATERAL (
            SELECT max(seq) AS newest,
                   count(*) > 0 AND bool_and(type IN ('run.queued', 'results.reused', 'run.cancel_requested')) AS is_new
            FROM events WHERE events.run_id = runs.id
        ) AS told
        WHERE runs.id = %(id)s AND NOT runs.status = ANY(%(ended)s) AND (runs.owner IS NULL OR runs.lease_until < now())
          AND (runs.status <> 'waiting' OR runs.wake_at <= now())
          AND (NOT runs.held OR runs.status <> 'queued' OR runs.cancellation IS NOT NULL)
          AND (runs.idle_claims < %(suspect_after)s OR %(suspects)s)
          -- What is selected beside a row may be older than the row. Whoever begins a run adds to the log that it sees.
          AND (NOT told.is_new OR runs.last_seq <= told.newest)
        FOR UPDATE OF runs SKIP LOCKED
    ), claimed AS (
        UPDATE runs SET
            owner = %(owner)s, owner_epoch = owner_epoch + 1, lease_until = now() + make_interval(secs => %(lease)s),
            idle_claims = idle_claims + 1,
            -- A claim is authority. What the row says of the run changes with the log alone, which it begins here.
            status = CASE WHEN free.begins THEN 'running' ELSE status END,
            phase = CASE WHEN free.begins THEN 'planning' ELSE phase END,
            started_at = CASE WHEN free.begins THEN %(at)s ELSE started_at END,
            timing = CASE WHEN free.begins THEN json_build_object( -- as `timing_of` has it at the start
                'queued_ms', greatest(round(CAST(extract(epoch FROM %(at)s - runs.created_at) AS float8) * 1000), 0),
                'wall_ms', 0, 'critical_path_ms', 0, 'sequential_ms', 0, 'speedup', 1.0) ELSE timing END,
            last_seq = greatest(last_seq, (SELECT max(seq) FROM events WHERE run_id = runs.id)) + free.begins::int
        FROM free, teams
        WHERE runs.id = free.id
          AND teams.tenant = runs.tenant AND teams.name = runs.team_name AND teams.version = runs.team_version
        RETURNING runs.id, runs.tenant, runs.owner_epoch, runs.idle_claims, runs.last_seq,
                  teams.definition, free.lapsed_at, free.begins, {LOG_OF_RUN}
    ), started AS (
        INSERT INTO events (run_id, seq, type, at, data)
        SELECT id, last_seq, 'run.started', %(at)s,
               json_build_object('engine', CAST(%(owner)s AS text), 'epoch', owner_epoch)
        FROM claimed WHERE begins
    )
    SELECT *, CASE WHEN begins THEN pg_notify(%(channel)s, id || ':' || last_seq) END FROM claimed
"""
_RENEW = """
    WITH held AS (
        SELECT * FROM unnest(CAST(%(ids)s AS text[]), CAST(%(epochs)s AS bigint[])) AS held(id, epoch)
    ), due AS MATERIALIZED (
        SELECT runs.id FROM runs JOIN held ON runs.id = held.id
        WHERE runs.owner = %(owner)s AND runs.owner_epoch = held.epoch
          AND runs.lease_until < now() + make_interval(secs => %(enough)s)
        ORDER BY runs.id FOR UPDATE OF runs
    ), renewed AS (
        UPDATE runs SET lease_until = now() + make_interval(secs => %(lease)s)
        FROM due WHERE runs.id = due.id AND runs.owner = %(owner)s
        RETURNING runs.id
    )
    SELECT runs.id, runs.last_seq, renewed.id IS NOT NULL AS renewed,
           CAST(extract(epoch FROM runs.lease_until - now()) AS float8) AS left_s
    FROM held JOIN runs ON runs.id = held.id LEFT JOIN renewed ON renewed.id = runs.id
    WHERE runs.owner = %(owner)s AND runs.owner_epoch = held.epoch
"""
_PLACE = text("SELECT priority, turn FROM runs WHERE id = :id AND finished_at IS NULL")
_RELEASE = text(
    """
    UPDATE runs SET owner = NULL, lease_until = NULL, idle_claims = greatest(idle_claims - CAST(:clears AS int), 0)
    WHERE id = :id AND owner = :owner AND owner_epoch = :epoch
    RETURNING priority, turn
    """
)


@dataclass(frozen=True, slots=True)
class ClaimedRun:
    """A run that this process may execute from here on."""

    snapshot: Snapshot
    epoch: int
    begins: bool
    """Whether this is the run's first claim: its log says already that it has started."""
    lapsed_at: datetime | None
    """Until when the process before us may have been at work, if it vanished; None when it let the run go."""
    suspect: bool
    """Whether the run may be what killed the processes before us."""
    poisoned: bool
    """Whether too many processes have had the run and left without a trace."""


@dataclass(frozen=True, slots=True)
class Lease:
    """What a look at a run of ours has found."""

    newest: int
    """Number of the run's newest event."""
    left_s: float
    """How long nobody else may take the run."""


@dataclass(frozen=True, slots=True)
class Claimant:
    """The process that takes a run, and how it will execute it."""

    owner: str
    lease_s: float
    patience: Patience
    models: Mapping[str, str]
    """Model ids by tier."""


async def claim_if_free(
    database: Database, run_id: str, claimant: Claimant, *, suspects: bool = True
) -> ClaimedRun | None:
    """Take the run, unless it has ended or its owner's lease still holds. None when it may not be taken.

    Without `suspects` a run that is suspected of killing its processes is left alone. Raises `RunUnreadable`: such a
    run is left to processes of another release, and failed when it has been taken in vain too often.
    """
    now = datetime.now(UTC)
    row = await _claimed(database, run_id, claimant, now, suspects=suspects)
    if row is None:
        return None
    poisoned = row.idle_claims > IDLE_CLAIMS_ALLOWED
    if row.lapsed_at is not None:
        database.witness.heard_takeover()
    try:
        snapshot = read_run(Known(run_id, row.tenant, row.definition), row.log, claimant.patience, claimant.models)
    except RunUnreadable:
        if poisoned:
            async with database.statement() as connection:
                ended = await end_unreadable(connection, run_id, owner=claimant.owner, epoch=row.owner_epoch)
            if ended:
                database.witness.heard_unreadable()
        raise
    if row.lapsed_at is not None:
        log.warning("run taken over", **whose(snapshot.brief), epoch=row.owner_epoch, lapsed_at=written(row.lapsed_at))
    if row.begins:
        started = Entry(ev.RunStarted(engine=claimant.owner, epoch=row.owner_epoch))
        snapshot, events = extend(snapshot, [started], now)
        tell(database.witness, snapshot, events)
    return ClaimedRun(snapshot, row.owner_epoch, row.begins, row.lapsed_at, row.idle_claims > SUSPECT_AFTER, poisoned)


async def _claimed(database: Database, run_id: str, claimant: Claimant, now: datetime, *, suspects: bool) -> Any:
    values = {
        "id": run_id,
        "owner": claimant.owner,
        "lease": claimant.lease_s,
        "ended": list(TERMINAL_RUN),
        "suspects": suspects,
        "suspect_after": SUSPECT_AFTER,
        "at": now,
        "channel": EVENTS_CHANNEL,
    }
    async with database.driver() as connection:
        return next(iter(await connection.rows(_CLAIM, values)), None)


async def renew(database: Database, held: Mapping[str, int], *, owner: str, lease_s: float) -> Mapping[str, Lease]:
    """Prolong the leases that have spent a part of their time, of the runs in `held` (epoch by id); those still ours.

    A lease that is prolonged at every look would cost a run that waits on its model more rows than all its events.
    """
    values = {"ids": list(held), "epochs": list(held.values()), "owner": owner, "lease": lease_s}
    values["enough"] = lease_s * RENEWED_BELOW
    async with database.driver() as connection:
        rows = await connection.rows(_RENEW, values)
    database.witness.heard_renewals(sum(row.renewed for row in rows))
    return {row.id: Lease(row.last_seq, lease_s if row.renewed else row.left_s) for row in rows}


async def announce_again(database: Database, queue: RunQueue, run_id: str) -> None:
    """Put a run back into the queue that this process heard of and cannot take."""
    async with database.transaction() as connection:
        row = (await connection.execute(_PLACE, {"id": run_id})).one_or_none()
        if row is not None:
            await queue.announce(connection, run_id, Place(row.priority, row.turn))


async def release_if_owned(
    database: Database, queue: RunQueue, run_id: str, *, owner: str, epoch: int, broke: bool = False
) -> None:
    """Hand the run back, and announce it, so that any process may go on with it at once.

    Our claim is no longer held against the run then, unless it `broke` under us.
    """
    values = {"id": run_id, "owner": owner, "epoch": epoch, "clears": 0 if broke else 1}
    async with database.transaction() as connection:
        row = (await connection.execute(_RELEASE, values)).one_or_none()
        if row is not None:
            await queue.announce(connection, run_id, Place(row.priority, row.turn))
