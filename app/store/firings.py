"""Times of schedules that have come: taken by whichever process comes first, and settled by the one that has them.

One whose process dies in between is taken again. The run that a schedule has at a time has one id alone, so that who
takes it again makes no second one.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from app.domain.schedules import Outcome
from app.domain.states import TERMINAL_RUN, RunStatus
from app.store.database import Database
from app.store.schedule_rows import Terms, terms_in
from app.store.tables import listed

KEPT = 100
"""Firings that are kept of a schedule: the newest."""

_TAKE = text(
    f"""
    WITH due AS MATERIALIZED (
        SELECT id FROM schedules WHERE look_at <= now() ORDER BY look_at LIMIT :room FOR UPDATE SKIP LOCKED
    ), taken AS (
        UPDATE schedules SET look_at = now() + make_interval(secs => CAST(:lease_s AS float8))
        FROM due WHERE schedules.id = due.id RETURNING schedules.*
    )
    SELECT taken.id, taken.tenant, taken.name, taken.cron, taken.timezone, taken.once, taken.missed, taken.overlap,
           taken.key_id, taken.next_at, taken.refusals, now() AS now,
           runs.status NOT IN ({listed(TERMINAL_RUN)}) AS busy
    FROM taken LEFT JOIN runs ON runs.id = taken.last_run_id
    """
)
_NEXT_LOOK = text("SELECT extract(epoch FROM min(look_at) - now())::float8 FROM schedules WHERE look_at IS NOT NULL")
_SETTLE = text(
    """
    WITH schedule AS (
        UPDATE schedules
        SET next_at = :next_at, look_at = CASE WHEN paused_at IS NULL AND NOT :pauses
                                               THEN CAST(:look_at AS timestamptz) END,
            paused_at = CASE WHEN :pauses THEN coalesce(paused_at, now()) ELSE paused_at END,
            pause_reason = CASE WHEN :pauses THEN coalesce(pause_reason, 'refused') ELSE pause_reason END,
            refusals = :refusals, last_run_id = coalesce(:run_id, last_run_id)
        WHERE id = :id AND next_at = :due  -- Unless a client has changed its times meanwhile.
    ), old AS (
        DELETE FROM schedule_firings
        WHERE schedule_id = :id AND due_at <= (SELECT due_at FROM schedule_firings WHERE schedule_id = :id
                                               ORDER BY due_at DESC OFFSET :kept - 1 LIMIT 1)
    )
    INSERT INTO schedule_firings (schedule_id, due_at, by_hand, outcome, run_id, code, detail)
    SELECT id, :due, false, :outcome, :run_id, :code, :detail FROM schedules WHERE id = :id
    ON CONFLICT (schedule_id, due_at) DO UPDATE  -- It has been tried before.
    SET at = now(), outcome = excluded.outcome, run_id = excluded.run_id, code = excluded.code, detail = excluded.detail
    WHERE schedule_firings.run_id IS NULL
    """
)
_NOTE = text(
    """
    WITH schedule AS (UPDATE schedules SET last_run_id = :run_id WHERE id = :id RETURNING id)
    INSERT INTO schedule_firings (schedule_id, due_at, by_hand, outcome, run_id)
    SELECT id, :at, true, 'fired', :run_id FROM schedule ON CONFLICT (schedule_id, due_at) DO NOTHING
    """
)
_MISS = text(
    """
    INSERT INTO schedule_firings (schedule_id, due_at, by_hand, outcome) VALUES (:id, :due, false, 'missed')
    ON CONFLICT (schedule_id, due_at) DO NOTHING
    """
)
_FIRINGS = text(
    """
    SELECT firing.due_at, firing.at, firing.by_hand, firing.outcome, firing.run_id, firing.code, firing.detail,
           runs.status
    FROM schedule_firings AS firing LEFT JOIN runs ON runs.id = firing.run_id
    WHERE firing.schedule_id = :id ORDER BY firing.due_at DESC LIMIT :limit
    """
)
_IS_THERE = text("SELECT EXISTS (SELECT FROM runs WHERE id = :id)")


@dataclass(frozen=True, slots=True)
class DueSchedule:
    """A schedule one of whose times has come, for this process to see to."""

    id: str
    tenant: str
    terms: Terms
    key: str | None
    """Id of the key that its runs count for."""
    due: datetime
    now: datetime
    """By the database's clock."""
    busy: bool
    """Whether the run before has not ended."""
    refusals: int
    """In a row, so far."""


@dataclass(frozen=True, slots=True)
class Result:
    """What has become of a time."""

    outcome: Outcome
    run_id: str | None = None
    code: str | None = None
    """Why the job was refused."""
    detail: str | None = None


@dataclass(frozen=True, slots=True)
class Sequel:
    """How a schedule goes on after a time."""

    next_at: datetime | None
    """The time that comes next, or the same one when it is tried again."""
    look_at: datetime | None
    """When to see to that."""
    refusals: int
    """In a row."""
    pauses: bool


@dataclass(frozen=True, slots=True)
class Firing:
    """What has become of a time, as clients see it."""

    due: datetime
    at: datetime
    by_hand: bool
    result: Result
    run_status: RunStatus | None
    """None where there is no run, or none any more."""


async def take_due(database: Database, *, room: int, lease_s: float) -> Sequence[DueSchedule]:
    """Take schedules whose time has come, so that nobody else sees to them for as long as the lease says."""
    async with database.statement() as connection:
        return [_due(row) for row in await connection.execute(_TAKE, {"room": room, "lease_s": lease_s})]


async def seconds_to_next(database: Database) -> float | None:
    """Seconds until there is something to take, by the database's clock; None while there is nothing to wait for."""
    async with database.reading() as connection:
        seconds: float | None = (await connection.execute(_NEXT_LOOK)).scalar_one()
    return seconds


async def settle_time(database: Database, due: DueSchedule, result: Result, sequel: Sequel) -> None:
    """Write down what has become of a time, and how its schedule goes on."""
    values = {
        "id": due.id,
        "due": due.due,
        "next_at": sequel.next_at,
        "look_at": sequel.look_at,
        "outcome": result.outcome,
        "run_id": result.run_id,
        "code": result.code,
        "detail": result.detail,
        "refusals": sequel.refusals,
        "pauses": sequel.pauses,
        "kept": KEPT,
    }
    async with database.statement() as connection:
        await connection.execute(_SETTLE, values)


async def note_run_by_hand(database: Database, schedule_id: str, run_id: str, at: datetime) -> None:
    """Write down that a client had a schedule run."""
    async with database.statement() as connection:
        await connection.execute(_NOTE, {"id": schedule_id, "run_id": run_id, "at": at})


async def note_missed(connection: AsyncConnection, schedule_id: str, due: datetime) -> None:
    """Write down that a time came while its schedule was paused, and that nothing becomes of it."""
    await connection.execute(_MISS, {"id": schedule_id, "due": due})


async def firings_of(database: Database, schedule_id: str, *, limit: int) -> Sequence[Firing]:
    """What has become of the newest times of a schedule."""
    async with database.reading() as connection:
        return [_firing(row) for row in await connection.execute(_FIRINGS, {"id": schedule_id, "limit": limit})]


async def is_there(database: Database, run_id: str) -> bool:
    """Whether there is a run of this id."""
    async with database.reading() as connection:
        return bool((await connection.execute(_IS_THERE, {"id": run_id})).scalar_one())


def _due(row: Any) -> DueSchedule:
    return DueSchedule(
        row.id, row.tenant, terms_in(row), row.key_id, row.next_at, row.now, bool(row.busy), row.refusals
    )


def _firing(row: Any) -> Firing:
    result = Result(row.outcome, row.run_id, row.code, row.detail)
    return Firing(row.due_at, row.at, row.by_hand, result, row.status)
