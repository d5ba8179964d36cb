"""Planning: the plan that the run comes with, or one that a rule or the supervisor makes."""

from collections.abc import Mapping
from datetime import datetime

from app.domain import events as ev
from app.domain.events import Entry
from app.domain.failures import codes_with
from app.domain.policy.agenda import PLANNING, step_in
from app.domain.policy.commands import Decision, DecisionBuilder, settled
from app.domain.policy.conditions import Conditions
from app.domain.policy.endings import MESSAGE_CHARACTERS, deadline_of, fail
from app.domain.policy.routing import plan_by_rule
from app.domain.protocol import GiveUp
from app.domain.snapshot import Snapshot
from app.domain.text import shorten

_ENDS: Mapping[str, str] = {
    "output_truncated": "plan_truncated",
    "model_refusal": "model_refusal",
    "request_rejected": "request_rejected",
    "context_exceeded": "request_rejected",
    "unexpected_stop_reason": "provider_unavailable",
    "max_steps": "provider_unavailable",
    "result_too_large": "plan_too_large",
    "internal_error": "internal_error",
    **dict.fromkeys(codes_with("again"), "provider_unavailable"),
}
"""Why a run fails when planning had to be given up. A plan that nobody has seen is not to blame; a conversation that
came to its last reply without a plan was broken off by the provider each time."""
_FLAWS_THAT_END = ("plan_unparseable", "plan_empty", "plan_too_large", "worker_unknown")
"""Flaws by which a run says why its plan was no good, the first of them first."""


def plan(run: Snapshot, now: datetime, conditions: Conditions) -> Decision:
    """Take the plan that the run comes with, or the one that a rule makes, or have one made."""
    if run.own_plan is not None:
        return settled([Entry(ev.PlanCreated.made_by(run.plan_source, run.own_plan))])
    if (by_rule := plan_by_rule(run)) is not None:
        return settled([Entry(ev.PlanCreated.made_by("rule", by_rule))])
    if run.conversation(PLANNING).unusable:
        message = "; ".join(flaw.detail for flaw in run.flaws) or "The plan could not be used."
        return _without_better(run, _reason_in_flaws(run), shorten(message, MESSAGE_CHARACTERS)[0])
    match step_in(run, PLANNING):
        case GiveUp(code, message):
            return _without_better(run, _ENDS.get(code, "plan_invalid"), message)
        case _:
            draft = DecisionBuilder(run, now, conditions, wakes=[deadline_of(run)])
            draft.converse(PLANNING)
            return draft.decision()


def _without_better(run: Snapshot, reason: str, message: str) -> Decision:
    """There will be no other plan. One that was merely found wanting is followed: code may be wrong about it."""
    if run.sound_plan is not None:
        return settled([Entry(ev.PlanCreated.made_by("supervisor", run.sound_plan))])
    return settled(fail(run, reason, message))


def _reason_in_flaws(run: Snapshot) -> str:
    codes = {flaw.code for flaw in run.flaws}
    return next((code for code in _FLAWS_THAT_END if code in codes), "plan_invalid")
