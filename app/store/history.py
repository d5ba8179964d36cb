"""What the recent runs of a team have taken: the figures that quotes rest on."""

import asyncio
import time
from collections.abc import Iterable
from typing import Any

import structlog
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from app.domain.quote import History, Typical
from app.domain.quoting import ENOUGH
from app.domain.usage import Amount
from app.store.database import TROUBLE, Database

log = structlog.get_logger(__name__)

RUNS_CONSIDERED = 100
"""Of a team, the newest."""
KEPT_S = 60.0
"""How long what was found is kept; the runs of a minute change means little."""
LITTLE_KEPT_S = 1.0
"""The same while there are so few runs that each counts."""
TEAMS_KEPT = 1_000
LOOK_S = 1.0
"""How long a run waits for it; it can be quoted without."""

_TOKENS = "(usage->>'input_tokens')::bigint + (usage->>'output_tokens')::bigint"
_HISTORY = text(
    f"""
    WITH newest AS MATERIALIZED (
        SELECT id, status, usage, quote, limits, finished_at FROM runs
        WHERE tenant = :tenant AND team_name = :team ORDER BY created_at DESC, id DESC LIMIT :runs
    ), ended AS MATERIALIZED (
        SELECT id, {_TOKENS} AS tokens, (usage->>'cost_usd')::numeric AS cost, finished_at,
               (quote->'planning'->>'tokens')::bigint AS planning_tokens,
               (quote->'planning'->>'cost_usd')::numeric AS planning_cost
        FROM newest WHERE status IN ('succeeded', 'partial') AND limits->>'dry_run' IS NULL
    ), done AS MATERIALIZED (
        SELECT tasks.run_id, tasks.status, {_TOKENS} AS tokens, (usage->>'cost_usd')::numeric AS cost,
               tasks.finished_at, first.worker, first.model, first.started_at
        FROM tasks JOIN ended ON ended.id = tasks.run_id
        LEFT JOIN attempts AS first USING (run_id, task_id) WHERE coalesce(first.number, 1) = 1
    ), answers AS (
        -- What is neither the tasks' nor planning's. Planning is known of runs that have a quote.
        SELECT max(ended.tokens - planning_tokens) - sum(done.tokens) AS tokens,
               max(ended.cost - planning_cost) - sum(done.cost) AS cost,
               CAST(extract(epoch FROM max(ended.finished_at) - max(done.finished_at)) AS float8) AS seconds
        FROM ended JOIN done ON done.run_id = ended.id WHERE planning_tokens IS NOT NULL GROUP BY ended.id
    ), found AS (
        SELECT worker, model, tokens, cost,
               CAST(extract(epoch FROM finished_at - started_at) AS float8) AS seconds
        FROM done WHERE status IN ('succeeded', 'failed') AND worker IS NOT NULL
        UNION ALL SELECT '', '', tokens, cost, seconds FROM answers WHERE tokens > 0
    ), bounds AS (
        -- Nine of ten are below. What lies above counts as much as this: one that ran away makes no rule.
        SELECT worker, model, percentile_disc(0.9) WITHIN GROUP (ORDER BY tokens) AS tokens,
               percentile_disc(0.9) WITHIN GROUP (ORDER BY cost) AS cost,
               percentile_disc(0.9) WITHIN GROUP (ORDER BY seconds) AS seconds
        FROM found GROUP BY worker, model
    )
    SELECT worker, model, count(*) AS count, CAST(avg(least(found.tokens, bounds.tokens)) AS bigint) AS tokens,
           avg(least(found.cost, bounds.cost)) AS cost, avg(least(found.seconds, bounds.seconds)) AS seconds,
           (SELECT count(*) FROM ended) AS runs
    FROM found JOIN bounds USING (worker, model) GROUP BY worker, model
    """
)


class Histories:
    """The histories of teams as one process knows them: looked up when they are wanted, at most about once a minute."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._known: dict[tuple[str, str], tuple[float, History]] = {}
        """With the time of the look, on the monotonic clock."""

    async def of(self, tenant: str, team: str, *, newest: bool = False) -> History:
        """The history of a team's runs: that of a moment ago unless the `newest` is wanted; none during an outage."""
        looked_at, known = self._known.get((tenant, team), (None, History()))
        if looked_at is not None and not newest:
            kept_s = KEPT_S if known.runs >= ENOUGH else LITTLE_KEPT_S
            if time.monotonic() - looked_at < kept_s:
                return known
        try:
            async with asyncio.timeout(LOOK_S):
                found = await history_of(self._database, tenant, team)
        except TROUBLE as error:
            log.warning("history not read", error=type(error).__name__)
            return known
        if len(self._known) >= TEAMS_KEPT:
            self._known.clear()
        self._known[tenant, team] = time.monotonic(), found
        return found


async def history_of(database: Database, tenant: str, team: str) -> History:
    """What the newest runs of a team have taken."""

    async def read(connection: AsyncConnection) -> History:
        rows = await connection.execute(_HISTORY, {"tenant": tenant, "team": team, "runs": RUNS_CONSIDERED})
        return _history(rows.all())

    return await database.read_together(("history", tenant, team), read)


def _history(rows: Iterable[Any]) -> History:
    tasks, answer, runs = {}, None, 0
    for row in rows:
        typical = Typical(Amount(tokens=row.tokens, cost_usd=row.cost), row.seconds, row.count)
        runs = row.runs
        if not row.worker:
            answer = typical
        else:
            tasks[row.worker, row.model] = typical
    return History(tasks, answer, runs)
