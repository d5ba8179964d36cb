"""Whose jobs are not taken in for now.

It is read in the statement that accepts a job, and so holds on all replicas at once.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import structlog
from sqlalchemy import text

from app.store.admin_tables import SaidBy
from app.store.database import Database

log = structlog.get_logger(__name__)

ALL = ""
"""In the place of a tenant: all of them."""

IS_OPEN = "NOT EXISTS (SELECT FROM intake_pauses WHERE intake_pauses.tenant IN (%(tenant)s, ''))"
"""The condition that a job of a tenant is taken in."""

_PAUSE = text(
    """
    INSERT INTO intake_pauses (tenant, said_by) VALUES (:tenant, :said_by) ON CONFLICT DO NOTHING
    """
)
_RESUME = text("DELETE FROM intake_pauses WHERE tenant = :tenant AND said_by = ANY(:said_by)")
_LIST = text(
    """
    SELECT tenant, said_by, paused_at FROM intake_pauses
    WHERE CAST(:tenant AS text) IS NULL OR tenant IN (:tenant, '') ORDER BY tenant, said_by
    """
)


@dataclass(frozen=True, slots=True)
class Pause:
    """Jobs are not taken in."""

    tenant: str
    """Whose; empty: those of all."""
    said_by: SaidBy
    paused_at: datetime


async def pause_intake(database: Database, tenant: str, said_by: SaidBy) -> None:
    """Take in no jobs of a tenant, or of `ALL`, from here on. Repeating it changes nothing."""
    async with database.statement() as connection:
        done = await connection.execute(_PAUSE, {"tenant": tenant, "said_by": said_by})
    if done.rowcount:
        log.info("intake paused", tenant=tenant or "all", said_by=said_by)


async def resume_intake(database: Database, tenant: str, *said_by: SaidBy) -> bool:
    """Take back what these have said about a tenant, or about `ALL`; whether they had said anything."""
    async with database.statement() as connection:
        done = await connection.execute(_RESUME, {"tenant": tenant, "said_by": list(said_by)})
    if done.rowcount:
        log.info("intake resumed", tenant=tenant or "all", said_by=list(said_by))
    return bool(done.rowcount)


async def pauses_of(database: Database, tenant: str | None = None) -> Sequence[Pause]:
    """What keeps jobs of a tenant out, or all that keeps any out."""
    async with database.reading() as connection:
        return [Pause(**row) for row in (await connection.execute(_LIST, {"tenant": tenant})).mappings()]
