"""How busy the workers of each process are: one row a process, written and read at the pace of a poll.

A row says nothing that could not be found out anew, so the table is unlogged: it costs no WAL, and is empty after a
crash of the server. What a process that has died had under way counts until its row has run out, by the database's
clock.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import text

from app.domain.policy.load import Load, Pace
from app.store.database import Database
from app.store.projection import as_json

KEPT_S = 600.0
"""After so long a row has nothing to say any more, and is deleted."""

_OTHERS = """
    SELECT loads, counts_until > clock_timestamp() AS counts,
           CAST(extract(epoch FROM clock_timestamp() - shared_at) AS float) AS age_s
    FROM worker_loads
    WHERE tenant = :tenant AND process <> :process
      AND shared_at > clock_timestamp() - make_interval(secs => :kept_s)
"""
_READ = text(_OTHERS)
_SHARE = text(
    f"""
    WITH ours AS (
        INSERT INTO worker_loads (tenant, process, loads, shared_at, counts_until)
        VALUES (:tenant, :process, CAST(:loads AS json), clock_timestamp(),
                clock_timestamp() + make_interval(secs => :counts_for_s))
        ON CONFLICT (tenant, process) DO UPDATE
        SET loads = excluded.loads, shared_at = excluded.shared_at, counts_until = excluded.counts_until
    ), old AS (
        SELECT tenant, process FROM worker_loads
        WHERE process <> :process AND shared_at < clock_timestamp() - make_interval(secs => :kept_s)
        FOR UPDATE SKIP LOCKED
    ), deleted AS (
        DELETE FROM worker_loads USING old
        WHERE worker_loads.tenant = old.tenant AND worker_loads.process = old.process
    )
    {_OTHERS}
    """
)


@dataclass(frozen=True, slots=True)
class Place:
    """Whose row it is, and how long what it has under way counts unless it is written again."""

    tenant: str
    process: str
    counts_for_s: float


async def share_loads(database: Database, place: Place, loads: Mapping[str, Load]) -> dict[str, Load]:
    """Write what the workers of this process do, by name; what those of the others do."""
    said = {name: [load.attempts, load.pace.seconds, load.pace.weight] for name, load in loads.items()}
    values = {"loads": as_json(said), "counts_for_s": place.counts_for_s}
    async with database.statement() as connection:
        return _added_up(await connection.execute(_SHARE, _which(place) | values))


async def loads_elsewhere(database: Database, place: Place) -> dict[str, Load]:
    """What the workers of the other processes do, by name."""
    async with database.statement() as connection:
        return _added_up(await connection.execute(_READ, _which(place)))


def _which(place: Place) -> dict[str, Any]:
    return {"tenant": place.tenant, "process": place.process, "kept_s": KEPT_S}


def _added_up(rows: Iterable[Any]) -> dict[str, Load]:
    found: dict[str, Load] = {}
    for row in rows:
        for name, (attempts, seconds, weight, *_) in row.loads.items():
            load = Load(attempts if row.counts else 0, Pace(seconds, weight).faded(row.age_s))
            found[name] = found.get(name, Load()).plus(load)
    return found
