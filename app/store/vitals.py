"""How the service is at this moment, in figures of all replicas together: a look that costs little."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import get_args

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from app.domain.policy.breakers import BreakerKind, BreakerState
from app.domain.states import WaitReason
from app.store.database import Database

_LOOK = text(
    """
    -- Two partial indexes and a small table: of runs that have ended nothing is read.
    SELECT 'run' AS about, status AS name, '' AS more, count(*) AS many FROM runs
    WHERE status IN ('queued', 'running') GROUP BY status
    UNION ALL SELECT 'waiting', waiting_for, '', count(*) FROM runs WHERE status = 'waiting' GROUP BY waiting_for
    UNION ALL SELECT 'silent', '', '', count(*) FROM runs WHERE status IN ('queued', 'running') AND lease_until < now()
    UNION ALL SELECT 'breaker', kind, state, count(*) FROM breakers WHERE state <> 'closed' GROUP BY kind, state
    UNION ALL
    SELECT 'oldest', '', '', CAST(greatest(extract(epoch FROM now() - min(created_at)), 0) AS float8)
    FROM runs WHERE status = 'queued' AND NOT held
    UNION ALL SELECT 'held', '', '', count(*) FROM runs WHERE held AND status = 'queued'
    """
)


@dataclass(frozen=True, slots=True)
class Vitals:
    """Figures of all replicas together."""

    runs: Mapping[str, int]
    """Runs that have not ended, by status."""
    waiting: Mapping[str, int]
    """Those that wait, by what they wait for."""
    silent: int
    """Runs whose process has let the lease lapse, and that nobody has taken yet."""
    held: int
    """Queued runs that a limit of their tenant or key keeps waiting."""
    oldest_s: float
    """How long the first of those in line has been there; 0 when none is. Those that a limit keeps waiting are not."""
    breakers: Mapping[tuple[str, str], int]
    """Breakers that are not closed, by kind and state."""


async def vitals_of(database: Database) -> Vitals:
    """Look at the tables once; who asks at the same time shares the look."""
    return await database.read_together("vitals", _look)


async def _look(connection: AsyncConnection) -> Vitals:
    found = {(row.about, row.name, row.more): row.many for row in await connection.execute(_LOOK)}
    reasons = get_args(WaitReason)
    by_reason = {reason: int(found.get(("waiting", reason, ""), 0)) for reason in reasons}
    waiting = sum(int(many) for (about, _, _), many in found.items() if about == "waiting")
    return Vitals(
        runs={
            "queued": int(found.get(("run", "queued", ""), 0)),
            "running": int(found.get(("run", "running", ""), 0)),
            "waiting": waiting,
        },
        waiting=by_reason | {"other": waiting - sum(by_reason.values())},
        silent=int(found[("silent", "", "")]),
        held=int(found[("held", "", "")]),
        oldest_s=float(found[("oldest", "", "")] or 0),
        breakers={
            (kind, state): int(found.get(("breaker", kind, state), 0))
            for kind in get_args(BreakerKind)
            for state in get_args(BreakerState)
            if state != "closed"
        },
    )
