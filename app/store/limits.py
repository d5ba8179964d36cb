"""What tenants and keys may use, as the operator has said it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import structlog
from pydantic_core import to_json
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from app.domain.quotas import DEFAULTS, WHOLE_TENANT, Quota, Quotas, quotas_of
from app.store.connections import ImpatientConnection
from app.store.database import Database

log = structlog.get_logger(__name__)

LIMITS_OF_KEY = """
    (SELECT json_agg(json_build_array(tenant, key_id, limits)) FROM limits
     WHERE tenant = api_keys.tenant AND key_id IN ('', api_keys.id) OR tenant = '') AS limits
"""
"""What a key may use, as a column of a query for its row; `quotas_from` reads it."""
_OF_CALLER = text(
    """
    SELECT tenant, key_id, limits FROM limits
    WHERE tenant = :tenant AND key_id IN ('', CAST(:key AS text)) OR tenant = ''
    """
)
_OF_ALL_KEYS = "SELECT tenant, key_id, limits FROM limits WHERE tenant IN (%(tenant)s, '')"
_ALL = text(
    """
    SELECT tenant, key_id, limits FROM limits
    WHERE CAST(limits AS text) <> '{}' AND (CAST(:tenant AS text) IS NULL OR tenant = :tenant)
    ORDER BY tenant, key_id
    """
)
_LOCK = text("SELECT pg_advisory_xact_lock(hashtext('limits'), hashtext(:tenant))")
_ONE = text("SELECT limits FROM limits WHERE tenant = :tenant AND key_id = :key")
_PUT = text(
    """
    -- What is taken back stays as an empty row: when it was is what money is counted anew by.
    INSERT INTO limits (tenant, key_id, limits) VALUES (:tenant, :key, CAST(:limits AS json))
    ON CONFLICT (tenant, key_id) DO UPDATE SET limits = excluded.limits, changed_at = now()
    """
)
_HAS_KEY = text("SELECT FROM api_keys WHERE id = :key AND tenant = :tenant")


@dataclass(frozen=True, slots=True)
class StoredLimits:
    """What was said of one tenant, one key, or all tenants."""

    tenant: str
    """`DEFAULTS` for what holds for all."""
    key: str
    """`WHOLE_TENANT` for those of the tenant itself."""
    quota: Quota


def quotas_from(stored: Sequence[Sequence[Any]] | None, key: str | None) -> Quotas:
    """What a caller may use, of what `LIMITS_OF_KEY` has found."""
    return quotas_of([(tenant, of_key, said) for tenant, of_key, said in stored or ()], key)


async def find_quotas(database: Database, tenant: str, key: str | None = None) -> Quotas:
    """What a tenant may use, or one of its keys."""

    async def read(connection: AsyncConnection) -> Quotas:
        rows = (await connection.execute(_OF_CALLER, {"tenant": tenant, "key": key})).all()
        return quotas_from([tuple(row) for row in rows], key)

    return await database.read_together(("limits", tenant, key), read)


async def all_said_of(connection: ImpatientConnection, tenant: str) -> Sequence[tuple[str, str, Any]]:
    """What was said of a tenant, of all its keys and of all tenants, as `quotas_of` takes it."""
    rows = await connection.rows(_OF_ALL_KEYS, {"tenant": tenant})
    return [(row.tenant, row.key_id, row.limits) for row in rows]


async def list_limits(database: Database, tenant: str | None = None) -> Sequence[StoredLimits]:
    """What was said of a tenant and its keys, or of all."""
    async with database.statement() as connection:
        rows = await connection.execute(_ALL, {"tenant": tenant})
        return [StoredLimits(row.tenant, row.key_id, Quota.model_validate(row.limits)) for row in rows]


async def change_limits(
    database: Database, tenant: str, changes: Quota, *, key: str = WHOLE_TENANT, anew: bool = False
) -> Quota | None:
    """Set those limits that `changes` says something about, and with `anew` no other; None when there is no such key.

    Within a few seconds they hold in every process.
    """
    async with database.transaction() as connection:
        await connection.execute(_LOCK, {"tenant": tenant})
        if key != WHOLE_TENANT and (await connection.execute(_HAS_KEY, {"key": key, "tenant": tenant})).first() is None:
            return None
        before = (await connection.execute(_ONE, {"tenant": tenant, "key": key})).scalar_one_or_none()
        quota = changes if anew else changes.over(Quota.model_validate(before or {}))
        await put_limits(connection, tenant, key, quota)
    log.info("limits changed", tenant=tenant if tenant != DEFAULTS else None, key=key or None, limits=dict(quota.said))
    return quota


async def put_limits(connection: AsyncConnection, tenant: str, key: str, quota: Quota) -> None:
    """Write down the limits of a tenant or a key, as part of what goes on on a connection."""
    said = to_json(quota.said).decode()
    await connection.execute(_PUT, {"tenant": tenant, "key": key, "limits": said})
