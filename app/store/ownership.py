"""Who may execute a run: claims, leases and their renewal. The run row is the authority, whatever the queue says."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import text

from app.domain.errors import RunUnreadable
from app.domain.retries import Policy
from app.domain.snapshot import Snapshot
from app.domain.states import TERMINAL_RUN
from app.store.database import Database
from app.store.queue import Place, RunQueue
from app.store.run_log import LOG_OF_RUN, end_unreadable, read_run

IDLE_CLAIMS_ALLOWED = 5
"""Claims without a single event between them after which a run is held to be what kills its processes."""
SUSPECT_AFTER = 2
"""Such claims after which a run is suspected of it: a process takes one of those at a time, so that the others, which
may only have died with it, clear themselves."""

_CLAIM = text(
    f"""
    WITH free AS (
        SELECT id, lease_until AS lapsed_at FROM runs
        WHERE id = :id AND NOT status = ANY(:ended) AND (owner IS NULL OR lease_until < now())
          AND (wake_at IS NULL OR wake_at <= now()) AND (idle_claims < :suspect_after OR :suspects)
        FOR UPDATE SKIP LOCKED
    )
    UPDATE runs SET
        owner = :owner, owner_epoch = owner_epoch + 1, lease_until = now() + make_interval(secs => :lease),
        idle_claims = idle_claims + 1,
        status = CASE WHEN status = 'waiting' THEN 'running' ELSE status END, waiting_for = NULL, wake_at = NULL,
        -- What is selected beside the row may be older than the row, if that had to be waited for.
        last_seq = greatest(last_seq, (SELECT max(seq) FROM events WHERE run_id = runs.id))
    FROM free, teams
    WHERE runs.id = free.id
      AND teams.tenant = runs.tenant AND teams.name = runs.team_name AND teams.version = runs.team_version
    RETURNING runs.owner_epoch, runs.idle_claims, teams.definition, free.lapsed_at,
              {LOG_OF_RUN}
    """
)
_RENEW = text(
    """
    WITH ours AS MATERIALIZED (
        SELECT runs.id FROM runs
        JOIN unnest(CAST(:ids AS text[]), CAST(:epochs AS bigint[])) AS held(id, epoch) ON runs.id = held.id
        WHERE runs.owner = :owner AND runs.owner_epoch = held.epoch
        ORDER BY runs.id FOR UPDATE OF runs
    )
    UPDATE runs SET lease_until = now() + make_interval(secs => :lease)
    FROM ours WHERE runs.id = ours.id AND runs.owner = :owner
    RETURNING runs.id, runs.last_seq
    """
)
_PLACE = text("SELECT priority, turn FROM runs WHERE id = :id AND finished_at IS NULL")
_RELEASE = text(
    """
    UPDATE runs SET owner = NULL, lease_until = NULL, idle_claims = greatest(idle_claims - CAST(:clears AS int), 0)
    WHERE id = :id AND owner = :owner AND owner_epoch = :epoch
    RETURNING priority, turn
    """
)


@dataclass(frozen=True, slots=True)
class Claim:
    """A run that this process may execute from here on."""

    snapshot: Snapshot
    epoch: int
    lapsed_at: datetime | None
    """Until when the process before us may have been at work, if it vanished; None when it let the run go."""
    suspect: bool
    """Whether the run may be what killed the processes before us."""
    poisoned: bool
    """Whether too many processes have had the run and left without a trace."""


@dataclass(frozen=True, slots=True)
class Claimant:
    """The process that takes a run, and how it will execute it."""

    owner: str
    lease_s: float
    policy: Policy
    models: Mapping[str, str]
    """Model ids by tier."""


async def claim_if_free(database: Database, run_id: str, claimant: Claimant, *, suspects: bool = True) -> Claim | None:
    """Take the run, unless it has ended or its owner's lease still holds. None when it may not be taken.

    Without `suspects` a run that is suspected of killing its processes is left alone. Raises `RunUnreadable`: such a
    run is left to processes of another release, and failed when it has been taken in vain too often.
    """
    values = {"id": run_id, "owner": claimant.owner, "lease": claimant.lease_s, "ended": list(TERMINAL_RUN)}
    values |= {"suspects": suspects, "suspect_after": SUSPECT_AFTER}
    async with database.statement() as connection:
        row = (await connection.execute(_CLAIM, values)).one_or_none()
        if row is None:
            return None
        poisoned = row.idle_claims > IDLE_CLAIMS_ALLOWED
        try:
            snapshot = read_run(run_id, row.definition, row.log, claimant.policy, claimant.models)
        except RunUnreadable:
            if poisoned:
                await end_unreadable(connection, run_id, owner=claimant.owner, epoch=row.owner_epoch)
            raise
    return Claim(snapshot, row.owner_epoch, row.lapsed_at, row.idle_claims > SUSPECT_AFTER, poisoned)


async def renew(database: Database, held: Mapping[str, int], *, owner: str, lease_s: float) -> Mapping[str, int]:
    """Prolong the leases of the runs in `held` (epoch by id); returns the last event number of those still ours."""
    values = {"ids": list(held), "epochs": list(held.values()), "owner": owner, "lease": lease_s}
    async with database.statement() as connection:
        return {row.id: row.last_seq for row in await connection.execute(_RENEW, values)}


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
