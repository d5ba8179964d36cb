"""How a run comes to be: the job, its first event and its place in line, in one transaction."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime

import structlog
from sqlalchemy import text

from app.domain import events as ev
from app.domain.brief import Brief
from app.domain.errors import IntakePaused, JobRefused
from app.domain.events import Entry
from app.domain.fold import extend
from app.domain.job import Job, Limits
from app.domain.masking import masked
from app.domain.nested import Parent
from app.domain.origin import RunOrigin
from app.domain.plan import Plan, PlanSource
from app.domain.snapshot import Snapshot
from app.domain.team import TeamRef
from app.store.chronicle import tell
from app.store.database import Database
from app.store.intake import IS_OPEN
from app.store.projection import Row, as_json, plain, run_row
from app.store.queue import NEW_ENTRY
from app.store.teams import StoredTeam
from app.store.webhooks import OwnWebhook, columns_of

log = structlog.get_logger(__name__)

_ACCEPT = f"""
    WITH intake AS (
        SELECT CAST(%(parent)s AS json) IS NOT NULL OR {IS_OPEN} AS may  -- What is under way goes on.
    ), key AS (
        INSERT INTO idempotency_keys (tenant, key, request, digest, run_id)
        SELECT %(tenant)s, %(key)s, %(request)s, %(digest)s, %(id)s FROM intake
        WHERE CAST(%(key)s AS text) IS NOT NULL AND may
        ON CONFLICT DO NOTHING RETURNING run_id
    ), run AS (
        INSERT INTO runs (id, tenant, status, objective, team_name, team_version, priority, turn, metadata, limits,
                          progress, usage, timing, origin, parent, reports_to, last_seq, created_at, key_id)
        SELECT %(id)s, %(tenant)s, 'queued', %(objective)s, %(team_name)s, %(team_version)s, %(priority)s,
               coalesce(
                   (SELECT turn FROM runs WHERE id = CAST(%(parent)s AS json) ->> 'run'),
                   greatest((SELECT min(turn) FROM runs WHERE status = 'queued' AND priority = %(priority)s),
                            (SELECT max(turn) + 1 FROM runs
                             WHERE status = 'queued' AND priority = %(priority)s AND tenant = %(tenant)s), 0)),
               CAST(%(metadata)s AS json), CAST(%(limits)s AS json), CAST(%(progress)s AS json),
               CAST(%(usage)s AS json), CAST(%(timing)s AS json), CAST(%(origin)s AS json),
               CAST(%(parent)s AS json), CAST(%(parent)s AS json) ->> 'run', %(last_seq)s, %(at)s,
               coalesce(%(key_id)s, (SELECT key_id FROM runs WHERE id = CAST(%(parent)s AS json) ->> 'run'))
        WHERE (CAST(%(key)s AS text) IS NULL OR EXISTS (SELECT FROM key)) AND (SELECT may FROM intake)
        ON CONFLICT (id) DO NOTHING  -- A nested run has but one id, however often it is begun.
        RETURNING id, priority, turn
    ), event AS (
        INSERT INTO events (run_id, seq, type, at, data)
        SELECT id, 1, 'run.queued', %(at)s, CAST(%(queued)s AS json) FROM run
    ), reused AS (
        INSERT INTO events (run_id, seq, type, at, data)
        SELECT id, 2, 'results.reused', %(at)s, CAST(%(reused)s AS json) FROM run
        WHERE CAST(%(reused)s AS text) IS NOT NULL
    ), copied AS (
        -- Each run has its own, for each is deleted at its own time.
        INSERT INTO run_inputs (run_id, position, name, media_type, content)
        SELECT run.id, source.position, source.name, source.media_type, source.content
        FROM run JOIN run_inputs AS source ON source.run_id = CAST(%(source)s AS text)
    ), inputs AS (
        INSERT INTO run_inputs (run_id, position, name, media_type, content)
        SELECT run.id, n.position - 1, n.name, n.media_type, n.content
        FROM run, unnest(CAST(%(names)s AS text[]), CAST(%(media_types)s AS text[]), CAST(%(contents)b AS text[]))
                  WITH ORDINALITY AS n(name, media_type, content, position)
    ), webhook AS (
        INSERT INTO webhook_endpoints (id, tenant, run_id, url, types, secret)
        SELECT %(endpoint)s, %(tenant)s, id, %(url)s, CAST(%(news)s AS text[]), %(secret)s FROM run
        WHERE CAST(%(url)s AS text) IS NOT NULL
    )
    SELECT {NEW_ENTRY} FROM run
"""
_KEY = text("SELECT run_id, digest FROM idempotency_keys WHERE tenant = :tenant AND key = :key AND request = :request")


@dataclass(frozen=True, slots=True)
class IdempotencyKey:
    """A client's word that a repetition of the same request is meant to be the same job."""

    key: str
    request: str
    """Method and path."""
    digest: str
    """SHA-256 of the canonical body."""


@dataclass(frozen=True, slots=True)
class Accepted:
    """What became of a POSTed job."""

    run_id: str
    row: Row | None = None
    """The run as it was stored, in the columns of its resource; None for one that was there already."""

    @property
    def replayed(self) -> bool:
        """Whether the run was there already, under the same idempotency key."""
        return self.row is None


@dataclass(frozen=True, slots=True)
class Origin:
    """The request that brought a job."""

    request_id: str | None = None
    traceparent: str | None = None
    key: str | None = None
    """Id of the key of the API that it came with."""


@dataclass(frozen=True, slots=True)
class Inheritance:
    """What a run takes over from another one."""

    origin: RunOrigin
    reused: ev.ResultsReused
    models: Mapping[str, str]
    """Models that differ from the team's, by worker."""
    inputs: tuple[ev.InputListed, ...]
    """Those of the other run; they are copied."""


@dataclass(frozen=True, slots=True)
class Nesting:
    """What a run is part of that does the work of another one's task."""

    parent: Parent
    ends_by: datetime
    inputs: tuple[ev.InputListed, ...]
    """Those of its parent; they are copied."""


@dataclass(frozen=True, slots=True)
class NewRun:
    """A job that was found fit to be executed."""

    run_id: str
    job: Job
    team: StoredTeam
    limits: Limits
    """As applied."""
    plan: Plan | None = None
    """The plan that it comes with, validated."""
    plan_source: PlanSource | None = None
    """Who has made that plan, if there is one."""
    origin: Origin = Origin()
    inherited: Inheritance | None = None
    """What it takes over from another run; then its job has no inputs of its own."""
    nested: Nesting | None = None
    """What it is part of, for one that does the work of another run's task."""
    webhook: OwnWebhook | None = None
    """The job's own, with its secret sealed: the job's stays out of all that is stored."""


async def accept(database: Database, tenant: str, new: NewRun, *, key: IdempotencyKey | None = None) -> Accepted:
    """Store the run, its first event and its queue entry in one statement, unless the key was used before.

    Raises `JobRefused` (`idempotency_key_reused`) when the key was used with another body, `IntakePaused` while no jobs
    of the tenant are taken in, but for nested runs.
    """
    new = replace(new, job=masked(new.job, inputs=new.team.team.mask_inputs))
    queued = _queued(new)
    told = [Entry(queued), *([Entry(new.inherited.reused)] if new.inherited else [])]
    run, events = extend(Snapshot(_brief(new)), told, datetime.now(UTC))
    row = _row(new, run, events[0].at)
    async with database.driver() as connection:
        stored = await connection.rows(_ACCEPT, _values_of(tenant, new, queued, row, key))
    if not stored and new.nested is not None:
        return Accepted(new.run_id)
    if not stored:  # Somebody else has used the key while we were at it, or no jobs are taken in.
        found = await accepted_before(database, tenant, key) if key else None
        if found is None:
            raise IntakePaused
        return found
    team = f"{new.team.team.name}@{new.team.version}"
    log.info("run accepted", run_id=new.run_id, team=team, inputs=len(_inputs(new)), priority=new.job.priority)
    tell(database.witness, run, events)
    return Accepted(new.run_id, row)


def _inputs(new: NewRun) -> tuple[ev.InputListed, ...]:
    if (taken_over := new.inherited or new.nested) is not None:
        return taken_over.inputs
    return tuple(
        ev.InputListed(name=item.name, media_type=item.media_type, characters=len(item.content))
        for item in new.job.inputs
    )


def _brief(new: NewRun) -> Brief:
    job = new.job
    return Brief(
        new.run_id,
        job.objective,
        new.team.team.at_depth(new.limits.depth),
        new.limits,
        _inputs(new),
        own_schema=job.output_schema,
        rubric=job.rubric,
        own_strategy=job.strategy,
        ends_by=new.nested.ends_by if new.nested else None,
    )


def _queued(new: NewRun) -> ev.RunQueued:
    """The run's first fact: the job as the run will do it."""
    return ev.RunQueued(
        objective=new.job.objective,
        team=TeamRef(name=new.team.team.name, version=new.team.version),
        limits=new.limits,
        inputs=_inputs(new),
        plan=new.plan,
        plan_source=new.plan_source if new.plan else None,
        planning=new.job.planning,
        on_question=new.job.on_question,
        output_schema=new.job.output_schema,
        rubric=new.job.rubric,
        strategy=new.job.strategy,
        origin=new.inherited.origin if new.inherited else None,
        models=dict(new.inherited.models) if new.inherited else {},
        parent=new.nested.parent if new.nested else None,
        ends_by=new.nested.ends_by if new.nested else None,
        request_id=new.origin.request_id,
        traceparent=new.origin.traceparent,
    )


def _row(new: NewRun, run: Snapshot, at: datetime) -> Row:
    """The run's row as `find_run` will read it."""
    job = {
        "objective": new.job.objective,
        "team_name": new.team.team.name,
        "team_version": new.team.version,
        "metadata": new.job.metadata,
        "limits": new.limits,
        "origin": new.inherited.origin if new.inherited else None,
        "parent": new.nested.parent if new.nested else None,
        "created_at": at,
    }
    return plain(run_row(run, at) | job)


def _values_of(tenant: str, new: NewRun, queued: ev.RunQueued, row: Row, key: IdempotencyKey | None) -> Row:
    """What `_ACCEPT` stores.

    A tenant's runs stand one behind the other, side by side with those of other tenants. Each priority has a line of
    its own. A turn is never before that of the run which waits longest, so a new tenant overtakes nobody who was there
    first by more than one run (start-time fair queueing, Goyal, Vin and Cheng 1996).
    """
    inputs = new.job.inputs
    return {
        "id": new.run_id,
        "tenant": tenant,
        "priority": new.job.priority,
        **{name: row[name] for name in ("objective", "team_name", "team_version")},
        **{name: as_json(row[name]) for name in ("metadata", "limits", "progress", "usage", "timing")},
        "at": row["created_at"],
        "last_seq": row["last_seq"],
        "queued": as_json(queued),
        "origin": as_json(row["origin"]) if row["origin"] else None,
        "reused": as_json(new.inherited.reused) if new.inherited else None,
        "parent": as_json(row["parent"]) if row["parent"] else None,
        "source": _source(new),
        "names": [item.name for item in inputs],
        "media_types": [item.media_type for item in inputs],
        "contents": [item.content for item in inputs],
        "key_id": new.origin.key,
        **columns_of(new.webhook),
        "key": key and key.key,
        "request": key and key.request,
        "digest": key and key.digest,
    }


def _source(new: NewRun) -> str | None:
    """The run whose inputs are copied."""
    if new.nested is not None:
        return new.nested.parent.run
    return new.inherited.origin.run if new.inherited else None


async def accepted_before(database: Database, tenant: str, key: IdempotencyKey) -> Accepted | None:
    """The run that an earlier request under the key has made. Raises `JobRefused` when that had another body."""
    async with database.transaction() as connection:
        found = await connection.execute(_KEY, {"tenant": tenant, "key": key.key, "request": key.request})
        row = found.one_or_none()
    if row is None:
        return None
    if row.digest != key.digest:
        raise JobRefused("idempotency_key_reused", "This Idempotency-Key was used before with a different body.")
    return Accepted(row.run_id)
