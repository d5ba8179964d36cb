"""Questions to people: what is asked, until when, and what is done when nobody answers."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Literal

from pydantic import BaseModel, ConfigDict

from app.domain.errors import ChargehandError

CHOICES_ALLOWED = 10
QUESTION_CHARACTERS = 2_000
CHOICE_CHARACTERS = 200
ANSWER_CHARACTERS = 10_000
SHARE_OF_TIME = 0.75
"""The part of a run's time that an answer is waited for at most: the rest is for what is done with it."""

QuestionStatus = Literal["open", "answered", "expired", "closed"]
DefaultAction = Literal["proceed", "skip", "fail"]
OnQuestion = Literal["ask", "default", "fail"]
"""What a job has done with a question: a person is asked, its default is taken at once, or the run fails."""


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)


class Default(_Part):
    """What is done when nobody answers."""

    action: DefaultAction
    """`proceed`: the task goes on from the assumption; `skip`: it is left out; `fail`: the run fails."""
    assumption: str | None = None
    """What is taken for granted then, and named in the answer; null for the other actions."""


class Inquiry(_Part):
    """What a person is asked."""

    question: str
    """The question, in the supervisor's words."""
    choices: tuple[str, ...] = ()
    """The answers that are taken; any is when there are none."""
    default: Default
    """What is done when nobody answers in time."""


class Question(Inquiry):
    """A question about a task, and what became of it."""

    id: str
    """Its id: `q_…`."""
    task_id: str | None
    """The task that waits for the answer; null for a question about a conflict of results, which no task waits for."""
    asked_at: datetime
    """When it was asked."""
    expires_at: datetime
    """When the default is taken unless somebody has answered."""
    status: QuestionStatus = "open"
    """`open`, `answered`, `expired` (the default was taken), or `closed` (its task or the run ended before
    either)."""
    answer: str | None = None
    """What was answered; null while nothing was."""
    answered_by: str | None = None
    """Who answered; null where that is not known."""


class Assumption(_Part):
    """What was taken for granted, since nobody answered a question."""

    task: str
    """Id of the task that rests on it."""
    question: str
    """What was asked."""
    assumption: str
    """What was assumed."""


class AnswerRefused(ChargehandError):
    """A question that does not take an answer, or not this one."""


class QuestionUnknown(AnswerRefused):
    """The run has no such question."""


class QuestionClosed(AnswerRefused):
    """The question takes no answer any more: it was answered, has expired, or its run has ended."""

    def __init__(self, status: QuestionStatus) -> None:
        super().__init__(status)
        self.status = status


class NotAChoice(AnswerRefused):
    """The answer is none of the choices."""

    def __init__(self, choices: tuple[str, ...]) -> None:
        super().__init__()
        self.choices = choices


def question_id(run_id: str, task_id: str, attempt: int) -> str:
    """The id of the question that an attempt leads to: always the same, so that a crash asks nothing twice."""
    return f"q_{sha256(f'{run_id} {task_id} {attempt}'.encode()).hexdigest()[:32]}"


def conflict_question_id(run_id: str, conflict: str) -> str:
    """The id of the question about a conflict; no task has a name with a slash."""
    return question_id(run_id, f"conflict/{conflict}", 0)


def expiry(asked_at: datetime, patience_s: float, ends_at: datetime) -> datetime:
    """When a question expires that is asked in a run whose work ends at `ends_at`."""
    return asked_at + min(timedelta(seconds=patience_s), max((ends_at - asked_at) * SHARE_OF_TIME, timedelta()))


def check_answer(questions: Mapping[str, Question], question_id: str, answer: str, now: datetime) -> Question:
    """The question that `answer` is taken for. Raises `AnswerRefused`."""
    question = questions.get(question_id)
    if question is None:
        raise QuestionUnknown
    if question.status == "open" and now >= question.expires_at:
        raise QuestionClosed("expired")
    if question.status != "open":
        raise QuestionClosed(question.status)
    if question.choices and answer not in question.choices:
        raise NotAChoice(question.choices)
    return question
