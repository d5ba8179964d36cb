"""Nested runs in the store: who has ended without its parent having heard of it, and for whom nobody waits any more.

A nested run is a run like any other, with an owner of its own. Its parent hears of its end as it hears of a client's
answer: from whoever looks, once, and under the guard of its log.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import structlog
from sqlalchemy import text

from app.domain import events as ev
from app.domain.errors import FAULTS, RunUnreadable
from app.domain.events import Entry
from app.domain.nested import Parent
from app.domain.policy.children import HandedUp, files_to_hand_up, heard_of, output_of, problem_of
from app.domain.results import Output, Result
from app.domain.snapshot import Snapshot
from app.domain.topics import Topic
from app.domain.usage import Amount, Usage
from app.store.artifacts import artifacts_named
from app.store.database import Database
from app.store.interventions import intervene, request_cancel
from app.store.queue import RunQueue

log = structlog.get_logger(__name__)

RUNS_AT_A_TIME = 100
WITHOUT_PARENT = "The run that it belongs to has ended, or goes on without it."

_UNHEARD = text(
    """
    SELECT child.id, child.tenant, child.parent, child.status, child.stop_reason, child.result, child.error,
           child.usage, (SELECT json_agg(data -> 'unsettled') FROM events
                         WHERE run_id = child.id AND type = 'run.resumed') AS unsettled
    FROM runs AS child WHERE child.reports_to IS NOT NULL AND child.finished_at IS NOT NULL
    ORDER BY child.finished_at LIMIT :limit
    """
)
_ORPHANS = text(
    """
    SELECT child.id, child.tenant
    FROM runs AS child JOIN runs AS parent ON parent.id = child.reports_to
    LEFT JOIN attempts ON attempts.run_id = parent.id AND attempts.task_id = child.parent ->> 'task'
                      AND attempts.number = CAST(child.parent ->> 'attempt' AS int)
    WHERE child.reports_to IS NOT NULL AND child.finished_at IS NULL AND child.cancellation IS NULL
      AND (parent.finished_at IS NOT NULL OR parent.cancellation IS NOT NULL OR attempts.finished_at IS NOT NULL)
    LIMIT :limit
    """
)
_HEARD = text("UPDATE runs SET reports_to = NULL WHERE id = :id")
"""Said once its parent has heard of its end, or cannot any more."""
_IN_TREE = text(
    """
    WITH RECURSIVE up AS (
        SELECT id, parent ->> 'run' AS parent_id FROM runs WHERE id = :id
        UNION ALL SELECT runs.id, runs.parent ->> 'run' FROM up JOIN runs ON runs.id = up.parent_id
    ), down AS (
        SELECT id FROM up WHERE parent_id IS NULL
        UNION ALL SELECT runs.id FROM down JOIN runs ON runs.parent ->> 'run' = down.id AND runs.parent IS NOT NULL
    )
    SELECT count(*) - 1 FROM down
    """
)
_TERMS = text("SELECT priority, metadata, limits, team_name, team_version FROM runs WHERE id = :id")


async def terms_of(database: Database, run_id: str) -> Mapping[str, Any] | None:
    """`priority`, `metadata`, `limits`, `team_name` and `team_version` of a run as it was accepted; None without it."""
    async with database.statement() as connection:
        row = (await connection.execute(_TERMS, {"id": run_id})).mappings().one_or_none()
    return dict(row) if row else None


async def nested_in_tree(database: Database, run_id: str) -> int:
    """How many nested runs the tree has to which a run belongs, at any depth."""
    async with database.statement() as connection:
        return int((await connection.execute(_IN_TREE, {"id": run_id})).scalar_one())


async def tell_parents(database: Database, queue: RunQueue) -> int:
    """Have parents hear of the nested runs that have ended; of how many. Those that wait go on."""
    heard = 0
    for row in await _rows(database, _UNHEARD):
        try:
            await _tell_parent(database, queue, row)
        except (RunUnreadable, *FAULTS) as error:  # A process of another release may read them.
            log.error("end of a nested run not told", run_id=row.id, error=type(error).__name__, exc_info=error)
        else:
            heard += 1
    return heard


async def _tell_parent(database: Database, queue: RunQueue, row: Any) -> None:
    parent = Parent.model_validate(row.parent)
    result = Result.model_validate(row.result) if row.result else None
    names, left = files_to_hand_up(result) if result is not None else ((), ())
    files = HandedUp(await artifacts_named(database, row.id, names) if names else (), left)
    ended, output = _end_of(row, result, files)

    def hear(run: Snapshot) -> Sequence[Entry]:
        return heard_of(run, Topic("work", parent.task, parent.attempt), ended, output)

    await intervene(database, queue, row.tenant, parent.run, hear)
    async with database.statement() as connection:
        await connection.execute(_HEARD, {"id": row.id})


def _end_of(row: Any, result: Result | None, files: HandedUp) -> tuple[ev.ChildEnded, Output | None]:
    output = output_of(row.id, row.status, row.stop_reason, result, files)
    message = row.error["message"] if row.error else ""
    ended = ev.ChildEnded(
        run=row.id,
        status=row.status,
        stop_reason=row.stop_reason,
        error=None if output is not None else problem_of(row.id, row.stop_reason, message),
        usage=Usage.model_validate(row.usage),
        unsettled=sum((Amount.model_validate(each) for each in row.unsettled or () if each), Amount()),
    )
    return ended, output


async def cancel_orphans(database: Database, queue: RunQueue) -> int:
    """Ask for the end of nested runs for which nobody waits any more; of how many."""
    found = await _rows(database, _ORPHANS)
    for row in found:
        await request_cancel(database, queue, row.tenant, row.id, reason=WITHOUT_PARENT)
    return len(found)


async def _rows(database: Database, query: Any) -> Sequence[Any]:
    async with database.statement() as connection:
        return (await connection.execute(query, {"limit": RUNS_AT_A_TIME})).all()
