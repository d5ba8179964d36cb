"""Ended runs are kept for a while, and then deleted with all that hangs on them."""

from sqlalchemy import text

from app.store.database import Database

RUNS_AT_A_TIME = 100
"""So few that no statement holds many locks, or the log back, for long."""

_PRUNE = text(
    """
    WITH old AS MATERIALIZED (
        SELECT id FROM runs WHERE finished_at < now() - make_interval(days => :days)
        ORDER BY finished_at LIMIT :limit FOR UPDATE SKIP LOCKED
    )
    DELETE FROM runs USING old WHERE runs.id = old.id
    """
)


async def prune_ended(database: Database, *, days: int) -> int:
    """Delete a batch of the runs that ended more than `days` days ago; how many it was."""
    async with database.statement() as connection:
        done = await connection.execute(_PRUNE, {"days": days, "limit": RUNS_AT_A_TIME})
        return int(done.rowcount)
