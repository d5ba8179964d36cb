"""`decide`: what should be under way in a run now, and what has been settled.

It looks at the state, the time and what is known of the world, and says the whole of what should be going on. The
engine starts what is missing and stops what is no longer wanted. A new run, a running one and one whose process has
died are therefore the same to it. Here is the order of precedence; each stage has a file of its own.
"""

from dataclasses import replace
from datetime import datetime

from app.domain.events import RUN_ENDS
from app.domain.policy.answer import is_final, wrap_up
from app.domain.policy.approval import await_approval, why_rejected
from app.domain.policy.budget import end_work, overspent
from app.domain.policy.children import stop_children_first, waits_to_cancel
from app.domain.policy.commands import Decision, openings_by, settled
from app.domain.policy.conditions import UNKNOWN, Conditions
from app.domain.policy.endings import (
    cancel,
    deliver,
    end_planned,
    ends_unanswered,
    fail,
    run_out,
    stop_attempts,
    time_out,
)
from app.domain.policy.planning import plan
from app.domain.policy.resolution import untold_at_end
from app.domain.policy.tasks import execute
from app.domain.snapshot import Snapshot


def decide(run: Snapshot, now: datetime, conditions: Conditions = UNKNOWN) -> Decision:
    """What should be going on in a run. Deterministic; empty for a run that has ended, not started, or waits."""
    decision = _decide(run, now, conditions)
    if not run.cancel_requested and any(entry.fact.type in RUN_ENDS for entry in decision.entries):
        decision = _with_conflicts(decision, run, now)
        decision = stop_children_first(run, decision.entries, now) or decision
    stops = [stop for task in run.tasks.values() if task.ended for stop in stop_attempts(task)]
    left = [stop for stop in stops if stop not in decision.entries]
    return replace(decision, entries=(*left, *decision.entries)) if left else decision


def _with_conflicts(decision: Decision, run: Snapshot, now: datetime) -> Decision:
    """A decision that ends a run. It tells before that which of the team's methods its conflicts went without."""
    if run.synthesis is None:
        return decision
    untold = [each for each in untold_at_end(run, _why_untried(run, now)) if each not in decision.entries]
    return replace(decision, entries=(*untold, *decision.entries)) if untold else decision


def _why_untried(run: Snapshot, now: datetime) -> str:
    if run.exhausted is not None or overspent(run) is not None:
        return "budget_exceeded"
    if run.fatal is not None:
        return run.fatal.code
    return "deadline_exceeded" if run.wrap_up_at is not None and now >= run.wrap_up_at else "synthesis_failed"


def ends_now(run: Snapshot) -> bool:
    """Whether somebody has said that the run is to end: it does whatever else is known, and nobody need execute it."""
    return (run.cancel_requested and not run.open_children) or why_rejected(run) is not None


def _decide(run: Snapshot, now: datetime, conditions: Conditions) -> Decision:
    if run.ended:
        return Decision()
    if run.cancel_requested:
        return waits_to_cancel(run, now) or settled(cancel(run, now))
    if (rejected := why_rejected(run)) is not None:
        return settled(fail(run, "plan_rejected", rejected))
    if run.deadline is None or run.status == "waiting":
        return Decision()
    if is_final(run, now):
        return settled(deliver(run))
    if (unanswered := ends_unanswered(run)) is not None:
        return settled(fail(run, "question_expired", unanswered))
    if run.plan is not None and run.brief.is_dry:
        return settled([end_planned(run)])
    if run.fatal:
        return settled([*openings_by(run, run.fatal.code, conditions), *fail(run, run.fatal.code, run.fatal.message)])
    if now >= run.deadline:
        return settled(time_out(run))
    if run.exhausted is not None and (ends := end_work(run, run.exhausted)):
        return settled(ends)
    if spent := overspent(run):
        return settled(run_out(run, "budget_exhausted", spent))
    if run.plan is None:
        return plan(run, now, conditions)
    if (waits := await_approval(run, now, conditions)) is not None:
        return waits
    if run.phase in ("synthesizing", "reviewing"):
        return wrap_up(run, now, conditions)
    return execute(run, now, conditions)
