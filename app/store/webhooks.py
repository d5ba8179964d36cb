"""The webhook of a tenant. Its secrets come and go sealed."""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import structlog
from sqlalchemy import text

from app.domain.webhooks import BOTH_SIGN, RUN_NEWS, TenantNews
from app.store.database import Database

log = structlog.get_logger(__name__)

_COLUMNS = """
    id, tenant, url, types, created_at, disabled_at,
    CASE WHEN earlier_until > now() THEN earlier_until END AS earlier_until
"""
_FIND = text(f"SELECT {_COLUMNS} FROM webhook_endpoints WHERE tenant = :tenant AND run_id IS NULL")
_PUT = text(
    f"""
    INSERT INTO webhook_endpoints (id, tenant, url, types, secret) VALUES (:id, :tenant, :url, :types, :secret)
    ON CONFLICT (tenant) WHERE run_id IS NULL DO UPDATE SET
        url = excluded.url, types = excluded.types, disabled_at = NULL, quiet_until = NULL
    RETURNING {_COLUMNS}, secret = :secret AS is_new
    """
)
_ROTATE = text(
    f"""
    UPDATE webhook_endpoints
    SET earlier_secret = secret, earlier_until = now() + CAST(:both_sign AS interval), secret = :secret
    WHERE tenant = :tenant AND run_id IS NULL
    RETURNING {_COLUMNS}
    """
)
_DELETE = text(f"DELETE FROM webhook_endpoints WHERE tenant = :tenant AND run_id IS NULL RETURNING {_COLUMNS}")


@dataclass(frozen=True, slots=True)
class Webhook:
    """The webhook of a tenant, without its secrets."""

    id: str
    url: str
    types: Sequence[TenantNews]
    created_at: datetime
    disabled_at: datetime | None
    """When its receiver said that it wants nothing more."""
    earlier_until: datetime | None
    """Until when the secret that was exchanged signs too."""


@dataclass(frozen=True, slots=True)
class OwnWebhook:
    """Who is told of one run, beside the tenant's webhook."""

    url: str
    secret: bytes | None
    """Sealed; None for that of the tenant."""


def columns_of(own: OwnWebhook | None) -> dict[str, Any]:
    """What is stored of a run's own webhook with the run; without one there is no `url`."""
    told = {"url": own and own.url, "secret": own and own.secret}
    return {"endpoint": _new_id(), "news": list(RUN_NEWS), **told}


def _new_id() -> str:
    return f"whe_{secrets.token_hex(16)}"


async def find_webhook(database: Database, tenant: str) -> Webhook | None:
    """The webhook of a tenant; None without one."""
    async with database.reading() as connection:
        row = (await connection.execute(_FIND, {"tenant": tenant})).one_or_none()
    return _webhook(row) if row else None


async def put_webhook(
    database: Database, tenant: str, url: str, types: Sequence[TenantNews], *, sealed: bytes
) -> tuple[Webhook, bool]:
    """Have a tenant told at `url`, and whether that is new: then `sealed` is its secret, otherwise it keeps its own.

    One that was disabled is told again.
    """
    values = {"id": _new_id(), "tenant": tenant, "url": url, "types": list(types), "secret": sealed}
    async with database.statement() as connection:
        row = (await connection.execute(_PUT, values)).one()
    log.info("webhook put", endpoint=row.id, tenant=tenant)
    return _webhook(row), row.is_new


async def rotate_secret(database: Database, tenant: str, *, sealed: bytes) -> Webhook | None:
    """Exchange the secret of a tenant's webhook: the one before it signs too for a while. None without a webhook."""
    values = {"tenant": tenant, "secret": sealed, "both_sign": BOTH_SIGN}
    async with database.statement() as connection:
        row = (await connection.execute(_ROTATE, values)).one_or_none()
    if row is None:
        return None
    log.info("webhook secret exchanged", endpoint=row.id, tenant=tenant)
    return _webhook(row)


async def delete_webhook(database: Database, tenant: str) -> Webhook | None:
    """Tell a tenant nothing more; what waits to be delivered fails when it is due. None without a webhook."""
    async with database.statement() as connection:
        row = (await connection.execute(_DELETE, {"tenant": tenant})).one_or_none()
    if row is None:
        return None
    log.info("webhook deleted", endpoint=row.id, tenant=tenant)
    return _webhook(row)


def _webhook(row: Any) -> Webhook:
    return Webhook(row.id, row.url, row.types, row.created_at, row.disabled_at, row.earlier_until)
