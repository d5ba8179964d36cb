"""How a run comes to be: the job, its first event and its place in line, in one transaction."""

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from decimal import Decimal
from typing import Self

import structlog

from app.domain import events as ev
from app.domain.admission import Note
from app.domain.brief import Brief
from app.domain.errors import IntakePaused
from app.domain.events import Entry, Event
from app.domain.fold import extend
from app.domain.job import Job, Limits
from app.domain.masking import masked
from app.domain.plan import Plan, PlanSource
from app.domain.quotas import UNBOUND, Quotas
from app.domain.schedules import ScheduledFor
from app.domain.snapshot import Snapshot
from app.domain.team import TeamRef
from app.store.acceptance_sql import ACCEPT
from app.store.admission import LOCK, Admitted, admit
from app.store.chronicle import tell, whose
from app.store.connections import ImpatientConnection
from app.store.database import Database
from app.store.idempotency import IdempotencyKey, run_under
from app.store.inheritance import Inheritance, Nesting
from app.store.projection import Row, as_json, plain, run_row
from app.store.teams import StoredTeam
from app.store.webhooks import OwnWebhook, columns_of

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Accepted:
    """What became of a POSTed job."""

    run_id: str
    row: Row | None = None
    """The run as it was stored, in the columns of its resource; None for one that was there already."""
    notes: tuple[Note, ...] = ()
    """How it stands with the limits of its tenant and key then."""

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
    quotas: Quotas = UNBOUND
    """What whoever sent it may use."""


@dataclass(frozen=True, slots=True)
class NewRun:
    """A job that was found fit to be executed."""

    run_id: str
    job: Job
    team: StoredTeam
    limits: Limits
    """As asked for: that of money is cut to what may be spent when the run is stored."""
    plan: Plan | None = None
    """The plan that it comes with, validated."""
    plan_source: PlanSource | None = None
    """Who has made that plan, if there is one."""
    origin: Origin = Origin()
    inherited: Inheritance | None = None
    """What it takes over from another run; then its job has no inputs of its own."""
    nested: Nesting | None = None
    """What it is part of, for one that does the work of another run's task."""
    schedule: ScheduledFor | None = None
    """Where it comes from, for one that no request brings."""
    webhook: OwnWebhook | None = None
    """The job's own, with its secret sealed: the job's stays out of all that is stored."""
    cost_asked: ev.CostAsked | None = None
    """What it might have cost, once that is cut."""

    def cut_to(self, cost_usd: Decimal | None) -> Self:
        """The run when it may cost so much, which tells what was asked for if that is less."""
        if cost_usd == self.limits.cost_usd:
            return self
        asked = self.cost_asked or ev.CostAsked(usd=self.limits.cost_usd)
        return replace(self, limits=self.limits.model_copy(update={"cost_usd": cost_usd}), cost_asked=asked)


async def accept(database: Database, tenant: str, new: NewRun, *, key: IdempotencyKey | None = None) -> Accepted:
    """Store the run, its first event and its queue entry in one statement, unless the key was used before.

    Where limits count runs or money it is a transaction, in which they are counted: the run may have to wait in the
    queue then, and its limit of money may be cut. Raises `JobRefused` (`idempotency_key_reused`) when the key was used
    with another body, `LimitReached`, and `IntakePaused`.
    """
    new = replace(new, job=masked(new.job, inputs=new.team.team.mask_inputs))
    if new.nested is None:
        new = new.cut_to(new.origin.quotas.within(new.limits).cost_usd)
    async with database.driver() as connection:
        # A nested run is a part of its parent, which was counted.
        if new.nested is None and new.origin.quotas.count:
            async with connection.transaction():
                stored = await _store_within_quotas(connection, tenant, new, key)
        else:
            stored = await _store(connection, tenant, new, key)
    if not isinstance(stored, _Stored):
        return Accepted(stored)
    team = f"{new.team.team.name}@{new.team.version}"
    log.info("run accepted", **whose(stored.run.brief), team=team, inputs=len(_inputs(new)), priority=new.job.priority)
    tell(database.witness, stored.run, stored.events)
    return Accepted(new.run_id, stored.row, stored.notes)


@dataclass(frozen=True, slots=True)
class _Stored:
    """A run that is there now."""

    run: Snapshot
    events: list[Event]
    row: Row
    notes: tuple[Note, ...] = ()


async def _store_within_quotas(
    connection: ImpatientConnection, tenant: str, new: NewRun, key: IdempotencyKey | None
) -> _Stored | str:
    """The same for one that counts, in a transaction. Raises `LimitReached`."""
    await connection.execute(LOCK, {"tenant": tenant})
    if key is not None and (before := await run_under(connection, tenant, key)):
        return before
    admitted = await admit(connection, tenant, new.origin.key, new.origin.quotas, new.limits.cost_usd)
    stored = await _store(connection, tenant, new.cut_to(admitted.admission.cost_usd), key, admitted)
    return replace(stored, notes=admitted.notes) if isinstance(stored, _Stored) else stored


async def _store(
    connection: ImpatientConnection,
    tenant: str,
    new: NewRun,
    key: IdempotencyKey | None,
    admitted: Admitted | None = None,
) -> _Stored | str:
    """Store a run; the id of the one that is there already, where there is."""
    queued = _queued(new)
    told = [Entry(queued), *([Entry(new.inherited.reused)] if new.inherited else [])]
    run, events = extend(Snapshot(_brief(tenant, new)), told, datetime.now(UTC))
    row = _row(new, run, events[0].at)
    values = _values_of(tenant, new, queued, row, key) | _counted(new, admitted)
    (accepted,) = await connection.rows(ACCEPT, values)
    if accepted.stored:
        return _Stored(run, events, row)
    # Somebody else has used the key while we were at it, or has begun the run; or no jobs are taken in.
    if key is not None and (before := await run_under(connection, tenant, key)):
        return before
    if not accepted.may:
        raise IntakePaused
    return new.run_id


def _counted(new: NewRun, admitted: Admitted | None) -> Row:
    """What `ACCEPT` stores of a run for those who count."""
    return {
        "held": admitted is not None and admitted.admission.held,
        "spend_day": admitted and admitted.spend_day,
        "may_spend": new.limits.cost_usd,
    }


def _inputs(new: NewRun) -> tuple[ev.InputListed, ...]:
    if (taken_over := new.inherited or new.nested) is not None:
        return taken_over.inputs
    return tuple(
        ev.InputListed(name=item.name, media_type=item.media_type, characters=len(item.content))
        for item in new.job.inputs
    )


def _brief(tenant: str, new: NewRun) -> Brief:
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
        tenant=tenant,
        traceparent=new.origin.traceparent,
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
        cost_asked=new.cost_asked,
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
        "schedule": new.schedule,
        "created_at": at,
    }
    return plain(run_row(run, at) | job)


def _values_of(tenant: str, new: NewRun, queued: ev.RunQueued, row: Row, key: IdempotencyKey | None) -> Row:
    """What `ACCEPT` stores.

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
        "schedule": as_json(row["schedule"]) if row["schedule"] else None,
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
    async with database.driver() as connection:
        before = await run_under(connection, tenant, key)
    return Accepted(before) if before else None
