"""The keys of the API as rows. Whether one may be used goes by the database's clock."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import structlog
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from app.domain.keys import Scope, SentKey, StoredKey, in_order
from app.domain.quotas import NOTHING_SAID, Quota
from app.store.database import Database
from app.store.limits import LIMITS_OF_KEY, put_limits, quotas_from

log = structlog.get_logger(__name__)

_USABLE = "revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now())"
_COLUMNS = f"""
    id, tenant, name, scopes, digest, created_at, expires_at, revoked_at, {_USABLE} AS usable, {LIMITS_OF_KEY}
"""
_FIND = text(f"SELECT {_COLUMNS} FROM api_keys WHERE id = :id")
_LIST = text(
    f"""
    SELECT {_COLUMNS} FROM api_keys
    WHERE (CAST(:tenant AS text) IS NULL OR tenant = :tenant)
      AND (CAST(:after AS text) IS NULL
           OR (created_at, id) < (SELECT created_at, id FROM api_keys WHERE id = :after AND tenant = :tenant))
    ORDER BY tenant, created_at DESC, id DESC LIMIT :limit
    """
)
_ADD = text(
    """
    INSERT INTO api_keys (id, tenant, name, scopes, digest, expires_at)
    VALUES (:id, :tenant, :name, :scopes, :digest, now() + CAST(:expires_in AS interval))
    """
)
_REVOKE = text(
    f"""
    UPDATE api_keys SET revoked_at = coalesce(revoked_at, now())
    WHERE id = :id AND (CAST(:tenant AS text) IS NULL OR tenant = :tenant)
    RETURNING {_COLUMNS}
    """
)
_UNUSABLE = text(f"SELECT id FROM api_keys WHERE id = ANY(:ids) AND NOT ({_USABLE})")


@dataclass(frozen=True, slots=True)
class NewKey:
    """A key that is to be made."""

    tenant: str
    scopes: frozenset[Scope]
    name: str = ""
    expires_in: timedelta | None = None
    quota: Quota = NOTHING_SAID
    """What it may use, beside what its tenant may."""


async def create_key(database: Database, new: NewKey) -> tuple[SentKey, StoredKey]:
    """Make a key. Its secret is told here alone, and is kept nowhere."""
    sent = SentKey.new()
    values = {
        "id": sent.id,
        "tenant": new.tenant,
        "name": new.name,
        "scopes": in_order(new.scopes),
        "digest": sent.digest,
        "expires_in": new.expires_in,
    }
    async with database.transaction() as connection:
        await connection.execute(_ADD, values)
        if new.quota.said:
            await put_limits(connection, new.tenant, sent.id, new.quota)
        stored = _stored((await connection.execute(_FIND, {"id": sent.id})).one())
    log.info("key created", key=stored.id, tenant=stored.tenant, scopes=in_order(stored.scopes))
    return sent, stored


async def revoke_key(database: Database, key: str, *, tenant: str | None = None) -> StoredKey | None:
    """Take a key back, of that tenant where one is named; None when there is no such key."""
    async with database.statement() as connection:
        row = (await connection.execute(_REVOKE, {"id": key, "tenant": tenant})).one_or_none()
    if row is None:
        return None
    log.info("key revoked", key=row.id, tenant=row.tenant)
    return _stored(row)


async def keys_of(
    database: Database, tenant: str | None = None, *, after: str | None = None, limit: int | None = None
) -> Sequence[StoredKey]:
    """The keys of a tenant, or of all, newest first; of one tenant those behind the key `after`, up to `limit`."""
    wanted = {"tenant": tenant, "after": after, "limit": limit}
    async with database.reading() as connection:
        return [_stored(row) for row in await connection.execute(_LIST, wanted)]


async def find_key(database: Database, key: str) -> StoredKey | None:
    """The key of that id, also one that may not be used; None without one."""

    async def read(connection: AsyncConnection) -> StoredKey | None:
        row = (await connection.execute(_FIND, {"id": key})).one_or_none()
        return _stored(row) if row else None

    return await database.read_together(("key", key), read)


async def unusable(database: Database, keys: Collection[str]) -> set[str]:
    """Those of the keys that may be used no longer."""
    async with database.statement() as connection:
        return {row.id for row in await connection.execute(_UNUSABLE, {"ids": list(keys)})}


def _stored(row: Any) -> StoredKey:
    return StoredKey(
        id=row.id,
        tenant=row.tenant,
        name=row.name,
        scopes=frozenset(row.scopes),
        digest=bytes(row.digest),
        created_at=row.created_at,
        expires_at=row.expires_at,
        revoked_at=row.revoked_at,
        quotas=quotas_from(row.limits, row.id),
        usable=row.usable,
    )
