"""What people are asked, and what they answer."""

from datetime import datetime
from typing import Literal

from app.domain.events.fact import Fact
from app.domain.questions import Inquiry
from app.domain.results import Problem


class QuestionAsked(Inquiry, Fact):
    """A person is asked: an attempt has ended with the question, and its task waits while others go on; or, without a
    task, what holds in a conflict of results."""

    type = "question.asked"

    id: str
    """The id of the question."""
    expires_at: datetime
    """When the default is taken unless somebody has answered."""
    error: Problem | None = None
    """The failure of the attempt that led to it; null for a question about a conflict."""
    decision: Literal["ask_human"] | None = None
    """Set when the supervisor ruled so on the worker's escalation; null when the team's ladder led here."""
    conflict: str | None = None
    """Id of the conflict that it is about; null for a question about a task."""


class QuestionAnswered(Fact):
    """A person has answered; the task, or the answer of the run, goes on with what was said."""

    type = "question.answered"

    id: str
    """The id of the question."""
    answer: str
    """What was answered."""
    answered_by: str | None = None
    """Who answered; null where that is not known."""


class QuestionExpired(Fact):
    """Nobody has answered in time: the question's default is taken."""

    type = "question.expired"

    id: str
    """The id of the question."""
