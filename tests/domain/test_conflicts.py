"""What becomes of conflicts that the supervisor left open, as the team has it."""

from dataclasses import replace
from typing import Literal

import pytest

from app.domain import events as ev
from app.domain.answering import LEFT_OPEN
from app.domain.questions import OnQuestion
from app.domain.results import Claim, Conflict, RejectedAnswer
from app.domain.topics import Topic
from tests.support.story import TEAM, USELESS, Story, brief, task, text_block

OPEN = Conflict(
    id="c1",
    topic="the year",
    claims=(Claim(task="a", claim="2009"), Claim(task="b", claim="2011")),
    status="unresolved",
)


def told(
    conflicts: Literal["surface", "fail", "ask_human"], *found: Conflict, on_question: OnQuestion | None = None
) -> Story:
    """A run whose tasks contradict each other, with an answer that says so."""
    story = Story(replace(brief(), team=TEAM.model_copy(update={"conflicts": conflicts})))
    story.begin(task("a"), task("b"), on_question=on_question)
    story.succeed("a")
    story.succeed("b")
    for conflict in found:
        story.tell(ev.ConflictFound.of(conflict))
    story.synthesize(answer="2009 or 2011.", conflicts=found)
    return story


def test_an_open_conflict_is_shown_where_the_team_says_no_more() -> None:
    story = told("surface", OPEN)

    assert story.settle() == ["run.succeeded"]
    assert story.run.result is not None
    assert (story.run.result.answer, story.run.result.conflicts) == ("2009 or 2011.", (OPEN,))


def test_a_team_may_take_no_answer_with_an_open_conflict() -> None:
    story = told("fail", OPEN)

    assert story.settle() == ["run.partial"]
    result = story.run.result
    assert (story.run.stop_reason, result and result.answer, result and result.conflicts) == (
        "synthesis_failed",
        None,
        (OPEN,),
    )
    assert result is not None
    assert result.rejected_answer is not None
    assert [flaw.code for flaw in result.rejected_answer.errors] == ["conflict_unresolved"]
    assert [output.status for output in result.outputs] == ["succeeded", "succeeded"]


@pytest.mark.parametrize("conflicts", ["fail", "ask_human"])
def test_a_resolved_conflict_holds_nothing_up(conflicts: Literal["fail", "ask_human"]) -> None:
    resolved = OPEN.model_copy(update={"status": "resolved", "resolution": "2011", "method": "evidence"})

    assert told(conflicts, resolved).settle() == ["run.succeeded"]


def test_a_person_is_asked_and_the_answer_is_made_anew_with_what_they_say() -> None:
    story = told("ask_human", OPEN)

    assert story.settle() == ["question.asked", "run.waiting"]
    [question] = story.run.questions.values()
    assert (question.task_id, question.choices) == (None, ("2009", "2011", LEFT_OPEN))
    story.answer(question, "2011")
    story.resumed()

    assert story.talking() == [Topic("synthesize")]
    assert [(each.topic, each.answer) for each in story.run.answering.settled] == [("the year", "2011")]
    story.synthesize(answer="2011.")
    assert story.settle() == ["run.succeeded"]
    assert story.run.result is not None
    assert story.run.result.answer == "2011."


def test_when_nobody_answers_the_answer_goes_out_with_the_conflict_open() -> None:
    story = told("ask_human", OPEN)
    story.settle()
    [question] = story.run.questions.values()
    story.now = question.expires_at
    story.resumed()

    assert story.settle() == ["question.expired", "run.succeeded"]
    assert story.run.result is not None
    assert (story.run.result.answer, story.run.result.assumptions) == ("2009 or 2011.", ())


def test_who_leaves_it_open_has_no_other_answer_made() -> None:
    story = told("ask_human", OPEN)
    story.settle()
    [question] = story.run.questions.values()
    story.answer(question, LEFT_OPEN)
    story.resumed()

    assert story.settle() == ["run.succeeded"]


def test_the_answer_waits_until_every_question_has_its_own() -> None:
    story = told("ask_human", OPEN, OPEN.model_copy(update={"id": "c2", "topic": "the town"}))
    assert story.settle() == ["question.asked", "question.asked", "run.waiting"]
    first, second = story.run.questions.values()
    story.answer(first, "2009")
    story.resumed()

    assert story.talking() == []
    story.settle()
    story.answer(second, "2011")
    story.resumed()
    assert story.talking() == [Topic("synthesize")]


def test_nobody_is_asked_twice_about_the_same() -> None:
    story = told("ask_human", OPEN)
    story.settle()
    [question] = story.run.questions.values()
    story.answer(question, "2011")
    story.resumed()
    story.synthesize(answer="2011.", conflicts=(OPEN,))

    assert story.settle() == ["run.succeeded"]


def test_what_a_person_has_settled_and_no_answer_heeds_makes_the_run_partial() -> None:
    story = told("ask_human", OPEN)
    story.settle()
    [question] = story.run.questions.values()
    story.answer(question, "2011")
    story.resumed()
    for note in ("Again.", None):
        story.hear("synthesize", [text_block("?")])
        story.tell(ev.SynthesisRejected(errors=(USELESS,), note=note))

    assert story.settle() == ["run.partial"]
    assert (story.run.stop_reason, story.run.result and story.run.result.answer) == (
        "synthesis_failed",
        "2009 or 2011.",
    )


@pytest.mark.parametrize(
    ("on_question", "ends"),
    [("default", ["run.succeeded"]), ("fail", ["question.asked", "question.expired", "run.failed"])],
)
def test_a_job_that_waits_for_nobody_goes_on_at_once(on_question: OnQuestion, ends: list[str]) -> None:
    assert told("ask_human", OPEN, on_question=on_question).settle() == ends


def test_of_answers_that_were_turned_down_the_one_with_the_fewest_faults_is_shown() -> None:
    story = Story(brief())
    story.begin(task("a"), task("b"))
    story.succeed("a")
    story.succeed("b")
    for answer, faults, note in (("better", 1, "Again."), ("worse", 2, None)):
        story.hear("synthesize", [text_block(answer)])
        story.tell(ev.SynthesisRejected(errors=(USELESS,) * faults, note=note, answer=answer))

    assert story.settle() == ["run.partial"]
    assert story.run.result is not None
    assert (story.run.result.answer, story.run.result.rejected_answer) == (
        None,
        RejectedAnswer(answer="better", errors=(USELESS,)),
    )


def test_the_newest_of_equally_good_ones_is_shown() -> None:
    story = Story(brief())
    story.begin(task("a"), task("b"))
    story.succeed("a")
    story.succeed("b")
    for answer, note in (("first", "Again."), ("second", None)):
        story.hear("synthesize", [text_block(answer)])
        story.tell(ev.SynthesisRejected(errors=(USELESS,), note=note, answer=answer))
    story.settle()

    assert story.run.result is not None
    assert story.run.result.rejected_answer == RejectedAnswer(answer="second", errors=(USELESS,))
