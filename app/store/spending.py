"""The account of what tenants spend, kept for those alone who have a limit of it.

An account has what runs that have ended have cost, by key and day, and what those that have not may cost, each under
the day of its acceptance. It is begun by adding up the month's runs. From then on whoever accepts a run enters it, and
ends are booked afterwards: until then the run itself says what it has cost. What is booked outlives its run.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from app.domain.quotas import period_at
from app.store.connections import ImpatientConnection

_ADD_UP = """
    WITH month AS MATERIALIZED (
        SELECT id, coalesce(key_id, '') AS key_id, CAST(created_at AT TIME ZONE 'UTC' AS date) AS day, finished_at,
               CAST(usage ->> 'cost_usd' AS numeric) AS spent, CAST(limits ->> 'cost_usd' AS numeric) AS may_spend
        FROM runs
        WHERE tenant = %(tenant)s AND created_at >= date_trunc('month', statement_timestamp(), 'UTC') AND parent IS NULL
    ), ended AS (
        INSERT INTO spend (tenant, key_id, day, cost_usd)
        SELECT %(tenant)s, key_id, day, sum(spent) FROM month WHERE finished_at IS NOT NULL GROUP BY key_id, day
        -- Runs that were deleted since are missing here; they have cost what they have cost.
        ON CONFLICT (tenant, key_id, day) DO UPDATE SET cost_usd = greatest(spend.cost_usd, excluded.cost_usd)
    ), under_way AS (
        INSERT INTO spend_reserved (run_id, tenant, key_id, day, cost_usd)
        SELECT id, %(tenant)s, key_id, day, may_spend FROM month WHERE finished_at IS NULL
        ON CONFLICT (run_id) DO NOTHING
    ), booked AS (
        DELETE FROM spend_reserved USING month
        WHERE spend_reserved.run_id = month.id AND month.finished_at IS NOT NULL
    )
    INSERT INTO spend_accounts (tenant, counted_at, looked_at)
    VALUES (%(tenant)s, statement_timestamp(), statement_timestamp())
    ON CONFLICT (tenant) DO UPDATE SET counted_at = excluded.counted_at
"""
_BOOK = """
    WITH ended AS (
        DELETE FROM spend_reserved AS reserved USING runs
        WHERE reserved.tenant = %(tenant)s AND runs.id = reserved.run_id AND runs.finished_at IS NOT NULL
        RETURNING reserved.key_id, reserved.day, CAST(runs.usage ->> 'cost_usd' AS numeric) AS spent
    ), forgotten AS (
        DELETE FROM spend WHERE tenant = %(tenant)s AND day < CAST(statement_timestamp() AS date) - 100
    )
    INSERT INTO spend (tenant, key_id, day, cost_usd)
    SELECT %(tenant)s, key_id, day, sum(spent) FROM ended GROUP BY key_id, day
    ON CONFLICT (tenant, key_id, day) DO UPDATE SET cost_usd = spend.cost_usd + excluded.cost_usd
"""
_SPENT = """
    WITH costs AS (
        SELECT key_id, day, cost_usd FROM spend WHERE tenant = %(tenant)s AND day >= %(month)s
        UNION ALL
        SELECT reserved.key_id, reserved.day, CAST(runs.usage ->> 'cost_usd' AS numeric)
        FROM spend_reserved AS reserved JOIN runs ON runs.id = reserved.run_id
        WHERE reserved.tenant = %(tenant)s AND reserved.day >= %(month)s
    )
    SELECT key_id, coalesce(sum(cost_usd) FILTER (WHERE day = %(day)s), 0) AS of_day, sum(cost_usd) AS of_month
    FROM costs GROUP BY key_id
"""


async def add_up(connection: ImpatientConnection, tenant: str) -> None:
    """Begin the account of a tenant, or begin it anew, in a transaction that holds the tenant's lock."""
    await connection.execute(_ADD_UP, {"tenant": tenant})


async def book_ends(connection: ImpatientConnection, tenant: str) -> None:
    """Book the runs of a tenant that have ended, in a transaction that holds the tenant's lock."""
    await connection.execute(_BOOK, {"tenant": tenant})


async def spent_by_keys(connection: ImpatientConnection, tenant: str, now: datetime) -> Sequence[Any]:
    """What the keys of a tenant have spent so far: `key_id`, `of_day`, `of_month`."""
    month = period_at("cost_usd_per_month", now).since.date()
    return await connection.rows(_SPENT, {"tenant": tenant, "day": now.date(), "month": month})
