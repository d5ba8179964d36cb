"""Whether a run may be accepted, in the transaction that stores it.

Runs of one tenant that limits count are accepted one after the other, so that no two take the same room. What a tenant
has taken is read from indexes on runs that have not ended, and from the account of its money.
"""

from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any

from app.domain.admission import Admission, Note, Standing, admitted, notes_of
from app.domain.errors import LimitReached
from app.domain.quotas import CostPeriod, Quotas, Spending, Taken
from app.store.connections import ImpatientConnection
from app.store.database import Database
from app.store.spending import add_up

COUNTS = "status IN ('queued', 'running', 'waiting') AND parent IS NULL"
"""The condition that limits count a run. A nested one is a part of its parent, which was counted."""
IN_FLIGHT = """
    (NOT (held AND status = 'queued') AND (status <> 'waiting' OR waiting_for NOT IN ('plan_approval', 'answer')))
"""
"""The condition that one which counts is in flight. To wait for a person may take days, and takes nothing."""
LOCK = "SELECT pg_advisory_xact_lock(hashtext('admission'), hashtext(%(tenant)s))"
_TAKEN = f"""
    WITH today AS (
        SELECT statement_timestamp() AS now, CAST(statement_timestamp() AT TIME ZONE 'UTC' AS date) AS day,
               CAST(date_trunc('month', statement_timestamp() AT TIME ZONE 'UTC') AS date) AS month
    ), open AS (
        SELECT key_id = %(key)s AS own, status = 'queued' AS queued, held AND status = 'queued' AS held,
               {IN_FLIGHT} AS flying
        FROM runs WHERE %(runs)s AND tenant = %(tenant)s AND {COUNTS}
    ), costs AS (
        SELECT key_id = %(key)s AS own, day, cost_usd AS spent, 0 AS reserved
        FROM spend WHERE %(money)s AND tenant = %(tenant)s AND day >= (SELECT month FROM today)
        UNION ALL
        SELECT reserved.key_id = %(key)s, reserved.day, cost.usd,
               CASE WHEN runs.finished_at IS NULL THEN greatest(reserved.cost_usd - cost.usd, 0) END
        FROM spend_reserved AS reserved JOIN runs ON runs.id = reserved.run_id,
             LATERAL (SELECT CAST(runs.usage ->> 'cost_usd' AS numeric) AS usd) AS cost
        WHERE %(money)s AND reserved.tenant = %(tenant)s AND reserved.day >= (SELECT month FROM today)
    )
    SELECT 'runs' AS about, own,
           count(*) FILTER (WHERE flying) AS one, count(*) FILTER (WHERE queued) AS two,
           count(*) FILTER (WHERE held) AS three, CAST(NULL AS timestamptz) AS now
    FROM open GROUP BY own
    UNION ALL
    SELECT CASE WHEN day = (SELECT day FROM today) THEN 'day' ELSE 'month' END, own,
           sum(spent), coalesce(sum(reserved), 0), 0, NULL
    FROM costs GROUP BY 1, 2
    UNION ALL SELECT 'clock', NULL, 0, 0, 0, now FROM today
"""
_IS_KEPT = """
    SELECT coalesce(
        (SELECT counted_at FROM spend_accounts WHERE tenant = %(tenant)s) > (
            SELECT max(changed_at) FROM limits WHERE tenant IN (%(tenant)s, '')) + make_interval(secs => %(settles)s),
        false) AS is_kept
"""
SETTLES_S = 5.0
"""For so long after a change of limits a process may accept runs by those before: the money is added up anew then."""


@dataclass(frozen=True, slots=True)
class Admitted:
    """A run that may be stored."""

    admission: Admission
    notes: tuple[Note, ...]
    """How it stands with the limits then."""
    spend_day: date | None
    """The day of UTC on which its money counts; None where money is not counted."""


async def admit(
    connection: ImpatientConnection, tenant: str, key: str | None, quotas: Quotas, cost_usd: Decimal | None
) -> Admitted:
    """How a run that would spend up to `cost_usd` is accepted, in a transaction that holds the tenant's lock.

    Raises `LimitReached`.
    """
    if quotas.count_money and not await _is_kept(connection, tenant):
        await add_up(connection, tenant)
    standing = await _standing(connection, tenant, key, quotas)
    try:
        admission = admitted(quotas, standing, cost_usd)
    except LimitReached as reached:
        reached.notes = tuple(notes_of(quotas, standing))
        raise
    notes = tuple(notes_of(quotas, standing.with_one_more(admission)))
    return Admitted(admission, notes, standing.now.date() if quotas.count_money else None)


async def look_at_standing(database: Database, tenant: str, key: str | None, quotas: Quotas) -> Standing:
    """What a tenant and its key have taken, for those who only ask."""
    async with database.driver() as connection:
        if quotas.count_money and not await _is_kept(connection, tenant):
            async with connection.transaction():
                await connection.execute(LOCK, {"tenant": tenant})
                await add_up(connection, tenant)
        return await _standing(connection, tenant, key, quotas)


async def _is_kept(connection: ImpatientConnection, tenant: str) -> bool:
    """Whether the account of a tenant's money holds."""
    rows = await connection.rows(_IS_KEPT, {"tenant": tenant, "settles": SETTLES_S})
    return bool(rows[0].is_kept)


async def _standing(connection: ImpatientConnection, tenant: str, key: str | None, quotas: Quotas) -> Standing:
    """What a tenant and its key have taken of what limits count."""
    values = {
        "tenant": tenant,
        "key": key,
        "runs": quotas.count_runs,
        "money": quotas.count_money,
    }
    rows = await connection.rows(_TAKEN, values)
    now = next(row.now for row in rows if row.about == "clock")
    return Standing(now, _taken(rows), _taken([row for row in rows if row.own]))


def _taken(rows: list[Any]) -> Taken:
    runs = [row for row in rows if row.about == "runs"]
    of_day = [row for row in rows if row.about == "day"]
    of_month = [row for row in rows if row.about in ("day", "month")]
    costs: dict[CostPeriod, Spending] = {
        "cost_usd_per_day": _spending(of_day),
        "cost_usd_per_month": _spending(of_month),
    }
    in_flight, queued, held = (sum(int(row[place]) for row in runs) for place in (2, 3, 4))
    return Taken(in_flight, queued, held, costs)


def _spending(rows: list[Any]) -> Spending:
    return Spending(sum((row.one for row in rows), Decimal(0)), sum((row.two for row in rows), Decimal(0)))
