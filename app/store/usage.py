"""What the runs of a tenant have taken, added up."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from sqlalchemy import text

from app.domain.usage import Usage
from app.store.database import Database

GroupBy = Literal["day", "team", "model", "key"]
"""What usage is added up by."""
GROUPS_AT_MOST = 1_000

_SUMS = """
    coalesce(sum((usage->>'llm_calls')::bigint), 0) AS llm_calls,
    coalesce(sum((usage->>'tool_calls')::bigint), 0) AS tool_calls,
    coalesce(sum((usage->>'input_tokens')::bigint), 0) AS input_tokens,
    coalesce(sum((usage->>'cache_read_tokens')::bigint), 0) AS cache_read_tokens,
    coalesce(sum((usage->>'cache_write_tokens')::bigint), 0) AS cache_write_tokens,
    coalesce(sum((usage->>'output_tokens')::bigint), 0) AS output_tokens,
    coalesce(sum((usage->>'cost_usd')::numeric), 0) AS cost_usd,
    coalesce(bool_or((usage->>'estimated')::bool), false) AS estimated
"""
_OF_RUNS = f"""
    count(*) AS runs, {_SUMS}
    FROM runs WHERE tenant = :tenant AND created_at >= :since AND created_at < :until AND parent IS NULL
"""
_GROUPS = {
    "day": "to_char(created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD')",
    "team": "team_name",
    "key": "key_id",
}
_QUERIES = {
    name: text(f"SELECT {group} AS name, {_OF_RUNS} GROUP BY 1 ORDER BY 1 NULLS FIRST LIMIT :limit")
    for name, group in _GROUPS.items()
}
_QUERIES["model"] = text(
    f"""
    WITH calls AS (
        SELECT runs.id, events.data->>'model' AS model, events.data->'usage' AS usage
        FROM runs JOIN events ON events.run_id = runs.id AND events.type IN ('llm.completed', 'llm.failed')
        WHERE runs.tenant = :tenant AND runs.created_at >= :since AND runs.created_at < :until
    )
    SELECT model AS name, count(DISTINCT id) AS runs, {_SUMS} FROM calls GROUP BY 1 ORDER BY 1 LIMIT :limit
    """
)
_TOTAL = text(f"SELECT NULL AS name, {_OF_RUNS}")


@dataclass(frozen=True, slots=True)
class Period:
    """From when to when, the end not included."""

    since: datetime
    until: datetime


@dataclass(frozen=True, slots=True)
class UsageGroup:
    """What the runs of a group have taken together."""

    name: str | None
    """A day, a team, a model, or the id of a key; None for runs without a key."""
    runs: int
    usage: Usage


async def usage_of(
    database: Database, tenant: str, period: Period, group_by: GroupBy
) -> tuple[Sequence[UsageGroup], UsageGroup]:
    """What the runs that were posted in a period have taken so far, by group and in total.

    A nested run counts with the run that it is part of, except by model, where each call counts once.
    """
    values: Mapping[str, Any] = {"tenant": tenant, "since": period.since, "until": period.until}
    async with database.one_view() as connection:
        rows = (await connection.execute(_QUERIES[group_by], {**values, "limit": GROUPS_AT_MOST})).all()
        total = (await connection.execute(_TOTAL, values)).one()
    return [_group(row) for row in rows], _group(total)


def _group(row: Any) -> UsageGroup:
    fields = {name: getattr(row, name) for name in Usage.model_fields}
    return UsageGroup(row.name, row.runs, Usage.model_validate(fields))
