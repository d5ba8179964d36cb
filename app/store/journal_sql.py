"""The journal's statements. A commit of any number of runs is one statement of constant text."""

import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from app.domain.errors import FAULTS, RunUnreadable, Unwritable
from app.domain.events import Event, event_from
from app.domain.snapshot import Snapshot
from app.store.connections import ImpatientConnection
from app.store.database import TROUBLE, Database
from app.store.projection import Row, as_json, changed_rows, event_row, new_files, run_row

EVENTS_CHANNEL = "chargehand_events"
NO_PROGRESS = ("run.resumed", "run.cancel_requested")
"""What may happen to a run that kills whoever executes it."""


@dataclass(frozen=True, slots=True)
class Batch:
    """New events of one run, and the condition under which they may be written."""

    run: Snapshot
    """The state after them."""
    events: Sequence[Event]
    epoch: int
    expected_seq: int
    """The event they follow."""
    now: datetime
    wakes: bool = False
    """Whether a waiting run is to be looked at again at once, since something has come that it may have waited for."""


_COMMIT = """
    WITH new AS (
        SELECT * FROM json_to_recordset(CAST(%(runs)s AS json)) AS n(
            id text, epoch bigint, expected_seq bigint, status text, phase text, stop_reason text, plan_revision int,
            quote json, progress json, usage json, timing json, result json, error json, cancellation json,
            last_seq bigint, started_at timestamptz, finished_at timestamptz, waiting_for text, wake_at timestamptz,
            clock timestamptz, moved bool, parks bool, wakes bool)
    ), locked AS MATERIALIZED (
        -- In one order everywhere, so that statements over many runs never wait for each other in a circle.
        SELECT runs.id FROM runs JOIN new ON runs.id = new.id
        WHERE runs.owner IS NOT DISTINCT FROM %(owner)s
          AND runs.owner_epoch = new.epoch AND runs.last_seq = new.expected_seq
        ORDER BY runs.id FOR UPDATE OF runs
    ), changed AS (
        UPDATE runs SET
            status = n.status, phase = n.phase, stop_reason = n.stop_reason, plan_revision = n.plan_revision,
            quote = n.quote, progress = n.progress, usage = n.usage, timing = n.timing,
            result = n.result, error = n.error, cancellation = n.cancellation, last_seq = n.last_seq,
            started_at = n.started_at, finished_at = n.finished_at, waiting_for = n.waiting_for,
            -- Leases and waits go by one clock, and it is this one.
            wake_at = CASE WHEN n.wakes THEN now() ELSE now() + (n.wake_at - n.clock) END,
            idle_claims = CASE WHEN n.moved THEN 0 ELSE runs.idle_claims END,
            owner = CASE WHEN n.finished_at IS NULL AND NOT n.parks THEN runs.owner END,
            lease_until = CASE WHEN n.finished_at IS NULL AND NOT n.parks THEN runs.lease_until END
        FROM new AS n JOIN locked ON locked.id = n.id
        WHERE runs.id = n.id AND runs.owner_epoch = n.epoch AND runs.last_seq = n.expected_seq
        RETURNING runs.id, runs.last_seq
    ), new_events AS (
        INSERT INTO events (run_id, seq, type, at, task_id, attempt, data)
        SELECT n.run_id, n.seq, n.type, n.at, n.task_id, n.attempt, n.data
        FROM json_to_recordset(CAST(%(events)s AS json)) AS n(
            run_id text, seq bigint, type text, at timestamptz, task_id text, attempt int, data json)
        JOIN changed ON changed.id = n.run_id
    ), new_plans AS (
        INSERT INTO plans (run_id, revision, plan, created_at)
        SELECT n.run_id, n.revision, n.plan, n.created_at
        FROM json_to_recordset(CAST(%(plans)s AS json)) AS n(
            run_id text, revision int, plan json, created_at timestamptz)
        JOIN changed ON changed.id = n.run_id
    ), task_rows AS MATERIALIZED (
        SELECT n.* FROM json_to_recordset(CAST(%(tasks)s AS json)) AS n(
            run_id text, task_id text, position int, status text, error json, output json, usage json,
            finished_at timestamptz, is_new bool)
        JOIN changed ON changed.id = n.run_id
    ), new_tasks AS (
        INSERT INTO tasks (run_id, task_id, position, status, error, output, usage, finished_at)
        SELECT run_id, task_id, position, status, error, output, usage, finished_at FROM task_rows WHERE is_new
    ), changed_tasks AS (
        UPDATE tasks SET
            status = n.status, error = n.error, output = n.output, usage = n.usage, finished_at = n.finished_at
        FROM task_rows AS n WHERE tasks.run_id = n.run_id AND tasks.task_id = n.task_id AND NOT n.is_new
    ), new_attempts AS (
        INSERT INTO attempts (run_id, task_id, number, worker, model, status, detail, started_at, finished_at)
        SELECT n.run_id, n.task_id, n.number, n.worker, n.model, n.status, n.detail, n.started_at, n.finished_at
        FROM json_to_recordset(CAST(%(attempts)s AS json)) AS n(
            run_id text, task_id text, number int, worker text, model text, status text, detail json,
            started_at timestamptz, finished_at timestamptz)
        JOIN changed ON changed.id = n.run_id
        -- Releases before this one write the row when the attempt starts.
        ON CONFLICT (run_id, task_id, number) DO UPDATE SET
            status = excluded.status, detail = excluded.detail, finished_at = excluded.finished_at
    ), new_files AS (
        INSERT INTO artifacts (run_id, name, position, media_type, task_id, is_text, bytes, content)
        SELECT n.run_id, n.name, n.position, n.media_type, n.task_id, n.is_text, n.bytes, decode(n.content, 'base64')
        FROM json_to_recordset(CAST(%(artifacts)s AS json)) AS n(
            run_id text, name text, position int, media_type text, task_id text, is_text bool, bytes int, content text)
        JOIN changed ON changed.id = n.run_id
    )
    SELECT array_agg(id) AS ids, pg_notify(%(channel)s, string_agg(id || ':' || last_seq, ' '))
    FROM changed HAVING count(*) > 0
"""

_NEWER = """
    SELECT runs.id, events.seq, events.type, events.at, events.task_id, events.attempt, events.data
    FROM unnest(CAST(%(ids)s AS text[]), CAST(%(epochs)s AS bigint[]), CAST(%(seqs)s AS bigint[]))
         AS known(id, epoch, seq)
    JOIN runs ON runs.id = known.id AND runs.owner = %(owner)s AND runs.owner_epoch = known.epoch
             AND runs.last_seq >= known.seq
    LEFT JOIN events ON events.run_id = runs.id AND events.seq > known.seq
    ORDER BY runs.id, events.seq
"""


async def commit(database: Database, owner: str, batches: Sequence[Batch]) -> set[str]:
    """Write the batches whose condition holds, and say of which runs. The others are left untouched."""
    begun = time.monotonic()
    try:
        async with database.driver() as connection:
            written = await write(connection, owner, batches)
    except (*TROUBLE, Unwritable):
        database.witness.heard_failed_commit()
        raise
    events = sum(len(batch.events) for batch in batches if batch.run.brief.run_id in written)
    database.witness.heard_commit(events, time.monotonic() - begun)
    return written


async def write(connection: ImpatientConnection, owner: str | None, batches: Sequence[Batch]) -> set[str]:
    """The same, as part of what goes on on a connection. Without an owner, of runs that nobody owns.

    Raises `Unwritable` when our own code cannot make rows of a batch.
    """
    try:
        values = _values_of(batches)
    except FAULTS as error:
        raise Unwritable from error
    rows = await connection.rows(_COMMIT, {**values, "owner": owner, "channel": EVENTS_CHANNEL})
    return {run_id for row in rows for run_id in row.ids}


def _values_of(batches: Sequence[Batch]) -> dict[str, str]:
    """The new rows of each table as JSON."""
    rows: dict[str, list[Any]] = {"runs": [], "events": [], "plans": [], "tasks": [], "attempts": [], "artifacts": []}
    for batch in batches:
        rows["runs"].append(run_row(batch.run, batch.now) | _guard(batch))
        rows["events"].extend(event_row(event) for event in batch.events)
        plans, tasks, attempts = changed_rows(batch.run, batch.events)
        rows["plans"].extend(plans)
        rows["tasks"].extend(tasks)
        rows["attempts"].extend(attempts)
        rows["artifacts"].extend(new_files(batch.run, batch.events))
    return {name: as_json(listed) for name, listed in rows.items()}


def _guard(batch: Batch) -> Row:
    """The condition under which a batch may be written, and what it does to a run beside its columns."""
    return {
        "epoch": batch.epoch,
        "expected_seq": batch.expected_seq,
        "clock": batch.now,
        "moved": any(event.type not in NO_PROGRESS for event in batch.events),
        "parks": any(event.type == "run.waiting" for event in batch.events),
        "wakes": batch.wakes and batch.run.waiting is not None,
    }


async def write_row(database: Database, run: Snapshot, *, owner: str, epoch: int) -> None:
    """Have the row of a run say what its log says, in case it does not."""
    assert run.finished_at is not None
    await commit(database, owner, [Batch(run, [], epoch, run.last_seq, run.finished_at)])


async def events_after(
    database: Database, owner: str, known: Mapping[str, tuple[int, int]]
) -> Mapping[str, list[Event]]:
    """Events newer than those `known` (epoch and last number by run id), of the runs that `owner` still owns.

    A run of which fewer are there is left out too: its database has gone back to an earlier state. Raises
    `RunUnreadable` for an event that this release does not know.
    """
    ids = list(known)
    values = {"ids": ids, "epochs": [known[i][0] for i in ids], "seqs": [known[i][1] for i in ids], "owner": owner}
    newer: dict[str, list[Event]] = defaultdict(list)
    async with database.driver() as connection:
        for row in await connection.rows(_NEWER, values):
            found = newer[row.id]
            if row.seq is not None:
                found.append(_read_event(row.id, row))
    return newer


def _read_event(run_id: str, row: Any) -> Event:
    try:
        return event_of(run_id, row)
    except FAULTS as error:
        raise RunUnreadable(run_id) from error


def event_of(run_id: str, row: Any) -> Event:
    """The event that a row of `events` holds."""
    return event_from(
        {
            "seq": row.seq,
            "type": row.type,
            "at": row.at,
            "run_id": run_id,
            "task_id": row.task_id,
            "attempt": row.attempt,
            "data": row.data,
        }
    )
