"""Questions to people, as decisions: what waits for an answer, until when, and what follows."""

from datetime import timedelta

import pytest

from app.domain import events as ev
from app.domain.errors import IllegalMove
from app.domain.questions import (
    NotAChoice,
    QuestionClosed,
    QuestionUnknown,
    check_answer,
    expiry,
    question_id,
)
from tests.support.story import START, Story, brief, started, task


def waiting_for_an_answer(action: str = "proceed") -> Story:
    story = started(task("a"), task("b"))
    story.start("a")
    story.ask("a", action)  # type: ignore[arg-type]
    return story


def test_the_task_waits_and_takes_no_place_from_others() -> None:
    story = Story(brief(concurrency=1))
    story.begin(task("a"), task("b"))
    story.start("a")
    assert story.starting() == []
    story.ask("a")

    assert (story.state("a").status, story.state("a").attempt.status) == ("waiting", "failed")
    assert story.starting() == [("b", 1)]


def test_a_run_that_has_only_answers_to_wait_for_is_parked_until_the_first_question_expires() -> None:
    story = started(task("a"), task("b"))
    story.start("a")
    first = story.ask("a")
    story.wait(10)
    story.start("b")
    story.ask("b")

    [entry] = story.decide().entries

    assert entry.fact == ev.RunWaiting(reason="answer", until=first.expires_at)


def test_what_is_answered_goes_into_the_next_instruction() -> None:
    story = waiting_for_an_answer()
    [question] = story.run.questions.values()

    story.answer(question, "the red one")

    following = story.state("a").next
    assert following.instruction == "do a\n\nA person was asked: Which one for a?\nThe answer: the red one"
    assert following.refined_from == 1
    assert story.run.questions[question.id].status == "answered"
    assert ("a", 2) in story.starting()


@pytest.mark.parametrize(("action", "follows"), [("skip", "task.skipped"), ("fail", "run.failed")])
def test_a_default_other_than_to_proceed_ends_the_task_or_the_run(action: str, follows: str) -> None:
    story = waiting_for_an_answer(action)
    story.start("b")
    [question] = story.run.questions.values()
    story.now = question.expires_at

    assert follows in story.settle()


def test_nothing_is_assumed_before_the_question_has_expired() -> None:
    story = waiting_for_an_answer()
    story.start("b")
    [question] = story.run.questions.values()
    story.now = question.expires_at - timedelta(seconds=1)
    assert story.settle() == []
    story.wait(1)

    assert story.settle()[0] == "question.expired"
    assert [each.assumption for each in story.run.assumptions] == ["this one"]


def test_a_question_is_neither_answered_twice_nor_after_it_has_expired() -> None:
    story = waiting_for_an_answer()
    [question] = story.run.questions.values()
    story.answer(question)
    with pytest.raises(IllegalMove):
        story.answer(question)
    with pytest.raises(IllegalMove):
        story.tell(ev.QuestionExpired(id=question.id), "a", 1)


def test_an_answer_is_looked_at_before_it_is_taken() -> None:
    story = started(task("a"))
    story.start("a")
    question = story.ask("a", "proceed", "this", "that")
    asked = story.run.questions

    assert check_answer(asked, question.id, "that", story.now) == question
    with pytest.raises(NotAChoice):
        check_answer(asked, question.id, "the other", story.now)
    with pytest.raises(QuestionUnknown):
        check_answer(asked, "q_0", "that", story.now)
    with pytest.raises(QuestionClosed) as late:
        check_answer(asked, question.id, "that", question.expires_at)
    assert late.value.status == "expired"
    closed_one = {question.id: question.model_copy(update={"status": "closed"})}
    with pytest.raises(QuestionClosed) as closed:
        check_answer(closed_one, question.id, "that", story.now)
    assert closed.value.status == "closed"


def test_no_question_outlives_three_quarters_of_the_time_that_is_left() -> None:
    assert expiry(START, 3_600, START + timedelta(days=1)) == START + timedelta(hours=1)
    assert expiry(START, 3_600, START + timedelta(minutes=4)) == START + timedelta(minutes=3)
    assert expiry(START, 3_600, START - timedelta(minutes=4)) == START


def test_each_attempt_has_a_question_of_its_own_and_always_the_same() -> None:
    ids = {question_id(*each) for each in (("r", "a", 1), ("r", "a", 2), ("r", "b", 1), ("s", "a", 1))}

    assert len(ids) == 4
    assert question_id("r", "a", 1) in ids


def test_the_supervisor_may_not_ask_when_no_attempt_is_left_for_the_answer() -> None:
    story = Story(brief(attempts=1))
    story.begin(task("a"))
    story.start("a")
    story.escalate("a", "Which one?")

    assert story.talking() == []
    assert story.settle()[0] == "task.failed"
