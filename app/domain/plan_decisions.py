"""What clients decide about a plan that waits for approval: approve it, reject it, or edit it first."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from app.domain import events as ev
from app.domain.approvals import Decided, EditInvalid, NotWaiting, PlanChanged, Revisions
from app.domain.attribution import attributed
from app.domain.events import Entry
from app.domain.lint import linted
from app.domain.plan import Plan, validated
from app.domain.plan_strategy import strategy_faults
from app.domain.quoting import quoted
from app.domain.snapshot import Snapshot

EDITABLE = ("goal", "strategy", "final_instruction", "tasks")
"""The fields of a plan that an edit may change."""
_EDITED = "A client has edited it."


def approve(run: Snapshot, meant: Revisions, now: datetime) -> list[Entry]:
    """A client's approval of the plan. Raises `ApprovalRefused`."""
    return [Entry(ev.PlanApproved(revision=_open_plan(run, meant, now).revision))]


def reject(run: Snapshot, meant: Revisions, now: datetime, reason: str | None) -> list[Entry]:
    """A client's rejection of the plan. Raises `ApprovalRefused`."""
    return [Entry(ev.PlanRejected(revision=_open_plan(run, meant, now).revision, reason=reason))]


def edit(run: Snapshot, meant: Revisions, now: datetime, changes: Mapping[str, Any], reason: str | None) -> list[Entry]:
    """A client's edit of the plan, which goes on waiting; nothing when it changes nothing. Raises `ApprovalRefused`.

    `changes` are the fields that get other values, of those that are `EDITABLE`.
    """
    plan = _open_plan(run, meant, now)
    wanted = plan.model_copy(update={**changes, "revision": plan.revision + 1})
    crew = run.brief.crew
    edited = attributed(linted(validated(wanted, [*crew.workers], crew.limits.tasks), crew), plan)
    if faults := [*strategy_faults(wanted, crew), *edited.validation.errors]:
        raise EditInvalid(faults)
    if all(getattr(edited, name) == getattr(plan, name) for name in EDITABLE):
        return []
    return [Entry(quoted(run, ev.PlanEdited.from_to(plan, edited, reason or _EDITED), run.planned_at or now))]


def _open_plan(run: Snapshot, meant: Revisions, now: datetime) -> Plan:
    """The plan that waits for approval, in a revision that is `meant`. Raises `ApprovalRefused`.

    That the time is up counts before anybody has recorded it.
    """
    if run.plan is None or run.approval is None or run.cancel_requested:
        raise NotWaiting
    if run.approval.by is not None:
        raise Decided(run.approval.status, run.approval.by)
    if now >= run.approval.expires_at:
        raise Decided("approved" if run.approval.default == "approve" else "rejected", "default")
    if meant is not None and run.plan.revision not in meant:
        raise PlanChanged(run.plan.revision)
    return run.plan
