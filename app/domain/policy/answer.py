"""The last stage: from what the tasks delivered to the answer, or to the reason why there is none."""

from datetime import datetime

from app.domain.conversation import GiveUp
from app.domain.failures import remedy_for
from app.domain.policy.agenda import ANSWERING, step_in
from app.domain.policy.budget import in_words
from app.domain.policy.commands import Decision, DecisionBuilder, settled
from app.domain.policy.conditions import Conditions
from app.domain.policy.endings import MESSAGE_CHARACTERS, deadline_of, end_partially, fail
from app.domain.snapshot import Snapshot
from app.domain.text import shorten

TASKS_NAMED = 5
"""Tasks that the message of a failed run names."""


def wrap_up(run: Snapshot, now: datetime, conditions: Conditions) -> Decision:
    """Have the results reconciled; without any the run fails."""
    if not run.delivered and run.exhausted is not None:
        return settled(fail(run, "budget_exhausted", in_words(run.exhausted)))
    if not run.delivered:
        reason, message = _why_nothing(run)
        return settled(fail(run, reason, message))
    if run.conversation(ANSWERING).unusable or isinstance(step_in(run, ANSWERING), GiveUp):
        return settled([end_partially(run, "synthesis_failed")])
    draft = DecisionBuilder(run, now, conditions, wakes=[deadline_of(run)])
    draft.converse(ANSWERING)
    return draft.decision()


def _why_nothing(run: Snapshot) -> tuple[str, str]:
    failed = [(task.task.id, task.error) for task in run.tasks.values() if task.error and task.status == "failed"]
    first = failed[0][1].message if failed else ""
    if failed and all(error.code == "request_rejected" for _, error in failed):
        return "request_rejected", shorten(first, MESSAGE_CHARACTERS)[0]
    if failed and all(remedy_for(error.code) == "again" for _, error in failed):
        return "provider_unavailable", "Every task failed because the model provider could not be reached."
    ends = [f"{name} ended with {error.code}" for name, error in failed[:TASKS_NAMED]]
    if others := len(run.tasks) - len(ends):
        ends.append(f"{others} more did not deliver either")
    message = f"No task delivered a result: {', '.join(ends)}. {first}".strip()
    return "no_results", shorten(message, MESSAGE_CHARACTERS)[0]
