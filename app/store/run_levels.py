"""What runs look like from afar: how many tasks of each level of the plan are in which status."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

from sqlalchemy import text

from app.domain.plan import levels_of
from app.store.database import Database

PLAN_BYTES = 256 * 1024
"""Bytes of a stored plan that is still looked at: a list reads many, and some hold the material of their tasks."""

_TASKS = text(
    """
    SELECT runs.id AS run_id, planned.id AS task_id, planned.depends_on, tasks.status
    FROM runs JOIN plans ON plans.run_id = runs.id AND plans.revision = runs.plan_revision
    CROSS JOIN LATERAL json_to_recordset(plans.plan -> 'tasks') AS planned (id text, depends_on json)
    JOIN tasks ON tasks.run_id = runs.id AND tasks.task_id = planned.id
    WHERE runs.id = ANY(:ids) AND runs.tenant = :tenant AND pg_column_size(plans.plan) <= :bytes
    """
)

Level = Mapping[str, int]
"""Tasks by status."""


async def levels_of_runs(database: Database, tenant: str, run_ids: Iterable[str]) -> Mapping[str, Sequence[Level]]:
    """The levels of the newest plans, by run; a run is left out that has no task yet, or too large a plan."""
    values = {"ids": list(run_ids), "tenant": tenant, "bytes": PLAN_BYTES}
    async with database.reading() as connection:
        rows = (await connection.execute(_TASKS, values)).all()
    waits_for: defaultdict[str, dict[str, list[str]]] = defaultdict(dict)
    for row in rows:
        waits_for[row.run_id][row.task_id] = row.depends_on
    levels = {run_id: levels_of(tasks) for run_id, tasks in waits_for.items()}
    found = {run_id: [Counter[str]() for _ in range(max(places.values()))] for run_id, places in levels.items()}
    for row in rows:
        found[row.run_id][levels[row.run_id][row.task_id] - 1][row.status] += 1
    return found
