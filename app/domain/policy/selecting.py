"""What becomes of a choice among results: whether it is still to be made, why it cannot be, and what is told of it."""

from datetime import datetime

from app.domain.policy.agenda import SELECTING, step_in
from app.domain.policy.budget import spent_problem
from app.domain.protocol import GiveUp
from app.domain.results import Problem
from app.domain.snapshot import Snapshot

NO_TIME = Problem(code="timeout", message="The judge has not chosen within the time for work.")


def why_unchosen(run: Snapshot, now: datetime) -> Problem | None:
    """Why the choice that is to be made cannot be; None while it may still come.

    The last part of the run's time is never spent on it.
    """
    assert run.wrap_up_at is not None
    talk = run.conversation(SELECTING)
    if talk.unusable:
        return Problem(code="output_invalid", message=talk.objection or "The judge's reply could not be used.")
    if run.exhausted is not None and run.exhausted.call == "select":
        return spent_problem(run.exhausted)
    match step_in(run, SELECTING):
        case GiveUp(code, message):
            return Problem(code=code, message=message)
        case _:
            return NO_TIME if now >= run.wrap_up_at else None
