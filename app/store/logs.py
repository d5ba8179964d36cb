"""A run as its log tells it, and the end of a run whose log tells nothing."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from app.domain import events as ev
from app.domain.errors import FAULTS, RunUnreadable
from app.domain.events import event_from
from app.domain.fold import fold
from app.domain.fold_run import receipt_of
from app.domain.job import Limits
from app.domain.results import Problem
from app.domain.retries import Policy
from app.domain.snapshot import Brief, Snapshot
from app.domain.states import TERMINAL_RUN, TERMINAL_TASK
from app.domain.team import Team
from app.store.journal_sql import EVENTS_CHANNEL
from app.store.projection import as_json

LOG_OF_RUN = """(
    SELECT json_agg(json_build_object(
        'seq', seq, 'type', type, 'at', at, 'run_id', run_id, 'task_id', task_id, 'attempt', attempt, 'data', data
    ) ORDER BY seq) FROM events WHERE run_id = runs.id) AS log"""
"""The log as a column beside a row of `runs`, as `read_run` takes it."""

_END = text(
    """
    WITH run AS (
        SELECT id, (SELECT max(seq) + 1 FROM events WHERE run_id = runs.id) AS seq FROM runs
        WHERE id = :id AND NOT status = ANY(:ended) AND (owner = :owner AND owner_epoch = :epoch OR :anybodys)
        FOR UPDATE
    ), changed AS (
        UPDATE runs SET status = 'failed', phase = NULL, stop_reason = 'internal_error', last_seq = run.seq,
            error = CAST(:error AS json), finished_at = :at, waiting_for = NULL, wake_at = NULL,
            owner = NULL, lease_until = NULL
        FROM run WHERE runs.id = run.id RETURNING runs.id, runs.last_seq
    ), event AS (
        INSERT INTO events (run_id, seq, type, at, data)
        SELECT id, last_seq, 'run.failed', :at, CAST(:data AS json) FROM changed
    ), ended_tasks AS (
        UPDATE tasks SET status = 'cancelled', finished_at = :at
        FROM changed WHERE tasks.run_id = changed.id AND NOT tasks.status = ANY(:ended_tasks)
    ), ended_attempts AS (
        UPDATE attempts SET status = 'cancelled', finished_at = :at
        FROM changed WHERE attempts.run_id = changed.id AND attempts.status = 'running'
    )
    SELECT pg_notify(:channel, id || ':' || last_seq) FROM changed
    """
)
_NOTE_CANCEL = text(
    """
    WITH changed AS (
        UPDATE runs SET cancellation = CAST(:cancellation AS json),
            last_seq = (SELECT max(seq) + 1 FROM events WHERE run_id = runs.id)
        WHERE id = :id AND lease_until > now() RETURNING id, last_seq
    ), event AS (
        INSERT INTO events (run_id, seq, type, at, data)
        SELECT id, last_seq, 'run.cancel_requested', :at, CAST(:data AS json) FROM changed
    )
    SELECT pg_notify(:channel, id || ':' || last_seq) FROM changed
    """
)


def read_run(run_id: str, row: Any, log: Iterable[Any], policy: Policy, models: Mapping[str, str]) -> Snapshot:
    """The state of a run, from its row (objective, limits, definition of its team) and its log.

    `policy` and `models` (ids by tier) are how this process executes it. Raises `RunUnreadable`.
    """
    try:
        events = [event_from(event) for event in log]
        first = events[0].data
        brief = Brief(
            run_id=run_id,
            objective=row.objective,
            team=Team.model_validate(row.definition),
            limits=Limits.model_validate(row.limits),
            inputs=first.inputs if isinstance(first, ev.RunQueued) else (),
            policy=policy,
            models=models,
        )
        return fold(brief, events)
    except FAULTS as error:
        raise RunUnreadable(run_id) from error


async def note_cancel(connection: AsyncConnection, run_id: str, asked: ev.RunCancelRequested, at: datetime) -> bool:
    """Have the owner of a run, whose lease holds, cancel it; False when there is none. This needs none of its log."""
    noted = await connection.execute(
        _NOTE_CANCEL,
        {
            "id": run_id,
            "at": at,
            "data": as_json(asked),
            "cancellation": as_json(receipt_of(asked, at)),
            "channel": EVENTS_CHANNEL,
        },
    )
    return noted.one_or_none() is not None


async def end_unreadable(
    connection: AsyncConnection, run_id: str, *, owner: str | None = None, epoch: int | None = None
) -> None:
    """Fail a run whose log cannot be read, and cancel what it had under way; without an owner, whoever has it."""
    problem = Problem(code="internal_error", message="What was recorded of this run can no longer be read.")
    failed = ev.RunFailed(stop_reason="internal_error", error=problem)
    await connection.execute(
        _END,
        {
            "id": run_id,
            "owner": owner,
            "epoch": epoch,
            "anybodys": owner is None,
            "ended": list(TERMINAL_RUN),
            "ended_tasks": list(TERMINAL_TASK),
            "error": as_json(problem),
            "data": as_json(failed),
            "at": datetime.now(UTC),
            "channel": EVENTS_CHANNEL,
        },
    )
