"""Ended runs are kept for a while, later in short, and then deleted with all that hangs on them."""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from app.domain.thinning import THINNED, thinned
from app.store.database import Database

RUNS_AT_A_TIME = 100
"""So few that no statement holds many locks, or the log back, for long."""
_EVENTS_AT_A_TIME = 200

_TENANTS = """
    -- Each tenant that has ever had a run has teams; they are looked up one after the other, past all versions.
    RECURSIVE named AS (
        (SELECT tenant FROM teams ORDER BY tenant LIMIT 1)
        UNION ALL
        SELECT (SELECT teams.tenant FROM teams WHERE teams.tenant > named.tenant ORDER BY teams.tenant LIMIT 1)
        FROM named WHERE named.tenant IS NOT NULL
    ), kept AS (
        SELECT named.tenant,
               CASE WHEN own.tenant IS NULL THEN CAST(:thin AS int) ELSE own.thin_after_days END AS thin,
               CASE WHEN own.tenant IS NULL THEN CAST(:delete AS int) ELSE own.delete_after_days END AS delete
        FROM named LEFT JOIN retention AS own USING (tenant) WHERE named.tenant IS NOT NULL
    )
"""
_PRUNE = text(
    f"""
    WITH {_TENANTS}, old AS MATERIALIZED (
        SELECT run.id FROM kept CROSS JOIN LATERAL (
            SELECT id FROM runs
            WHERE runs.tenant = kept.tenant AND finished_at < now() - make_interval(days => kept.delete)
              AND stop_reason IS NOT NULL  -- As the index has it.
            ORDER BY finished_at LIMIT :limit FOR UPDATE SKIP LOCKED
        ) AS run LIMIT :limit
    )
    DELETE FROM runs USING old WHERE runs.id = old.id
    """
)
_NEXT_WHOLE = text(
    f"""
    WITH {_TENANTS}
    SELECT run.id FROM kept CROSS JOIN LATERAL (
        SELECT id FROM runs
        WHERE runs.tenant = kept.tenant AND thinned_at IS NULL
          AND finished_at < now() - make_interval(days => kept.thin)
        ORDER BY finished_at LIMIT 1 FOR UPDATE SKIP LOCKED
    ) AS run LIMIT 1
    """
)
_PAGE = text(
    """
    SELECT seq, type, data FROM events WHERE run_id = :id AND seq > :after AND type = ANY(:types)
    ORDER BY seq LIMIT :limit
    """
)
_CUT = text(
    """
    UPDATE events SET data = CAST(short.data AS json)
    FROM unnest(CAST(:seqs AS bigint[]), CAST(:data AS text[])) AS short(seq, data)
    WHERE run_id = :id AND events.seq = short.seq
    """
)
_IS_THIN = text("UPDATE runs SET thinned_at = now() WHERE id = :id")
_SHOW = text("SELECT tenant, thin_after_days, delete_after_days FROM retention ORDER BY tenant")
_SET = text(
    """
    INSERT INTO retention (tenant, thin_after_days, delete_after_days) VALUES (:tenant, :thin, :delete)
    ON CONFLICT (tenant) DO UPDATE SET thin_after_days = :thin, delete_after_days = :delete
    """
)
_CLEAR = text("DELETE FROM retention WHERE tenant = :tenant")


@dataclass(frozen=True, slots=True)
class Retention:
    """For how many days after their end runs are kept; None: for ever."""

    thin_after_days: int | None = None
    """Days for which their logs are kept whole."""
    delete_after_days: int | None = None

    @property
    def _values(self) -> dict[str, Any]:
        return {"thin": self.thin_after_days, "delete": self.delete_after_days}


async def retention_of_tenants(database: Database) -> dict[str, Retention]:
    """The tenants that keep runs for a time of their own, and for which."""
    async with database.statement() as connection:
        return {
            row.tenant: Retention(row.thin_after_days, row.delete_after_days) for row in await connection.execute(_SHOW)
        }


async def set_retention(database: Database, tenant: str, own: Retention | None) -> None:
    """Have a tenant keep runs for a time of its own; None: for that of all others again."""
    async with database.statement() as connection:
        await connection.execute(_CLEAR if own is None else _SET, {"tenant": tenant, **(own._values if own else {})})


async def prune_ended(database: Database, usual: Retention) -> int:
    """Delete a batch of the runs that have been kept for long enough; how many it was.

    `usual` is for tenants that have no time of their own.
    """
    async with database.statement() as connection:
        done = await connection.execute(_PRUNE, {**usual._values, "limit": RUNS_AT_A_TIME})
        return int(done.rowcount)


async def thin_one(database: Database, usual: Retention) -> bool:
    """Cut the log of one run that has been kept whole for long enough; whether there was one.

    All or nothing: a process that dies over it leaves the log as it was.
    """
    async with database.transaction() as connection:
        run_id = (await connection.execute(_NEXT_WHOLE, usual._values)).scalar_one_or_none()
        if run_id is None:
            return False
        after = 0
        while page := await _page(connection, run_id, after):
            after = page[-1].seq
            short = await asyncio.to_thread(_in_short, page)
            if short:
                values = {"id": run_id, "seqs": list(short), "data": list(short.values())}
                await connection.execute(_CUT, values)
        await connection.execute(_IS_THIN, {"id": run_id})
        return True


async def _page(connection: AsyncConnection, run_id: str, after: int) -> Sequence[Any]:
    wanted = {"id": run_id, "after": after, "types": list(THINNED), "limit": _EVENTS_AT_A_TIME}
    return (await connection.execute(_PAGE, wanted)).all()


def _in_short(page: Sequence[Any]) -> dict[int, str]:
    """The data of those events that get shorter, by their numbers."""
    cut = {row.seq: thinned(row.type, row.data) for row in page}
    return {row.seq: json.dumps(cut[row.seq]) for row in page if cut[row.seq] != row.data}
