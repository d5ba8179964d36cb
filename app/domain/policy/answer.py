"""The last stage: from what the tasks delivered to the answer, or to the reason why there is none."""

from datetime import datetime

from app.domain import events as ev
from app.domain.failures import remedy_for
from app.domain.policy.agenda import ANSWERING, step_in
from app.domain.policy.budget import in_words, overspent, spent_problem
from app.domain.policy.commands import Decision, DecisionBuilder, settled
from app.domain.policy.conditions import Conditions
from app.domain.policy.conflicts import asks_people, open_questions, questions_to_ask
from app.domain.policy.endings import (
    MESSAGE_CHARACTERS,
    WITHOUT_IT,
    deadline_of,
    end_partially,
    ends_unanswered,
    fail,
    stop_tasks,
)
from app.domain.policy.tasks import NO_TIME, carry_on
from app.domain.protocol import GiveUp
from app.domain.snapshot import Snapshot
from app.domain.text import shorten

TASKS_NAMED = 5
"""Tasks that the message of a failed run names."""


def is_final(run: Snapshot, now: datetime) -> bool:
    """Whether the answer there is goes out: nothing has come since, or what has cannot be put into another one.

    Another one is tried within the time for work; the last part of the run's time is never spent on it.
    """
    if run.synthesis is None or run.wrap_up_at is None or ends_unanswered(run) is not None:
        return False
    out_of_reach = run.exhausted is not None or run.fatal is not None or overspent(run) is not None
    return not (run.lacking or asks_people(run)) or now >= run.wrap_up_at or out_of_reach or _is_in_vain(run)


def _is_in_vain(run: Snapshot) -> bool:
    """Whether no answer can be had any more."""
    return run.conversation(ANSWERING).unusable or isinstance(step_in(run, ANSWERING), GiveUp)


def wrap_up(run: Snapshot, now: datetime, conditions: Conditions) -> Decision:
    """Have the results reconciled, while dropped tasks go on; without any result the run fails."""
    if not run.delivered and run.exhausted is not None:
        return settled(fail(run, "budget_exhausted", in_words(run.exhausted)))
    if not run.delivered:
        reason, message = _why_nothing(run)
        return settled(fail(run, reason, message))
    if _is_in_vain(run):
        return settled(end_partially(run, "synthesis_failed", WITHOUT_IT))
    draft = DecisionBuilder(run, now, conditions, wakes=[deadline_of(run)])
    if not run.wants_answer:
        _settle_conflicts(run, now, draft)
        return draft.decision()
    if any(task.dropped for task in run.tasks.values()):
        _go_on_with_dropped(run, now, draft)
    draft.converse(ANSWERING)
    return draft.decision()


def _settle_conflicts(run: Snapshot, now: datetime, draft: DecisionBuilder) -> None:
    """Ask people about conflicts that the answer leaves open, and wait for what they say."""
    assert run.wrap_up_at is not None
    draft.wakes.append(run.wrap_up_at)
    draft.entries += questions_to_ask(run, now)
    for question in open_questions(run):
        if now >= question.expires_at:
            draft.settle(ev.QuestionExpired(id=question.id))
        else:
            draft.wait("answer", question.expires_at)


def _go_on_with_dropped(run: Snapshot, now: datetime, draft: DecisionBuilder) -> None:
    """Go on with dropped tasks for as long as other work would go on too."""
    assert run.wrap_up_at is not None
    draft.wakes.append(run.wrap_up_at)
    if run.exhausted is not None:
        draft.entries += stop_tasks(run, spent_problem(run.exhausted))
    elif now >= run.wrap_up_at:
        draft.entries += stop_tasks(run, NO_TIME)
    else:
        carry_on(run, now, draft)


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
