"""Approval of plans: which are to be approved, and the wait for it."""

from datetime import datetime

from app.domain import events as ev
from app.domain.approvals import ApprovalCause
from app.domain.events import Entry
from app.domain.policy.commands import Decision, DecisionBuilder, settled
from app.domain.policy.conditions import Conditions
from app.domain.policy.endings import MESSAGE_CHARACTERS, deadline_of
from app.domain.questions import expiry
from app.domain.snapshot import Snapshot
from app.domain.text import shorten


def cause_of_approval(run: Snapshot) -> ApprovalCause | None:
    """Why the plan is to be approved before it is carried out; None when nobody wants that.

    What a team wants holds whatever its job says. A cost that is not known may be above any bound.
    """
    rules = run.brief.team.approval
    if run.brief.wants_approval:
        return "job"
    if rules.required:
        return "team"
    if rules.above_cost_usd is None:
        return None
    cost = run.quote.cost_usd if run.quote else None
    return "cost" if cost is None or cost.likely > rules.above_cost_usd else None


def await_approval(run: Snapshot, now: datetime, conditions: Conditions) -> Decision | None:
    """Have the plan approved, where that is wanted, before anything of it begins; None once it may be carried out.

    What comes into the plan later, such as the parts of a task that was split, needs no approval of its own.
    """
    assert run.plan is not None
    approval = run.approval
    if approval is None:
        is_done = all(task.ended for task in run.tasks.values())  # As of a run that makes but its answer anew.
        cause = None if is_done else cause_of_approval(run)
        return settled([Entry(_request(run, cause, now))]) if cause is not None else None
    if not approval.is_open:
        return None
    if now >= approval.expires_at:
        return settled([_by_default(run)])
    draft = DecisionBuilder(run, now, conditions, wakes=[deadline_of(run)])
    draft.wait("plan_approval", approval.expires_at)
    return draft.decision()


def _request(run: Snapshot, cause: ApprovalCause, now: datetime) -> ev.PlanApprovalRequested:
    assert run.plan is not None
    assert run.wrap_up_at is not None
    rules = run.brief.team.approval
    return ev.PlanApprovalRequested(
        revision=run.plan.revision,
        cause=cause,
        expires_at=expiry(now, rules.timeout_s, run.wrap_up_at),
        default=rules.default,
    )


def _by_default(run: Snapshot) -> Entry:
    assert run.plan is not None
    assert run.approval is not None
    if run.approval.default == "approve":
        return Entry(ev.PlanApproved(revision=run.plan.revision, by="default"))
    return Entry(ev.PlanRejected(revision=run.plan.revision, by="default"))


def why_rejected(run: Snapshot) -> str | None:
    """Why a run is to fail since its plan was rejected, in words; None when it was not."""
    approval = run.approval
    if approval is None or approval.status != "rejected":
        return None
    if approval.by == "default":
        return "Nobody has approved the plan in time."
    said = f"The plan was rejected: {approval.reason}" if approval.reason else "The plan was rejected."
    return shorten(said, MESSAGE_CHARACTERS)[0]
