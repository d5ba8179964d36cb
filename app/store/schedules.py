"""Schedules as they are kept. What is stored of their jobs is masked, and has its secret sealed."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import structlog
import uuid_utils
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from app.domain.schedules import AT_MOST, time_resumed
from app.store.database import Database
from app.store.firings import note_missed
from app.store.idempotency import IdempotencyKey
from app.store.schedule_rows import COLUMNS, IN_LISTS, Schedule, StoredJob, Terms, schedule_in, values_of

log = structlog.get_logger(__name__)

SCHEDULES_CHANNEL = "chargehand_schedules"

_LOCK = text("SELECT pg_advisory_xact_lock(hashtext('schedules:' || :tenant))")
_NOTIFY = text("SELECT pg_notify(:channel, '')")
_CREATE = text(
    f"""
    INSERT INTO schedules (id, tenant, name, cron, timezone, once, missed, overlap, job, webhook_secret, key_id,
                           next_at, look_at, idempotency_key, digest)
    SELECT :id, :tenant, :name, :cron, :timezone, :once, :missed, :overlap, CAST(:job AS json), :webhook_secret,
           :key_id, :next_at, :next_at, :idempotency_key, :digest
    WHERE (SELECT count(*) FROM schedules WHERE tenant = :tenant) < :at_most
    RETURNING {COLUMNS}
    """
)
_CHANGE = text(
    f"""
    UPDATE schedules
    SET name = :name, cron = :cron, timezone = :timezone, once = :once, missed = :missed, overlap = :overlap,
        job = CAST(:job AS json), webhook_secret = :webhook_secret, key_id = :key_id, version = version + 1,
        refusals = 0,
        next_at = CASE WHEN :retimed THEN CAST(:next_at AS timestamptz) ELSE next_at END,
        look_at = CASE WHEN NOT :retimed THEN look_at WHEN paused_at IS NULL THEN CAST(:next_at AS timestamptz) END,
        updated_at = now()
    WHERE id = :id AND tenant = :tenant AND version = :version
    RETURNING {COLUMNS}
    """
)
_FORGET_INPUTS = text("DELETE FROM schedule_inputs WHERE schedule_id = :id")
_ADD_INPUT = text("INSERT INTO schedule_inputs (schedule_id, position, content) VALUES (:id, :position, :content)")
_JOB = text("SELECT job, webhook_secret FROM schedules WHERE id = :id")
_INPUTS = text("SELECT content FROM schedule_inputs WHERE schedule_id = :id ORDER BY position")
_FIND = text(f"SELECT {COLUMNS} FROM schedules WHERE id = :id AND tenant = :tenant")
_FIND_BY_KEY = text(f"SELECT {COLUMNS}, digest FROM schedules WHERE tenant = :tenant AND idempotency_key = :key")
_PAGE = text(
    f"""
    SELECT {IN_LISTS} FROM schedules
    WHERE tenant = :tenant AND (CAST(:after AS text) IS NULL OR id < :after) ORDER BY id DESC LIMIT :limit
    """
)
_PAUSE = text(
    f"""
    UPDATE schedules
    SET paused_at = coalesce(paused_at, now()), pause_reason = coalesce(pause_reason, 'client'), look_at = NULL
    WHERE id = :id AND tenant = :tenant RETURNING {COLUMNS}
    """
)
_FIND_LOCKED = text(f"{_FIND} FOR UPDATE")
_RESUME = text(
    f"""
    UPDATE schedules
    SET paused_at = NULL, pause_reason = NULL, refusals = 0, key_id = :key_id, next_at = :next_at, look_at = :look_at
    WHERE id = :id RETURNING {COLUMNS}
    """
)
_DELETE = text("DELETE FROM schedules WHERE id = :id AND tenant = :tenant RETURNING id")


async def moment(database: Database) -> datetime:
    """What the database's clock says."""
    async with database.reading() as connection:
        now: datetime = (await connection.execute(text("SELECT now()"))).scalar_one()
    return now


async def create_schedule(
    database: Database,
    tenant: str,
    terms: Terms,
    next_at: datetime,
    *,
    made_with: str | None,
    key: IdempotencyKey | None,
) -> tuple[Schedule, bool] | None:
    """Store a schedule, and say whether it is new, or was made under the key before. None when the tenant has as many
    as it may have.

    Raises `JobRefused` (`idempotency_key_reused`) when the key was used with another body.
    """
    schedule_id = f"sch_{uuid_utils.uuid7().hex}"
    values = values_of(terms) | {
        "id": schedule_id,
        "tenant": tenant,
        "key_id": made_with,
        "next_at": next_at,
        "idempotency_key": key and key.key,
        "digest": key and key.digest,
        "at_most": AT_MOST,
    }
    async with database.transaction() as connection:
        await connection.execute(_LOCK, {"tenant": tenant})
        if key is not None and (before := await _made_before(connection, tenant, key)) is not None:
            return before, False
        row = (await connection.execute(_CREATE, values)).one_or_none()
        if row is None:
            return None
        await _put_inputs(connection, schedule_id, terms)
        await _tell(connection)
    log.info("schedule created", schedule=schedule_id, tenant=tenant)
    return schedule_in(row), True


async def schedule_made_before(database: Database, tenant: str, key: IdempotencyKey) -> Schedule | None:
    """The schedule that an earlier request under the key has made. Raises `JobRefused` when that had another body."""
    async with database.reading() as connection:
        return await _made_before(connection, tenant, key)


async def _made_before(connection: AsyncConnection, tenant: str, key: IdempotencyKey) -> Schedule | None:
    row = (await connection.execute(_FIND_BY_KEY, {"tenant": tenant, "key": key.key})).one_or_none()
    if row is None:
        return None
    key.check(row.digest)
    return schedule_in(row)


async def change_schedule(
    database: Database, tenant: str, read: Schedule, terms: Terms, next_at: datetime | None, *, key: str | None
) -> Schedule | None:
    """Put other terms in the place of those that were read; None when somebody else has changed them since.

    With `next_at` that is its next time, else it stays as it is. `key` is the id of the key that its runs count for.
    """
    values = values_of(terms) | {
        "id": read.id,
        "tenant": tenant,
        "version": read.version,
        "key_id": key,
        "next_at": next_at,
        "retimed": next_at is not None,
    }
    async with database.transaction() as connection:
        row = (await connection.execute(_CHANGE, values)).one_or_none()
        if row is None:
            return None
        await _put_inputs(connection, read.id, terms)
        await _tell(connection)
    log.info("schedule changed", schedule=read.id, tenant=tenant)
    return schedule_in(row)


async def _put_inputs(connection: AsyncConnection, schedule_id: str, terms: Terms) -> None:
    assert terms.job is not None
    if terms.job.contents is None:
        return
    await connection.execute(_FORGET_INPUTS, {"id": schedule_id})
    for position, content in enumerate(terms.job.contents):
        await connection.execute(_ADD_INPUT, {"id": schedule_id, "position": position, "content": content})


async def _tell(connection: AsyncConnection) -> None:
    """Have every process look again, once the transaction commits."""
    await connection.execute(_NOTIFY, {"channel": SCHEDULES_CHANNEL})


async def find_schedule(database: Database, tenant: str, schedule_id: str) -> Schedule | None:
    """A schedule; None when the tenant has no such one."""
    async with database.reading() as connection:
        row = (await connection.execute(_FIND, {"id": schedule_id, "tenant": tenant})).one_or_none()
    return schedule_in(row) if row else None


async def page_of_schedules(database: Database, tenant: str, after: str | None, *, limit: int) -> Sequence[Schedule]:
    """Up to `limit` schedules behind the one called `after`, newest first, without their jobs."""
    async with database.reading() as connection:
        found = await connection.execute(_PAGE, {"tenant": tenant, "after": after, "limit": limit})
        return [schedule_in(row) for row in found]


async def job_of_schedule(database: Database, schedule_id: str) -> StoredJob | None:
    """The whole job of a schedule, with what its inputs hold; None when it is gone."""
    async with database.one_view() as connection:
        row = (await connection.execute(_JOB, {"id": schedule_id})).one_or_none()
        if row is None:
            return None
        contents = (await connection.execute(_INPUTS, {"id": schedule_id})).scalars().all()
    return StoredJob(row.job, contents, row.webhook_secret)


async def pause_schedule(database: Database, tenant: str, schedule_id: str) -> Schedule | None:
    """Let no time of it become a run; None when the tenant has no such one."""
    async with database.transaction() as connection:
        row = (await connection.execute(_PAUSE, {"id": schedule_id, "tenant": tenant})).one_or_none()
        if row is None:
            return None
        await _tell(connection)
    log.info("schedule paused", schedule=schedule_id, tenant=tenant)
    return schedule_in(row)


async def resume_schedule(database: Database, tenant: str, schedule_id: str, *, key: str | None) -> Schedule | None:
    """Let its times become runs again, which count for a key; None when the tenant has no such one."""
    async with database.transaction() as connection:
        found = await connection.execute(_FIND_LOCKED, {"id": schedule_id, "tenant": tenant})
        row = found.one_or_none()
        if row is None or row.paused_at is None:
            return schedule_in(row) if row else None
        row = await _resume(connection, schedule_in(row), key)
        await _tell(connection)
    log.info("schedule resumed", schedule=schedule_id, tenant=tenant)
    return schedule_in(row)


async def _resume(connection: AsyncConnection, paused: Schedule, key: str | None) -> Any:
    """The row of a schedule that goes on. What was missed while it was paused is run at once, or left out for good."""
    due, now = paused.next_at, paused.now
    next_at = due and time_resumed(paused.terms.timing, due, now, paused.terms.policy)
    if due is not None and due != next_at:
        await note_missed(connection, paused.id, due)
    look_at = next_at and max(next_at, now)
    values = {"id": paused.id, "key_id": key, "next_at": next_at, "look_at": look_at}
    return (await connection.execute(_RESUME, values)).one()


async def delete_schedule(database: Database, tenant: str, schedule_id: str) -> bool:
    """Forget a schedule; False when the tenant has no such one. Its runs stay."""
    async with database.statement() as connection:
        found = await connection.execute(_DELETE, {"id": schedule_id, "tenant": tenant})
        if found.one_or_none() is None:
            return False
    log.info("schedule deleted", schedule=schedule_id, tenant=tenant)
    return True
