"""The last stage: from what the tasks delivered to the answer, or to the reason why there is none."""

from datetime import datetime

from app.domain import events as ev
from app.domain.events import Entry
from app.domain.failures import remedy_for
from app.domain.policy.agenda import ANSWERING, REVIEWING, SELECTING, step_in
from app.domain.policy.budget import in_words, overspent, spent_problem
from app.domain.policy.commands import Decision, DecisionBuilder, settled
from app.domain.policy.conditions import Conditions
from app.domain.policy.conflicts import asks_people
from app.domain.policy.endings import (
    MESSAGE_CHARACTERS,
    WITHOUT_IT,
    deadline_of,
    end_partially,
    ends_unanswered,
    fail,
    stop_tasks,
)
from app.domain.policy.reducing import reduce_first
from app.domain.policy.resolution import is_resolving, next_method, open_ties
from app.domain.policy.selecting import why_unchosen
from app.domain.policy.settling import ask_people, resolve_conflicts
from app.domain.policy.sift import sift_first
from app.domain.policy.tasks import NO_TIME, carry_on
from app.domain.protocol import GiveUp
from app.domain.selecting import leaves_of
from app.domain.snapshot import Snapshot
from app.domain.text import shorten
from app.domain.topics import Topic

TASKS_NAMED = 5
"""Tasks that the message of a failed run names."""
OTHER_RESULTS = "What other tasks delivered can be put together: resynthesize with the strategy merge. "
"""What can be done about a run whose candidates have all failed."""


def is_final(run: Snapshot, now: datetime) -> bool:
    """Whether the answer there is goes out: nothing is left that would make another one of it, or that cannot be had.

    For stragglers that have landed, and what people say, another one is tried within the time for work; the last part
    of the run's time is never spent on it. It is for what a further round of work has brought, for the critic, and for
    what a judge of conflicts has said.
    """
    if run.wrap_up_at is None or not run.has_answer or ends_unanswered(run) is not None:
        return False
    if run.fatal is not None:
        return True
    if any(task.is_awaited for task in run.tasks.values()):
        return False
    if run.exhausted is not None or overspent(run) is not None:
        return True
    if is_resolving(run):
        return False
    if run.phase == "reviewing" and not asks_people(run):
        return _is_in_vain(run, REVIEWING)
    if not (run.wants_answer or asks_people(run)):
        return True
    has_more = any(not run.tasks[name].dropped for name in run.lacking)
    must_wait = run.is_refused or run.answering.is_overruled or has_more
    if run.wants_choice and why_unchosen(run, now) is not None:
        return True
    return (now >= run.wrap_up_at and not must_wait) or _is_in_vain(run, ANSWERING)


def _is_in_vain(run: Snapshot, topic: Topic) -> bool:
    """Whether a conversation cannot come to anything any more."""
    return run.conversation(topic).unusable or isinstance(step_in(run, topic), GiveUp)


def wrap_up(run: Snapshot, now: datetime, conditions: Conditions) -> Decision:
    """Have the results reconciled, while dropped tasks go on, and the answer reviewed; a run without results fails."""
    if _has_nothing(run) and run.exhausted is not None:
        return settled(fail(run, "budget_exhausted", in_words(run.exhausted)))
    if _has_nothing(run):
        reason, message = _why_nothing(run)
        return settled(fail(run, reason, message))
    if _is_in_vain(run, ANSWERING):
        return settled(end_partially(run, "synthesis_failed", WITHOUT_IT))
    if run.wants_answer and run.wants_choice and (why := why_unchosen(run, now)) is not None:
        names = tuple(task.task.id for task in run.candidates)
        return settled([Entry(ev.SelectionFailed(error=why, candidates=names))])
    draft = DecisionBuilder(run, now, conditions, entries=open_ties(run), wakes=[deadline_of(run)])
    if (method := next_method(run)) is not None:
        resolve_conflicts(run, method, now, draft)
        return draft.decision()
    if not run.wants_answer:
        _see_through(run, now, draft)
        return draft.decision()
    if any(task.dropped for task in run.tasks.values()):
        _go_on_with_dropped(run, now, draft)
    if sift_first(run, now, draft):
        return draft.decision()
    if run.wants_choice:
        assert run.wrap_up_at is not None
        draft.wakes.append(run.wrap_up_at)
        draft.converse(SELECTING)
    elif not reduce_first(run, now, draft):
        draft.converse(ANSWERING)
    return draft.decision()


def _has_nothing(run: Snapshot) -> bool:
    """Whether there is nothing that an answer could be made from: of candidates one at least must have delivered."""
    return not run.delivered or (run.lacks_candidate and not run.has_answer)


def _see_through(run: Snapshot, now: datetime, draft: DecisionBuilder) -> None:
    """What comes between an answer and its going out: people, then the critic."""
    if asks_people(run):
        ask_people(run, now, draft)
    else:
        draft.converse(REVIEWING)


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
    wanted = run.tasks.keys() if run.plan is None or not run.delivered else leaves_of(run.plan)
    undelivered = [task for name, task in run.tasks.items() if name in wanted and not task.delivered]
    told = [task for task in undelivered if task.error and task.status == "failed"] or undelivered
    failed = [(task.task.id, task.error) for task in told if task.error]
    first = failed[0][1].message if failed else ""
    if failed and all(error.code == "request_rejected" for _, error in failed):
        return "request_rejected", shorten(first, MESSAGE_CHARACTERS)[0]
    if failed and all(remedy_for(error.code) == "again" for _, error in failed):
        return "provider_unavailable", "Every task failed because the model provider could not be reached."
    ends = [f"{name} ended with {error.code}" for name, error in failed[:TASKS_NAMED]]
    if others := len(undelivered) - len(ends):
        ends.append(f"{others} more did not deliver either")
    message = f"No {'candidate' if run.delivered else 'task'} delivered a result: {', '.join(ends)}. "
    message = f"{message}{OTHER_RESULTS if run.delivered else ''}{first}".strip()
    return "no_results", shorten(message, MESSAGE_CHARACTERS)[0]
