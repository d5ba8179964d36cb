"""Deliveries to webhooks: taken when they are due, by whichever process comes first, and settled by the one that has
taken them. One whose process dies is due again once its time is up, so that each is made at least once.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import text

from app.domain.webhooks import TEST, DeliveryError, DeliveryStatus, News, Outcome, place_in
from app.store.database import Database

DELIVERIES_CHANNEL = "chargehand_webhooks"
LISTED = 1_000
"""Deliveries that are listed at most: the newest."""
LOOKED_AT = 1_000
"""Due ones among which those to be taken are chosen: so many may wait for one receiver before others wait for it."""

_TAKE = text(
    """
    WITH due AS (
        SELECT delivery.id, row_number() OVER (PARTITION BY delivery.endpoint_id ORDER BY delivery.due_at) AS place
        FROM (
            SELECT each.id, each.endpoint_id, each.due_at
            FROM webhook_deliveries AS each LEFT JOIN webhook_endpoints AS endpoint ON endpoint.id = each.endpoint_id
            WHERE each.status = 'pending' AND each.due_at <= now() AND NOT each.endpoint_id = ANY(:busy)
              AND (endpoint.quiet_until IS NULL OR endpoint.quiet_until <= now())
            ORDER BY each.due_at LIMIT :looked_at
        ) AS delivery
    ), taken AS (
        SELECT delivery.id FROM webhook_deliveries AS delivery JOIN due ON due.id = delivery.id
        WHERE due.place <= :for_each AND delivery.status = 'pending' AND delivery.due_at <= now()
        ORDER BY delivery.due_at LIMIT :room FOR UPDATE OF delivery SKIP LOCKED
    ), begun AS (
        UPDATE webhook_deliveries AS delivery
        SET attempts = attempts + 1, attempted_at = now(), error = NULL,
            due_at = now() + make_interval(secs => CAST(:lease_s AS float8))
        FROM taken WHERE delivery.id = taken.id
        RETURNING delivery.*
    )
    SELECT begun.id, begun.tenant, begun.endpoint_id, begun.run_id, begun.type, begun.at, begun.said, begun.attempts,
           begun.created_at, now() AS now, endpoint.url, endpoint.disabled_at,
           CASE WHEN endpoint.secret IS NULL THEN ARRAY[of_tenant.secret, CASE WHEN of_tenant.earlier_until > now()
                                                                              THEN of_tenant.earlier_secret END]
                ELSE ARRAY[endpoint.secret, CASE WHEN endpoint.earlier_until > now()
                                                 THEN endpoint.earlier_secret END] END AS secrets
    FROM begun LEFT JOIN webhook_endpoints AS endpoint ON endpoint.id = begun.endpoint_id
    LEFT JOIN webhook_endpoints AS of_tenant ON of_tenant.tenant = begun.tenant AND of_tenant.run_id IS NULL
    """
)
_SETTLE = text(
    """
    WITH settled AS (
        UPDATE webhook_deliveries
        SET status = CAST(:status AS text), error = :error, response_status = :response_status,
            due_at = now() + make_interval(secs => CAST(:wait_s AS float8)),
            ended_at = CASE WHEN CAST(:status AS text) <> 'pending' THEN now() END
        WHERE id = :id AND attempts = :attempt AND status = 'pending'
        RETURNING endpoint_id
    ), endpoint AS (
        UPDATE webhook_endpoints
        SET disabled_at = CASE WHEN :disables THEN coalesce(disabled_at, now()) ELSE disabled_at END,
            quiet_until = coalesce(now() + make_interval(secs => CAST(:pause_s AS float8)), quiet_until)
        FROM settled
        WHERE webhook_endpoints.id = settled.endpoint_id AND (:disables OR CAST(:pause_s AS float8) IS NOT NULL)
    )
    SELECT endpoint_id FROM settled
    """
)
_COLUMNS = """
    delivery.id, delivery.run_id, delivery.type, delivery.at, delivery.status, delivery.attempts, delivery.due_at,
    delivery.attempted_at, delivery.response_status, delivery.error, delivery.created_at, delivery.ended_at,
    endpoint.url, endpoint.run_id IS NOT NULL AS of_job
"""
_OF_RUN = text(
    f"""
    SELECT {_COLUMNS}
    FROM runs LEFT JOIN webhook_deliveries AS delivery ON delivery.run_id = runs.id
    LEFT JOIN webhook_endpoints AS endpoint ON endpoint.id = delivery.endpoint_id
    WHERE runs.id = :run_id AND runs.tenant = :tenant
    ORDER BY delivery.created_at DESC, delivery.id DESC LIMIT :limit
    """
)
_OF_WEBHOOK = text(
    f"""
    SELECT {_COLUMNS}
    FROM webhook_endpoints AS endpoint JOIN webhook_deliveries AS delivery ON delivery.endpoint_id = endpoint.id
    WHERE endpoint.tenant = :tenant AND endpoint.run_id IS NULL
    ORDER BY delivery.created_at DESC, delivery.id DESC LIMIT :limit
    """
)
_AGAIN = text(
    """
    WITH again AS (
        UPDATE webhook_deliveries AS delivery
        SET status = 'pending', due_at = now(), attempts = 0, ended_at = NULL, error = NULL, response_status = NULL
        FROM webhook_endpoints AS endpoint
        WHERE endpoint.id = delivery.endpoint_id AND endpoint.disabled_at IS NULL AND delivery.run_id = :run_id
          AND delivery.tenant = :tenant AND delivery.status <> 'pending'
        RETURNING delivery.id
    )
    SELECT id, pg_notify(:channel, '') FROM again
    """
)
_TRY = text(
    f"""
    WITH earlier AS (
        DELETE FROM webhook_deliveries
        WHERE tenant = :tenant AND run_id IS NULL AND type = :type AND created_at < now() - interval '1 day'
    ), delivery AS (
        INSERT INTO webhook_deliveries (id, tenant, endpoint_id, type, at, said)
        SELECT 'msg_' || replace(CAST(gen_random_uuid() AS text), '-', ''), tenant, id, :type, now(), '{{}}'
        FROM webhook_endpoints WHERE tenant = :tenant AND run_id IS NULL AND disabled_at IS NULL
        RETURNING *
    )
    SELECT {_COLUMNS}, pg_notify(:channel, '')
    FROM delivery JOIN webhook_endpoints AS endpoint ON endpoint.id = delivery.endpoint_id
    """
)


@dataclass(frozen=True, slots=True)
class Room:
    """How much a process can take on."""

    deliveries: int
    for_each: int
    """Deliveries to one receiver."""
    busy: Collection[str]
    """Endpoints that have as much as they may have."""
    lease_s: float
    """Seconds after which a delivery that is not settled is due again."""


@dataclass(frozen=True, slots=True)
class DueDelivery:
    """A delivery that this process is to try now."""

    id: str
    tenant: str
    endpoint: str
    news: News
    attempt: int
    created_at: datetime
    now: datetime
    """By the database's clock."""
    url: str | None
    """None when the endpoint is gone."""
    disabled: bool
    secrets: Sequence[bytes]
    """What signs it, sealed: the newest first."""


@dataclass(frozen=True, slots=True)
class Delivery:
    """A delivery as clients see it."""

    id: str
    run_id: str | None
    type: str
    at: datetime
    host: str | None
    """Whom it goes to; the rest of a URL may be secret. None when the endpoint is gone."""
    webhook: str | None
    """Whose it is: `job` or `tenant`."""
    status: DeliveryStatus
    attempts: int
    next_attempt_at: datetime | None
    attempted_at: datetime | None
    response_status: int | None
    error: DeliveryError | None
    created_at: datetime
    ended_at: datetime | None


async def take_due(database: Database, room: Room) -> Sequence[DueDelivery]:
    """Take deliveries that are due, so that nobody else tries them for as long as the lease says."""
    values = {
        "room": room.deliveries,
        "for_each": room.for_each,
        "busy": list(room.busy),
        "lease_s": room.lease_s,
        "looked_at": LOOKED_AT,
    }
    async with database.statement() as connection:
        return [_due(row) for row in await connection.execute(_TAKE, values)]


async def settle(database: Database, due: DueDelivery, outcome: Outcome, wait_s: float | None) -> bool:
    """Write down what became of an attempt, and when the next one is; False when the delivery is somebody else's now.

    Without `wait_s` there is none. A receiver that wants nothing more is told nothing more; one that wants to be left
    alone for a while is.
    """
    status = "delivered" if outcome.error is None else "failed" if wait_s is None else "pending"
    values = {
        "id": due.id,
        "attempt": due.attempt,
        "status": status,
        "error": outcome.error,
        "response_status": outcome.status,
        "wait_s": wait_s,
        "disables": outcome.disables,
        "pause_s": outcome.retry_after_s,
    }
    async with database.statement() as connection:
        return (await connection.execute(_SETTLE, values)).one_or_none() is not None


async def deliveries_of_run(database: Database, tenant: str, run_id: str) -> Sequence[Delivery] | None:
    """The deliveries of a run, newest first; None when the tenant has no such run."""
    async with database.reading() as connection:
        values = {"tenant": tenant, "run_id": run_id, "limit": LISTED}
        rows = (await connection.execute(_OF_RUN, values)).all()
    return [_delivery(row) for row in rows if row.id is not None] if rows else None


async def deliveries_of_webhook(database: Database, tenant: str) -> Sequence[Delivery]:
    """The deliveries to the webhook of a tenant, newest first."""
    async with database.reading() as connection:
        return [_delivery(row) for row in await connection.execute(_OF_WEBHOOK, {"tenant": tenant, "limit": LISTED})]


async def deliver_again(database: Database, tenant: str, run_id: str) -> int:
    """Have all that was delivered of a run, or has failed, delivered once more, under the same ids; how many it is."""
    async with database.statement() as connection:
        values = {"tenant": tenant, "run_id": run_id, "channel": DELIVERIES_CHANNEL}
        return len((await connection.execute(_AGAIN, values)).all())


async def try_webhook(database: Database, tenant: str) -> Delivery | None:
    """Have something delivered to the webhook of a tenant that tells of no run; None without one that is told."""
    async with database.statement() as connection:
        values = {"tenant": tenant, "type": TEST, "channel": DELIVERIES_CHANNEL}
        row = (await connection.execute(_TRY, values)).one_or_none()
    return _delivery(row) if row else None


def _due(row: Any) -> DueDelivery:
    return DueDelivery(
        id=row.id,
        tenant=row.tenant,
        endpoint=row.endpoint_id,
        news=News(row.type, row.at, row.run_id, row.said),
        attempt=row.attempts,
        created_at=row.created_at,
        now=row.now,
        url=row.url,
        disabled=row.disabled_at is not None,
        secrets=[bytes(secret) for secret in row.secrets if secret is not None],
    )


def _delivery(row: Any) -> Delivery:
    return Delivery(
        id=row.id,
        run_id=row.run_id,
        type=row.type,
        at=row.at,
        host=place_in(row.url)[0] if row.url else None,
        webhook=None if not row.url else "job" if row.of_job else "tenant",
        status=row.status,
        attempts=row.attempts,
        next_attempt_at=row.due_at,
        attempted_at=row.attempted_at,
        response_status=row.response_status,
        error=row.error,
        created_at=row.created_at,
        ended_at=row.ended_at,
    )
