"""What becomes of contradictions that an answer has left unresolved, by the methods that the team has for them."""

from app.domain.events.fact import Fact, Rejected
from app.domain.team_rules import ConflictMethod


class ConflictJudged(Fact):
    """A judge has looked at a conflict, without knowing whose the claims are."""

    type = "conflict.judged"

    id: str
    """Id of the conflict."""
    resolution: str | None = None
    """The claim that holds, word for word; null when it cannot be decided, and the conflict stays unresolved."""
    reason: str = ""
    """Why, in the judge's words."""
    confidence: float | None = None
    """0 to 1, how sure the judge is."""
    sitting: int = 1
    """Which call of the judge it was, from 1."""


class JudgementRejected(Rejected):
    """The judge's reply does not fit what was asked of it."""

    type = "judgement.rejected"


class ConflictLeftOpen(Fact):
    """A method that the team has for conflicts was not tried on one, or came to nothing: it stays unresolved."""

    type = "conflict.left_open"

    id: str
    """Id of the conflict."""
    method: ConflictMethod
    """The method."""
    reason: str
    """Why, for programs: the error code of the judge's conversation or of the task that was to break the tie;
    `undecided` where that task delivered, and the answer made with its result leaves the conflict open all the same;
    `deadline_exceeded` where the time for work was over; `limit_reached` where the run may have no further round, task
    or judgement; `strategy_select` where the answer is made from one chosen result, and no tie is broken;
    `budget_exceeded` where there is no money or there are no tokens left; `synthesis_failed` where the answer that was
    to be made first, or with the result of the tie-break, could not be had; or the code of what ended the run."""
