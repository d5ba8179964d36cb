"""Questions that runs ask people, and the answers."""

from typing import Annotated

from fastapi import APIRouter, Path
from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from pydantic_core import PydanticCustomError
from starlette.responses import JSONResponse, Response

from app.api.bodies import JsonBodyRoute
from app.api.deps import RunId
from app.api.errors import Refusal, RunNotFound, run_unreadable
from app.api.resources import Resource, instant, page
from app.api.schemas.runs import QuestionPage
from app.api.schemas.service import PROBLEMS
from app.api.visits import VisitOf
from app.domain.errors import RunUnreadable
from app.domain.questions import (
    ANSWER_CHARACTERS,
    AnswerRefused,
    NotAChoice,
    Question,
    QuestionClosed,
    QuestionUnknown,
)
from app.domain.text import is_blank
from app.store.questions import answer_question, questions_of

router = APIRouter(prefix="/v1/runs", route_class=JsonBodyRoute, tags=["runs"], responses=PROBLEMS)

QuestionId = Annotated[str, Path(description="Id of a question.")]


def _says_something(answer: str) -> str:
    if is_blank(answer):
        raise PydanticCustomError("answer_blank", "The answer must not be blank.")
    return answer.strip()


class Answer(BaseModel):
    """What a person answers."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)

    answer: Annotated[str, Field(min_length=1, max_length=ANSWER_CHARACTERS), AfterValidator(_says_something)]
    """One of the question's choices, or any text when it has none."""


@router.get("/{run_id}/questions", response_model=QuestionPage)
async def list_questions(run_id: RunId, visit: VisitOf) -> Response:
    """The questions that the run has asked, oldest first, with what became of each."""
    questions = await questions_of(visit.database, visit.tenant, run_id)
    if questions is None:
        raise RunNotFound
    return JSONResponse(page([_resource(question) for question in questions]))


@router.post("/{run_id}/questions/{question_id}/answer", response_model=Question)
async def answer_a_question(run_id: RunId, question_id: QuestionId, visit: VisitOf, body: Answer) -> Response:
    """Answer a question. Each is answered once; the run goes on at once, whichever process this is."""
    run = visit.tenant, run_id
    try:
        question = await answer_question(visit.database, visit.runtime.queue, run, question_id, body.answer)
    except AnswerRefused as refused:
        raise _refusal(refused) from None
    except RunUnreadable:
        raise run_unreadable() from None
    if question is None:
        raise RunNotFound
    return JSONResponse(_resource(question))


def _refusal(refused: AnswerRefused) -> Refusal:
    match refused:
        case QuestionClosed(status="answered"):
            return Refusal(409, "question_answered", "Somebody has answered the question already.")
        case QuestionClosed(status="expired"):
            return Refusal(409, "question_expired", "The time for an answer is up; the default was taken.")
        case QuestionClosed():
            return Refusal(409, "question_closed", "The task or the run has ended, and takes no answer any more.")
        case NotAChoice(choices=choices):
            detail = f"The answer must be one of: {', '.join(choices)}."
            return Refusal(
                422, "answer_not_offered", "The answer is none of the choices.",
                errors=[{"pointer": "/answer", "detail": detail}],
            )  # fmt: skip
        case QuestionUnknown():
            return Refusal(404, "question_not_found", "The run has asked no such question.")
    raise AssertionError(refused)


def _resource(question: Question) -> Resource:
    told = question.model_dump(mode="json")
    return told | {"asked_at": instant(question.asked_at), "expires_at": instant(question.expires_at)}
