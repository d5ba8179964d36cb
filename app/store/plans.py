"""The plan of a run: its revisions, and what clients decide about one that waits for approval."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

from sqlalchemy import text

from app.domain.approvals import Decided, Revisions
from app.domain.events import Entry
from app.domain.plan import Plan
from app.domain.plan_decisions import approve, edit, reject
from app.domain.plan_difference import Difference, difference
from app.domain.quote import Grounds
from app.domain.snapshot import Snapshot
from app.domain.values import changed
from app.store.database import Database
from app.store.interventions import intervene
from app.store.queue import RunQueue

_REVISIONS = text(
    """
    SELECT plans.plan, plans.created_at, told.reason, told.type AS made_by, told.source, queued.own,
           EXISTS (SELECT FROM events WHERE run_id = runs.id AND type = 'llm.completed' AND seq < told.seq) AS asked
    FROM runs
    JOIN plans ON plans.run_id = runs.id
    JOIN LATERAL (
        SELECT seq, type, data->>'reason' AS reason, data->>'source' AS source FROM events
        WHERE run_id = runs.id AND type IN ('plan.created', 'plan.revised', 'plan.edited')
          AND CAST(data->>'revision' AS int) = plans.revision
    ) AS told ON true
    JOIN LATERAL (
        SELECT data->>'plan' IS NOT NULL AS own FROM events WHERE run_id = runs.id AND seq = 1
    ) AS queued ON true
    WHERE runs.id = :id AND runs.tenant = :tenant ORDER BY plans.revision
    """
)
_DECISION = text(
    """
    SELECT events.type, events.data->>'by' AS by FROM events JOIN runs ON runs.id = events.run_id
    WHERE runs.id = :id AND runs.tenant = :tenant AND events.type IN ('plan.approved', 'plan.rejected')
    """
)
_MADE_BY: Mapping[str, str] = {
    "client": "The job brought it.",
    "supervisor": "The supervisor made it.",
    "rule": "A rule of the team made it.",
    "template": "The template of the team made it.",
    "run": "It is that of the run which this one comes from.",
}


@dataclass(frozen=True, slots=True)
class PlanRevision:
    """One revision of a plan."""

    plan: Plan
    made_at: datetime
    reason: str
    """Why there is this revision."""
    difference: Difference | None
    """To the one before; None for the first."""


@dataclass(frozen=True, slots=True)
class Addressed:
    """The run that a client means, and the revisions of its plan."""

    tenant: str
    run_id: str
    revisions: Revisions = None


@dataclass(frozen=True, slots=True)
class Pricing:
    """What the quote of an edited plan rests on."""

    grounds: Grounds
    models: Mapping[str, str]
    """Model ids by tier."""


async def revisions_of(database: Database, tenant: str, run_id: str) -> Sequence[PlanRevision]:
    """Every revision of the plan of a run, oldest first; none while it has no plan, or when there is no such run."""
    async with database.reading() as connection:
        rows = (await connection.execute(_REVISIONS, {"id": run_id, "tenant": tenant})).all()
    plans = [Plan.model_validate(row.plan) for row in rows]
    differences = [None, *(difference(before, after) for before, after in pairwise(plans))]
    return [
        PlanRevision(plan, row.created_at, _reason(row), differs)
        for plan, row, differs in zip(plans, rows, differences, strict=False)
    ]


def _reason(row: Any) -> str:
    if row.made_by != "plan.created":
        return str(row.reason)
    in_earlier_releases = "client" if row.own else "supervisor" if row.asked else "rule"
    return _MADE_BY.get(row.source or in_earlier_releases, str(row.source))


async def approve_plan(database: Database, queue: RunQueue, about: Addressed) -> bool | None:
    """Approve the plan of a run, which then goes on; False when it has ended, None when there is no such run.

    Raises `ApprovalRefused`, `RunUnreadable`.
    """
    return await _decide(database, queue, about, lambda run, now: approve(run, about.revisions, now))


async def reject_plan(database: Database, queue: RunQueue, about: Addressed, *, reason: str | None) -> bool | None:
    """Reject the plan of a run, which then fails; False and None as above.

    Raises `ApprovalRefused`, `RunUnreadable`.
    """
    return await _decide(database, queue, about, lambda run, now: reject(run, about.revisions, now, reason))


async def edit_plan(
    database: Database,
    queue: RunQueue,
    about: Addressed,
    changes: Mapping[str, Any],
    *,
    reason: str | None,
    pricing: Pricing | None,
) -> bool | None:
    """Change the plan of a run, which goes on waiting; False and None as above. Raises `ApprovalRefused`,
    `RunUnreadable`.
    """

    def edited(run: Snapshot, now: datetime) -> Sequence[Entry]:
        if pricing is not None:
            run = changed(run, brief=changed(run.brief, grounds=pricing.grounds, models=pricing.models))
        return edit(run, about.revisions, now, changes, reason)

    return await _decide(database, queue, about, edited)


async def _decide(
    database: Database,
    queue: RunQueue,
    about: Addressed,
    decision: Callable[[Snapshot, datetime], Sequence[Entry]],
) -> bool | None:
    taken = await intervene(database, queue, about.tenant, about.run_id, lambda run: decision(run, datetime.now(UTC)))
    if taken is False:
        await _check_undecided(database, about)
    return taken


async def _check_undecided(database: Database, about: Addressed) -> None:
    """Raise `Decided` when the plan of a run that has ended was decided on before."""
    async with database.reading() as connection:
        row = (await connection.execute(_DECISION, {"id": about.run_id, "tenant": about.tenant})).one_or_none()
    if row is not None:
        raise Decided("approved" if row.type == "plan.approved" else "rejected", row.by)
