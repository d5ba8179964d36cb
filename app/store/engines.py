"""The processes that execute runs, as they say themselves: one row each, written every few seconds.

A row that is silent says that its process is gone or cut off; the others delete it after a while. Whether a process is
to claim nothing more is asked for in its row, and told by a wake-up; it sees it there when it writes the next time.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import structlog
from sqlalchemy import text

from app.store.database import Database

log = structlog.get_logger(__name__)

ENGINES_CHANNEL = "chargehand_engines"
KEPT_S = 600.0
"""How long the row of a silent process is kept."""
RUNS_NAMED = 100
"""Runs of a process that are named at most."""

_RENEW = text(
    """
    WITH old AS (
        SELECT name FROM engines WHERE silent_from < now() - make_interval(secs => :kept_s)
        FOR UPDATE SKIP LOCKED
    ), forgotten AS (
        DELETE FROM engines USING old WHERE engines.name = old.name AND engines.name <> :name
    )
    INSERT INTO engines (name, version, runs_at_once, started_at, renewed_at, silent_from, leaving, drained_at)
    VALUES (:name, :version, :runs_at_once, now() - make_interval(secs => :up_s), now(),
            now() + make_interval(secs => :silent_after_s), :leaving, CASE WHEN :rests THEN now() END)
    ON CONFLICT (name) DO UPDATE
    SET renewed_at = now(), silent_from = excluded.silent_from, leaving = excluded.leaving
    RETURNING drained_at IS NOT NULL
    """
)
_LEAVE = text("DELETE FROM engines WHERE name = :name")
_DRAIN = """
    WITH changed AS (UPDATE engines SET drained_at = {value} WHERE name = :name RETURNING name)
    SELECT pg_notify(:channel, name) FROM changed
"""
_SET = {
    True: text(_DRAIN.format(value="coalesce(drained_at, now())")),
    False: text(_DRAIN.format(value="NULL")),
}
_LIST = text(
    """
    WITH held AS (
        SELECT owner, count(*) AS of_all, count(*) FILTER (WHERE tenant = :tenant) AS ours,
               array_agg(id ORDER BY id) FILTER (WHERE tenant = :tenant) AS ids
        FROM runs WHERE (status IN ('queued', 'running') OR status = 'waiting') AND owner IS NOT NULL GROUP BY owner
    )
    SELECT engines.name, version, runs_at_once, started_at, renewed_at, silent_from < now() AS is_silent,
           leaving OR drained_at IS NOT NULL AS drains, drained_at,
           coalesce(of_all, 0) AS of_all, coalesce(ours, 0) AS ours, coalesce(ids, '{}') AS ids
    FROM engines LEFT JOIN held ON held.owner = engines.name
    WHERE CAST(:name AS text) IS NULL OR engines.name = :name
    ORDER BY started_at, engines.name
    """
)


@dataclass(frozen=True, slots=True)
class Presence:
    """What a process says of itself."""

    name: str
    version: str
    runs_at_once: int
    silent_after_s: float
    """After so long without a word it is missed."""


@dataclass(frozen=True, slots=True)
class KnownEngine:
    """A process as the others know it, and the runs that it has."""

    name: str
    version: str
    runs_at_once: int
    started_at: datetime
    renewed_at: datetime
    is_silent: bool
    drains: bool
    """Whether it claims nothing, since it was asked not to, or was told to stop."""
    drained_at: datetime | None
    of_all: int
    """Runs of all tenants together."""
    ours: int
    """Those of the tenant that asks."""
    ids: Sequence[str]
    """Of these, the first."""


async def renew_presence(database: Database, of: Presence, *, up_s: float, leaving: bool, rests: bool) -> bool:
    """Say that a process is there, since `up_s` seconds, and whether it rests; whether it is to rest."""
    values = {
        "name": of.name,
        "version": of.version,
        "runs_at_once": of.runs_at_once,
        "silent_after_s": of.silent_after_s,
        "up_s": up_s,
        "leaving": leaving,
        "rests": rests,
        "kept_s": KEPT_S,
    }
    async with database.statement() as connection:
        return bool((await connection.execute(_RENEW, values)).scalar_one())


async def end_presence(database: Database, name: str) -> None:
    """A process is there no longer."""
    async with database.statement() as connection:
        await connection.execute(_LEAVE, {"name": name})


async def set_drained(database: Database, name: str, *, drained: bool) -> bool:
    """Ask a process to claim nothing more, or to claim again; whether there is such a process."""
    async with database.statement() as connection:
        asked = (await connection.execute(_SET[drained], {"name": name, "channel": ENGINES_CHANNEL})).one_or_none()
    if asked is not None:
        log.info("engine drain asked" if drained else "engine drain ended", engine=name)
    return asked is not None


async def known_engines(database: Database, tenant: str, name: str | None = None) -> Sequence[KnownEngine]:
    """All processes, or the one of that name, and which runs of the tenant they have; the oldest first."""
    async with database.reading() as connection:
        rows = await connection.execute(_LIST, {"tenant": tenant, "name": name})
        return [KnownEngine(**{**row, "ids": row["ids"][:RUNS_NAMED]}) for row in rows.mappings()]
