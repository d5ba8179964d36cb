"""Questions to people: those of a run, and the answers to them."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, get_args

from sqlalchemy import text

from app.domain import events as ev
from app.domain.events import Entry
from app.domain.fold_questions import AnyOfQuestions, Ending, questions_after
from app.domain.questions import Question, QuestionClosed, check_answer
from app.domain.snapshot import Snapshot
from app.domain.states import TERMINAL_RUN
from app.store.database import Database
from app.store.interventions import intervene
from app.store.journal_sql import event_of
from app.store.queue import RunQueue

_QUESTIONS = text(
    """
    SELECT runs.status, events.seq, events.type, events.at, events.task_id, events.attempt, events.data
    FROM runs LEFT JOIN events ON events.run_id = runs.id AND events.type = ANY(:types)
    WHERE runs.id = :id AND runs.tenant = :tenant ORDER BY events.seq
    """
)
_TYPES = [fact.type for fact in get_args(AnyOfQuestions | Ending)]


async def questions_of(database: Database, tenant: str, run_id: str) -> Sequence[Question] | None:
    """The questions of a run in the order in which they were asked; None when the tenant has no such run."""
    async with database.reading() as connection:
        values = {"id": run_id, "tenant": tenant, "types": _TYPES}
        rows = (await connection.execute(_QUESTIONS, values)).all()
    return list(_told(run_id, rows).values()) if rows else None


def _told(run_id: str, rows: Sequence[Any]) -> Mapping[str, Question]:
    questions: Mapping[str, Question] = {}
    for row in rows:
        if row.seq is not None:
            event = event_of(run_id, row)
            assert isinstance(event.data, AnyOfQuestions | Ending)
            questions = questions_after(questions, event, event.data)
    if rows[0].status not in TERMINAL_RUN:
        return questions
    return {
        name: question.model_copy(update={"status": "closed"}) if question.status == "open" else question
        for name, question in questions.items()
    }


async def answer_question(
    database: Database, queue: RunQueue, run: tuple[str, str], question_id: str, answer: str
) -> Question | None:
    """Record the answer to a question of a `run` (its tenant and its id), and have the run go on with it.

    The question as it is then; None when the tenant has no such run. Raises `AnswerRefused`, `RunUnreadable`.
    """
    tenant, run_id = run

    def take(run: Snapshot) -> Sequence[Entry]:
        question = check_answer(run.questions, question_id, answer, datetime.now(UTC))
        attempt = run.tasks[question.task_id].attempt.number if question.task_id is not None else None
        return [Entry(ev.QuestionAnswered(id=question_id, answer=answer), question.task_id, attempt)]

    taken = await intervene(database, queue, tenant, run_id, take)
    questions = {question.id: question for question in await questions_of(database, tenant, run_id) or ()}
    if taken is None:
        return None
    if not taken:
        # The run has ended: this says what became of the question.
        check_answer(questions, question_id, answer, datetime.now(UTC))
        raise QuestionClosed("closed")
    return questions.get(question_id)
