"""Warnings that most of what may be spent is spent: one for each period and limit, whoever notices it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from pydantic_core import to_json

from app.domain.moments import written
from app.domain.quotas import WARNED_FROM, WHOLE_TENANT, CostPeriod, Period, Quota, period_at, quotas_of
from app.domain.webhooks import LIMIT_WARNING
from app.store.admission import LOCK
from app.store.connections import ImpatientConnection
from app.store.database import Database
from app.store.deliveries import DELIVERIES_CHANNEL
from app.store.limits import all_said_of
from app.store.spending import book_ends, spent_by_keys

TENANTS_AT_A_TIME = 100

_DUE = """
    UPDATE spend_accounts SET looked_at = statement_timestamp()
    WHERE tenant IN (
        SELECT tenant FROM spend_accounts AS due
        WHERE looked_at < statement_timestamp() - make_interval(secs => %(pause)s)
          AND EXISTS (SELECT FROM spend_reserved WHERE spend_reserved.tenant = due.tenant)
        ORDER BY looked_at LIMIT %(limit)s FOR UPDATE SKIP LOCKED)
    RETURNING tenant
"""
_CLOCK = "SELECT statement_timestamp() AS now"
_WARN = """
    WITH warning AS (
        INSERT INTO limit_warnings (tenant, key_id, name, since)
        VALUES (%(tenant)s, %(key)s, %(name)s, %(since)s)
        ON CONFLICT DO NOTHING RETURNING tenant, at
    ), delivery AS (
        INSERT INTO webhook_deliveries (id, tenant, endpoint_id, type, at, said)
        SELECT 'msg_' || replace(CAST(gen_random_uuid() AS text), '-', ''), endpoint.tenant, endpoint.id,
               %(type)s, warning.at, CAST(%(said)s AS json)
        FROM warning JOIN webhook_endpoints AS endpoint ON endpoint.tenant = warning.tenant
        WHERE endpoint.run_id IS NULL AND endpoint.disabled_at IS NULL AND %(type)s = ANY(endpoint.types)
        RETURNING id
    )
    SELECT (SELECT pg_notify(%(channel)s, '') FROM delivery) FROM warning
"""


@dataclass(frozen=True, slots=True)
class Warned:
    """A limit of which most is spent."""

    tenant: str
    key: str | None
    """None for the limit of the tenant."""
    name: CostPeriod
    period: Period
    limit: Decimal
    spent: Decimal

    @property
    def said(self) -> Mapping[str, Any]:
        """What a receiver is told of it."""
        return {
            "tenant": self.tenant,
            "key": self.key,
            "limit": self.name,
            "limit_usd": format(self.limit, "f"),
            "spent_usd": format(self.spent, "f"),
            "period": {"since": written(self.period.since), "until": written(self.period.until)},
        }


async def look_after_accounts(database: Database, *, pause_s: float) -> Sequence[Warned]:
    """Book what has ended, and warn those of whose limits most is spent, once; whom it was.

    An account that somebody has looked after within the pause is left alone.
    """
    async with database.driver() as connection:
        due = await connection.rows(_DUE, {"pause": pause_s, "limit": TENANTS_AT_A_TIME})
    return [warned for row in due for warned in await _look_after(database, row.tenant)]


async def _look_after(database: Database, tenant: str) -> Sequence[Warned]:
    async with database.driver() as connection, connection.transaction():
        await connection.execute(LOCK, {"tenant": tenant})
        await book_ends(connection, tenant)
        now = (await connection.rows(_CLOCK, {}))[0].now
        spent = await spent_by_keys(connection, tenant, now)
        said = await all_said_of(connection, tenant)
        found = []
        for key, quota, of_day, of_month in _sums(said, spent):
            for name, limit in quota.costs.items():
                amount = of_day if name == "cost_usd_per_day" else of_month
                if amount >= limit * WARNED_FROM:
                    found.append(Warned(tenant, key or None, name, period_at(name, now), limit, amount))
        return [warned for warned in found if await _is_new(connection, warned)]


def _sums(said: Sequence[Any], spent: Sequence[Any]) -> Iterator[tuple[str, Quota, Decimal, Decimal]]:
    """The tenant and each key that has limits, with what was spent."""
    whole = sum((row.of_day for row in spent), Decimal(0)), sum((row.of_month for row in spent), Decimal(0))
    yield WHOLE_TENANT, quotas_of(said, None).tenant, *whole
    for row in spent:
        if row.key_id != WHOLE_TENANT:
            yield row.key_id, quotas_of(said, row.key_id).key, row.of_day, row.of_month


async def _is_new(connection: ImpatientConnection, warned: Warned) -> bool:
    """Write a warning down, and enqueue what the tenant's webhook is told of it, unless that was done before."""
    values = {
        "tenant": warned.tenant,
        "key": warned.key or WHOLE_TENANT,
        "name": warned.name,
        "since": warned.period.since,
        "type": LIMIT_WARNING,
        "said": to_json(warned.said).decode(),
        "channel": DELIVERIES_CHANNEL,
    }
    return bool(await connection.rows(_WARN, values))
