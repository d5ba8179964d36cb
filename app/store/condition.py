"""The condition of a database server, for an operator who asks what is wrong."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from sqlalchemy import text

from app.store.database import Database

_LOOK = text(
    """
    SELECT clock_timestamp() AS now, pg_database_size(current_database()) AS bytes,
           current_setting('server_version') AS version,
           CAST(current_setting('max_connections') AS int)
             - CAST(current_setting('superuser_reserved_connections') AS int) AS connections,
           (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend') AS in_use
    """
)
_SEALED = text(
    """
    SELECT secret FROM webhook_endpoints WHERE run_id IS NULL AND disabled_at IS NULL
    UNION ALL SELECT webhook_secret FROM schedules WHERE webhook_secret IS NOT NULL
    UNION ALL (
        SELECT secret FROM webhook_endpoints WHERE run_id IS NOT NULL AND secret IS NOT NULL AND disabled_at IS NULL
        ORDER BY created_at DESC LIMIT 20
    )
    """
)


@dataclass(frozen=True, slots=True)
class Condition:
    """What was found at one look."""

    version: str
    bytes: int
    """What the database takes, with indexes."""
    connections: int
    """Sessions that the server may have."""
    in_use: int
    """Sessions that it has, this one among them."""
    clock_ahead_s: float
    """Seconds by which its clock is ahead of ours, to about the time of a round trip."""


async def condition_of(database: Database) -> Condition:
    """Look once."""
    async with database.statement() as connection:
        await connection.execute(text("SELECT 1"))  # The first one opens the connection.
        asked_at = datetime.now(UTC)
        row = (await connection.execute(_LOOK)).one()
        middle = asked_at + (datetime.now(UTC) - asked_at) / 2
    return Condition(row.version, row.bytes, row.connections, row.in_use, (row.now - middle).total_seconds())


async def sealed_secrets(database: Database) -> Sequence[bytes]:
    """The secrets of webhooks, as they are stored: of tenants and schedules, and of the newest jobs that have one."""
    async with database.statement() as connection:
        return [row.secret for row in await connection.execute(_SEALED)]
