"""The part of the fold that concerns questions to people."""

from collections.abc import Mapping
from datetime import datetime, timedelta

from app.domain import events as ev
from app.domain import fold_answers
from app.domain.errors import IllegalMove
from app.domain.events import Event
from app.domain.fold_tasks import running_task, task_named, with_attempt_ended
from app.domain.questions import Assumption, Question, expiry
from app.domain.snapshot import Snapshot
from app.domain.states import TASK_MOVES, move
from app.domain.task_state import TaskState
from app.domain.values import changed

AnyOfQuestions = ev.QuestionAsked | ev.QuestionAnswered | ev.QuestionExpired
Ending = ev.TaskFailed | ev.TaskCancelled
"""What ends a task that waits for an answer."""


def questions_after(
    questions: Mapping[str, Question], event: Event, fact: AnyOfQuestions | Ending
) -> Mapping[str, Question]:
    """The questions of a run after one more event about them. Raises `IllegalMove`."""
    match fact:
        case ev.QuestionAsked():
            if fact.id in questions:
                raise IllegalMove(f"the question {fact.id} is asked only once")
            said = {"question": fact.question, "choices": fact.choices, "default": fact.default}
            question = Question(
                id=fact.id, task_id=event.task_id, asked_at=event.at, expires_at=fact.expires_at, **said
            )
        case ev.QuestionAnswered():
            told = {"status": "answered", "answer": fact.answer, "answered_by": fact.answered_by}
            question = _open(questions, event, fact.id).model_copy(update=told)
        case ev.QuestionExpired():
            question = _open(questions, event, fact.id).model_copy(update={"status": "expired"})
        case ev.TaskFailed() | ev.TaskCancelled():
            return _closed_with(questions, event.task_id or "")
    return {**questions, question.id: question}


def _closed_with(questions: Mapping[str, Question], task_id: str) -> Mapping[str, Question]:
    """The questions when a task has ended: what it still waited for takes no answer any more."""
    left = [name for name, each in questions.items() if each.task_id == task_id and each.status == "open"]
    closed = {name: questions[name].model_copy(update={"status": "closed"}) for name in left}
    return {**questions, **closed} if closed else questions


def _open(questions: Mapping[str, Question], event: Event, name: str) -> Question:
    question = questions.get(name)
    if question is None or question.status != "open":
        raise IllegalMove(f"{event.type} names the question {name}, which is not open")
    return question


def dated(run: Snapshot, asked: ev.QuestionAsked, task_id: str | None, at: datetime) -> ev.QuestionAsked:
    """The question as it is asked at that time: at once expired in a job that waits for nobody."""
    expires_at = at
    if run.on_question == "ask" and run.wrap_up_at is not None:
        expires_at = expiry(at, run.brief.team.question_timeout_s, _work_ends(run, task_id, run.wrap_up_at))
    return asked.model_copy(update={"expires_at": expires_at})


def _work_ends(run: Snapshot, task_id: str | None, wrap_up_at: datetime) -> datetime:
    """When the time is up that the task, or all work of the run, may take."""
    task = run.tasks.get(task_id or "")
    allowed = task.task.budget.deadline_s if task else None
    if task is None or allowed is None or not task.attempts:
        return wrap_up_at
    return min(wrap_up_at, task.attempts[0].started_at + timedelta(seconds=allowed))


def fold_question(run: Snapshot, event: Event, asked: ev.QuestionAsked) -> Snapshot:
    if event.task_id is None:
        return fold_answers.fold_question(changed(run, questions=questions_after(run.questions, event, asked)), asked)
    if asked.error is None:
        raise IllegalMove(f"{event.type} about {event.task_id} names no failure that led to it")
    task = with_attempt_ended(running_task(run, event), event, asked.error, asked.decision)
    following = changed(task.next, climbed=(*task.next.climbed, "ask_human"))
    status = move(TASK_MOVES, task.status, event.type)
    run = run.with_task(changed(task, status=status, question=asked.id, next=following))
    return changed(run, questions=questions_after(run.questions, event, asked))


def fold_answer(run: Snapshot, event: Event, answered: ev.QuestionAnswered) -> Snapshot:
    if event.task_id is None:
        run = changed(run, questions=questions_after(run.questions, event, answered))
        return fold_answers.fold_settlement(run, answered)
    task = _task_that_waits(run, event, answered.id)
    run = changed(run, questions=questions_after(run.questions, event, answered))
    said = f"A person was asked: {run.questions[answered.id].question}\nThe answer: {answered.answer}"
    return run.with_task(_told(task, event, said, change="A person has answered a question about the task."))


def fold_expiry(run: Snapshot, event: Event, expired: ev.QuestionExpired) -> Snapshot:
    if event.task_id is None:
        run = changed(run, questions=questions_after(run.questions, event, expired))
        return fold_answers.fold_settlement(run, expired)
    task = _task_that_waits(run, event, expired.id)
    run = changed(run, questions=questions_after(run.questions, event, expired))
    question = run.questions[expired.id]
    if question.default.action != "proceed":
        return run.with_task(changed(task, status=move(TASK_MOVES, task.status, event.type)))
    assumed = Assumption(
        task=task.task.id, question=question.question, assumption=question.default.assumption or "nothing in particular"
    )
    said = f"Nobody has answered the question: {question.question}\nTake for granted: {assumed.assumption}"
    run = run.with_task(_told(task, event, said, change="Nobody has answered a question about the task."))
    return changed(run, assumptions=(*run.assumptions, assumed))


def _task_that_waits(run: Snapshot, event: Event, question: str) -> TaskState:
    task = task_named(run, event)
    if task.question != question or task.status != "waiting":
        raise IllegalMove(f"{event.type} names a question that {event.task_id} does not wait for")
    return task


def _told(task: TaskState, event: Event, said: str, *, change: str) -> TaskState:
    """The task, to be tried again with what was `said` about it."""
    following = changed(
        task.next,
        told=(*task.next.told, said),
        refined_from=event.attempt,
        change=change,
        first=None,
        not_before=None,
    )
    return changed(task, status=move(TASK_MOVES, task.status, event.type), question=None, next=following)
