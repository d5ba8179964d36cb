"""Reading runs: what the API shows comes from the read models; events come as they were stored.

What an attempt under way has spent so far is the exception: it changes with every call, and is read from the log.
"""

import asyncio
import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from app.domain.errors import RunUnreadable
from app.domain.retries import Patience
from app.store.database import Database
from app.store.projection import attempt_row, plain, task_row
from app.store.run_log import LOG_AS_TEXT, Known, read_run

Row = dict[str, Any]

OBJECTIVE_PREVIEW = 200
"""Characters of an objective that a list shows unless it is asked for the whole."""

RUN_COLUMNS = """
    id, status, phase, stop_reason, waiting_for, team_name, team_version, metadata, limits, plan_revision,
    quote, progress, usage, timing, error, cancellation, origin, parent, schedule, last_seq, created_at, started_at,
    finished_at, thinned_at
"""
_RUN = text(f"SELECT {RUN_COLUMNS}, objective, result FROM runs WHERE id = :id AND tenant = :tenant")
SHORT_OBJECTIVE = f"""
    CASE WHEN char_length(objective) > {OBJECTIVE_PREVIEW} THEN left(objective, {OBJECTIVE_PREVIEW - 1}) || '…'
         ELSE objective END AS objective
"""
_PLAN = text(
    """
    SELECT plans.plan FROM plans JOIN runs ON runs.id = plans.run_id
    WHERE plans.run_id = :id AND runs.tenant = :tenant
      AND (CAST(:revision AS int) IS NULL OR plans.revision = :revision)
    ORDER BY plans.revision DESC LIMIT 1
    """
)
_PLANS = text(
    """
    SELECT plans.plan FROM plans JOIN runs ON runs.id = plans.run_id
    WHERE plans.run_id = :id AND runs.tenant = :tenant ORDER BY plans.revision
    """
)
_TASKS = text(
    """
    SELECT tasks.task_id, tasks.status, tasks.error, tasks.output, tasks.usage
    FROM tasks JOIN runs ON runs.id = tasks.run_id
    WHERE tasks.run_id = :id AND runs.tenant = :tenant ORDER BY tasks.position
    """
)
_ATTEMPTS = text(
    """
    SELECT attempts.task_id, number, worker, model, attempts.status, detail, attempts.started_at, attempts.finished_at
    FROM attempts JOIN runs ON runs.id = attempts.run_id
    WHERE attempts.run_id = :id AND runs.tenant = :tenant ORDER BY attempts.task_id, number
    """
)
_LOG = text(
    f"""
    SELECT runs.tenant, teams.definition, {LOG_AS_TEXT}
    FROM runs JOIN teams ON teams.tenant = runs.tenant AND teams.name = runs.team_name
                        AND teams.version = runs.team_version
    WHERE runs.id = :id AND runs.tenant = :tenant
    """
)
PAGE_BYTES = 512 * 1024
"""Bytes of events that are read at a time; one event may have more."""

_EVENTS = text(
    """
    WITH wanted AS (
        SELECT events.*, octet_length(CAST(events.data AS text)) AS size
        FROM events JOIN runs ON runs.id = events.run_id
        WHERE events.run_id = :id AND runs.tenant = :tenant AND events.seq > :after
          AND (CAST(:types AS text[]) IS NULL OR events.type = ANY(:types))
        ORDER BY events.seq LIMIT :limit + 1
    ), counted AS (
        SELECT *, sum(size) OVER behind - size AS before, row_number() OVER behind AS place,
               lead(seq) OVER behind IS NOT NULL AS followed
        FROM wanted WINDOW behind AS (ORDER BY seq)
    )
    SELECT seq, type, task_id, attempt, CAST(data AS text) AS data, followed,
           to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS at
    FROM counted WHERE place <= :limit AND (before + size <= :bytes OR place = 1) ORDER BY seq
    """
)


@dataclass(frozen=True, slots=True)
class StoredEvent:
    """An event as clients get it, in the stream, the page and the trace alike."""

    seq: int
    type: str
    json: str
    """The envelope, as JSON on one line."""
    followed: bool = False
    """Whether there is another behind it that was asked for."""


@dataclass(frozen=True, slots=True)
class WholeRun:
    """Everything about a run but its events, as of the row's `last_seq`."""

    row: Row
    plans: Sequence[Row]
    """Every revision, oldest first."""
    tasks: Sequence[Row]
    """In plan order."""
    attempts: Sequence[Row]


async def find_run(database: Database, tenant: str, run_id: str) -> Row | None:
    """The columns of a run's resource, or None when the tenant has no such run."""

    async def read(connection: AsyncConnection) -> Row | None:
        row = (await connection.execute(_RUN, {"id": run_id, "tenant": tenant})).mappings().one_or_none()
        return dict(row) if row else None

    return await database.read_together(("run", tenant, run_id), read)


async def plan_of(database: Database, tenant: str, run_id: str, revision: int | None = None) -> Row | None:
    """The run's plan in its newest or a given revision, or None when there is none."""
    async with database.reading() as connection:
        values = {"id": run_id, "tenant": tenant, "revision": revision}
        found: Row | None = (await connection.execute(_PLAN, values)).scalar_one_or_none()
    return found


async def whole_run(database: Database, tenant: str, run_id: str) -> WholeRun | None:
    """The run with its plans, tasks and attempts at one moment, or None when the tenant has no such run."""
    values = {"id": run_id, "tenant": tenant}
    log: list[Any] = []

    async def read(connection: AsyncConnection) -> WholeRun | None:
        row = (await connection.execute(_RUN, values)).mappings().one_or_none()
        if row is None:
            return None
        plans = list((await connection.execute(_PLANS, values)).scalars())
        tasks = [dict(row) for row in (await connection.execute(_TASKS, values)).mappings()]
        attempts = [dict(row) for row in (await connection.execute(_ATTEMPTS, values)).mappings()]
        if any(task["status"] == "running" for task in tasks):
            log.append((await connection.execute(_LOG, values)).one())
        return WholeRun(dict(row), plans, tasks, attempts)

    async def brought_up_to_now(found: WholeRun | None) -> WholeRun | None:
        if found is None or not log:
            return found
        with suppress(RunUnreadable):
            # A long log takes seconds: in a thread it only slows others down, and all who ask share it.
            tasks, attempts = await asyncio.to_thread(_under_way, run_id, log.pop())
            return WholeRun(found.row, found.plans, tasks, attempts)
        return found

    return await database.read_together(("whole run", tenant, run_id), read, then=brought_up_to_now)


def _under_way(run_id: str, row: Any) -> tuple[list[Row], list[Row]]:
    """Tasks and attempts as the log has them: what a running attempt has spent so far is not in its row yet."""
    run = read_run(Known(run_id, row.tenant, row.definition), json.loads(row.log), Patience(), {})
    tasks = [task_row(run, task) for task in run.every_task]
    attempts = [attempt_row(run, task, attempt) for task in run.every_task for attempt in task.attempts]
    return [plain(each) for each in tasks], [plain(each) for each in attempts]


async def events_of(
    database: Database, tenant: str, run_id: str, *, after: int = 0, limit: int, types: Sequence[str] | None = None
) -> Sequence[StoredEvent]:
    """Up to `limit` events behind number `after`, in order; fewer when they are long, but one if there is one."""
    values: Row = {"id": run_id, "tenant": tenant, "after": after, "limit": limit, "bytes": PAGE_BYTES}
    values["types"] = list(types) if types else None
    async with database.reading() as connection:
        return [_stored(run_id, row) for row in await connection.execute(_EVENTS, values)]


def _stored(run_id: str, row: Any) -> StoredEvent:
    envelope = (
        f'{{"seq":{row.seq},"type":"{row.type}","at":"{row.at}","run_id":"{run_id}",'
        f'"task_id":{json.dumps(row.task_id)},"attempt":{json.dumps(row.attempt)},"data":{row.data}}}'
    )
    return StoredEvent(row.seq, row.type, envelope, row.followed)
