"""A run as its log tells it, and the end of a run whose log tells nothing."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from app.domain import events as ev
from app.domain.brief import NOTHING_REUSED, Brief
from app.domain.errors import FAULTS, IllegalMove, RunUnreadable
from app.domain.events import Event, event_from
from app.domain.fold import fold
from app.domain.results import Problem
from app.domain.retries import Patience
from app.domain.second_looks import with_models
from app.domain.snapshot import Snapshot
from app.domain.states import TERMINAL_RUN, TERMINAL_TASK
from app.domain.team import Team
from app.store.journal_sql import EVENTS_CHANNEL
from app.store.projection import as_json

LOG_OF_RUN = """(
    SELECT json_agg(json_build_object(
        'seq', seq, 'type', type, 'at', at, 'run_id', run_id, 'task_id', task_id, 'attempt', attempt, 'data', data
    ) ORDER BY seq) FROM events WHERE run_id = runs.id) AS log"""
"""The log as a column beside a row of `runs`, as `read_run` takes it."""
LOG_AS_TEXT = f"CAST({LOG_OF_RUN.removesuffix(' AS log')} AS text) AS log"
"""The same as JSON text, to be parsed where that holds up nobody."""

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


class Known(NamedTuple):
    """What is known of a run beside its log."""

    run_id: str
    tenant: str
    definition: Any
    """Of its team."""


def read_run(about: Known, log: Iterable[Any], patience: Patience, models: Mapping[str, str]) -> Snapshot:
    """The state of a run, from what is known of it beside its log, and that.

    `patience` and `models` (ids by tier) are how this process executes it. Raises `RunUnreadable`.
    """
    try:
        events = [event_from(event) for event in log]
        return fold(brief_from(about, events, patience, models), events)
    except FAULTS as error:
        raise RunUnreadable(about.run_id) from error


def brief_from(about: Known, log: Sequence[Event], patience: Patience, models: Mapping[str, str]) -> Brief:
    """What is fixed about a run, by what is known of it beside its log, and that. Raises one of `FAULTS`."""
    job = log[0].data
    if not isinstance(job, ev.RunQueued):
        raise IllegalMove(f"a log cannot begin with {job.type}")
    return Brief(
        run_id=about.run_id,
        tenant=about.tenant,
        objective=job.objective,
        team=with_models(Team.model_validate(about.definition), job.models).at_depth(job.limits.depth),
        limits=job.limits,
        inputs=job.inputs,
        patience=patience,
        models=models,
        own_schema=job.output_schema,
        rubric=job.rubric,
        own_strategy=job.strategy,
        ends_by=job.ends_by,
        traceparent=job.traceparent,
        reused=next((event.data for event in log[1:2] if isinstance(event.data, ev.ResultsReused)), NOTHING_REUSED),
    )


async def end_unreadable(
    connection: AsyncConnection, run_id: str, *, owner: str | None = None, epoch: int | None = None
) -> bool:
    """Fail a run whose log cannot be read, and cancel what it had under way; without an owner, whoever has it.

    Whether it was there to be failed.
    """
    problem = Problem(code="internal_error", message="What was recorded of this run can no longer be read.")
    failed = ev.RunFailed(stop_reason="internal_error", error=problem)
    ended = await connection.execute(
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
    return ended.one_or_none() is not None
