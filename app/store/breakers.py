"""Circuit breakers as rows that all replicas share. What a change means is `app.domain.policy.breakers`' affair.

A change locks the row, is reckoned with the database's clock, and is told to every process. So of many that would
probe at the same moment one gets the row first, and the others find the probe taken.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from datetime import datetime, timedelta
from typing import Any, NamedTuple

import structlog
from sqlalchemy import text

from app.domain.policy.breakers import Breaker
from app.store.database import Database
from app.store.witness import Witness

log = structlog.get_logger(__name__)

BREAKERS_CHANNEL = "chargehand_breakers"

_COLUMNS = "name, state, reason, failures, openings, failed_at, opened_at, probe_at, prober, about"
LISTED = 1_000
_ALL = text(
    f"""
    SELECT {_COLUMNS} FROM (
        SELECT * FROM breakers WHERE tenant = :tenant ORDER BY state = 'closed', name LIMIT {LISTED}
    ) AS listed ORDER BY name
    """
)
_TO_BE_WATCHED = text(
    f"""
    SELECT tenant, {_COLUMNS}, clock_timestamp() AS now FROM breakers WHERE state <> 'closed' OR failures > 0
    """
)
_LOCK = text(
    f"""
    INSERT INTO breakers (tenant, name, kind) VALUES (:tenant, :name, :kind)
    -- What is returned after a conflict is read once the lock is had, and so is the clock.
    ON CONFLICT (tenant, name) DO UPDATE SET name = excluded.name
    RETURNING {_COLUMNS}, clock_timestamp() AS now
    """
)
_LOCK_KNOWN = text(
    f"""
    UPDATE breakers SET name = name WHERE tenant = :tenant AND name = :name
    RETURNING {_COLUMNS}, clock_timestamp() AS now
    """
)
_WRITE = text(
    """
    UPDATE breakers SET state = :state, reason = :reason, failures = :failures, openings = :openings,
        failed_at = :failed_at, opened_at = :opened_at, probe_at = :probe_at, prober = :prober, about = :about
    WHERE tenant = :tenant AND name = :name
    """
)
_TELL = text("SELECT pg_notify(:channel, :name)")
_WAKE = text(
    """
    -- Not all in the same moment: how much later each one is looked at goes by its id.
    UPDATE runs SET wake_at = now() + (hashtext(id) & 1023) * interval '1 millisecond'
    WHERE tenant = :tenant AND status = 'waiting' AND owner IS NULL AND (wake_at IS NULL OR wake_at > now())
      -- Whoever waits for a person, and for the provider as well, says so in the log alone.
      AND (waiting_for = 'provider' OR EXISTS (
        SELECT FROM events
        WHERE run_id = runs.id AND type = 'breaker.opened' AND data->>'name' = :name
          AND NOT EXISTS (
            SELECT FROM events AS later
            WHERE later.run_id = runs.id AND later.seq > events.seq
              AND later.type = 'breaker.closed' AND later.data->>'name' = :name)))
    """
)


class Which(NamedTuple):
    """A breaker among those of all tenants."""

    tenant: str
    name: str


Change = Callable[[Breaker, datetime], Breaker]
"""What becomes of a breaker, and at what time by the database's clock."""


async def all_breakers(database: Database, tenant: str) -> Sequence[Breaker]:
    """Every breaker that has ever counted a failure or was opened by hand, by name; of very many the open ones."""
    async with database.reading() as connection:
        return [_breaker(row) for row in await connection.execute(_ALL, {"tenant": tenant})]


async def breakers_to_be_watched(database: Database) -> dict[Which, Breaker]:
    """Those that are not closed, or have counted failures, by tenant and name; their times are by our own clock."""
    async with database.statement() as connection:
        rows = (await connection.execute(_TO_BE_WATCHED)).all()
    here = datetime.now().astimezone()
    return {Which(row.tenant, row.name): _by_clock(_breaker(row), here - row.now) for row in rows}


async def change_breaker(
    database: Database, tenant: str, name: str, change: Change, *, known: bool = False
) -> Breaker | None:
    """Change a breaker; what it is then, with times by the clock of this process.

    One that is to be `known` must have a row: None without. When that of a model closes, runs that wait for a provider
    are looked at again.
    """
    which = {"tenant": tenant, "name": name}
    async with database.transaction() as connection:
        lock = _LOCK_KNOWN if known else _LOCK
        row = (
            await connection.execute(lock, which if known else which | {"kind": name.partition(":")[0]})
        ).one_or_none()
        if row is None:
            return None
        before = _breaker(row)
        after = change(before, row.now)
        if after != before:
            values = asdict(after) | {"about": list(after.about)}
            await connection.execute(_WRITE, values | which)
            if after.state == "closed" != before.state and after.kind == "model":
                await connection.execute(_WAKE, which)
            await connection.execute(_TELL, {"channel": BREAKERS_CHANNEL, "name": name})
    _tell(database.witness, tenant, before, after)
    return _by_clock(after, datetime.now().astimezone() - row.now)


def _breaker(row: Any) -> Breaker:
    values = {field: getattr(row, field) for field in _COLUMNS.split(", ")}
    return Breaker(**values | {"about": tuple(row.about)})


def _by_clock(breaker: Breaker, ahead: timedelta) -> Breaker:
    """The breaker with its times by a clock that is `ahead` of the one they go by."""
    times = {name: getattr(breaker, name) for name in ("failed_at", "opened_at", "probe_at")}
    return replace(breaker, **{name: at and at + ahead for name, at in times.items()})


def _tell(witness: Witness, tenant: str, before: Breaker, after: Breaker) -> None:
    if before.state == after.state:
        return
    witness.heard_breaker(after.kind, after.state)
    facts = {"breaker": after.name, "state": after.state, "reason": after.reason, "failures": after.failures}
    log.log(30 if after.state == "open" else 20, "breaker changed", tenant=tenant, **facts)
