"""The safety net under the queue: every run that ought to move and that nobody will look at gets a look."""

from sqlalchemy import text

from app.store.database import Database
from app.store.queue import QUEUE, Place, RunQueue

LOCK = 7_204_119_621
RUNS_AT_A_TIME = 200

_ONE_AT_A_TIME = text("SELECT pg_try_advisory_xact_lock(:lock)")
_UNATTENDED = text(
    """
    SELECT runs.id, runs.priority, runs.turn FROM runs
    WHERE (runs.status IN ('queued', 'running') OR runs.status = 'waiting' AND runs.wake_at <= now())
      AND (runs.owner IS NULL OR runs.lease_until < now())
      AND (NOT runs.held OR runs.status <> 'queued' OR runs.cancellation IS NOT NULL)
      AND NOT EXISTS (
        SELECT FROM procrastinate_jobs AS entry
        WHERE entry.queueing_lock = 'run:' || runs.id AND entry.status = 'todo')
    ORDER BY runs.priority DESC, runs.turn LIMIT :limit
    """
)
_DEAD_ENTRIES = text(
    """
    DELETE FROM procrastinate_jobs AS entry
    WHERE entry.queue_name = :queue AND entry.status <> 'todo' AND NOT EXISTS (
        SELECT FROM procrastinate_workers AS worker
        WHERE worker.id = entry.worker_id AND worker.last_heartbeat > now() - interval '1 minute')
    """
)


async def announce_unattended(database: Database, queue: RunQueue) -> int:
    """Announce every run that should move, that nobody owns and no queue entry waits for; how many there were.

    One process does it at a time; the others find nothing to do.
    """
    async with database.transaction() as connection:
        if not (await connection.execute(_ONE_AT_A_TIME, {"lock": LOCK})).scalar_one():
            return 0
        await connection.execute(_DEAD_ENTRIES, {"queue": QUEUE})
        found = await connection.execute(_UNATTENDED, {"limit": RUNS_AT_A_TIME})
        unattended = found.all()
        for row in unattended:
            await queue.announce(connection, row.id, Place(row.priority, row.turn))
    return len(unattended)
