"""What comes between an answer and its going out because of its conflicts: the team's methods, then people."""

from datetime import datetime

from app.domain import events as ev
from app.domain.policy.agenda import ARBITRATING, step_in
from app.domain.policy.commands import DecisionBuilder
from app.domain.policy.conflicts import open_questions, questions_to_ask
from app.domain.policy.resolution import SITTINGS_ALLOWED, begin_tie_break, left_open, untried
from app.domain.protocol import GiveUp
from app.domain.snapshot import Snapshot
from app.domain.team_rules import ConflictMethod


def resolve_conflicts(run: Snapshot, method: ConflictMethod, now: datetime, draft: DecisionBuilder) -> None:
    """Try a method on the conflicts that are open, or tell that there is no time for it, or that it is in vain.

    Neither method is begun in the last part of the run's time, which is kept for the answer.
    """
    assert run.wrap_up_at is not None
    draft.wakes.append(run.wrap_up_at)
    if now >= run.wrap_up_at:
        draft.entries += left_open(untried(run, method), method, "deadline_exceeded")
    elif method == "tie_break":
        draft.entries += begin_tie_break(run)
    elif run.answering.sittings >= SITTINGS_ALLOWED:
        draft.entries += left_open(untried(run, method), method, "limit_reached")
    elif isinstance(step := step_in(run, ARBITRATING), GiveUp):
        draft.entries += left_open(untried(run, method), method, step.code)
    elif run.conversation(ARBITRATING).unusable:
        draft.entries += left_open(untried(run, method), method, "output_invalid")
    else:
        draft.converse(ARBITRATING)


def ask_people(run: Snapshot, now: datetime, draft: DecisionBuilder) -> None:
    """Ask people about conflicts that the answer leaves open, and wait for what they say."""
    assert run.wrap_up_at is not None
    draft.wakes.append(run.wrap_up_at)
    draft.entries += questions_to_ask(run, now)
    for question in open_questions(run):
        if now >= question.expires_at:
            draft.settle(ev.QuestionExpired(id=question.id))
        else:
            draft.wait("answer", question.expires_at)
