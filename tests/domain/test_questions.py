"""Questions to people, as decisions: what waits for an answer, until when, and what follows."""

from datetime import timedelta

import pytest

from app.domain import events as ev
from app.domain.errors import IllegalMove
from app.domain.plan import TaskBudget
from app.domain.policy.ladder import rulings
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
    assert following.words == "do a\n\nA person was asked: Which one for a?\nThe answer: the red one"
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


def test_a_question_closes_with_its_task() -> None:
    story = waiting_for_an_answer()
    [question] = story.run.questions.values()

    story.tell(ev.TaskCancelled(), "a")

    assert story.run.questions[question.id].status == "closed"
    with pytest.raises(QuestionClosed):
        check_answer(story.run.questions, question.id, "that", story.now)


def test_no_question_outlives_the_time_of_its_task() -> None:
    story = started(task("a", budget=TaskBudget(deadline_s=40)), task("b"))
    story.start("a")
    question = story.ask("a", "skip")
    assert question.expires_at == START + timedelta(seconds=30)
    story.start("b")
    story.now = START + timedelta(seconds=40)

    assert story.settle()[0] == "task.failed"
    assert story.run.questions[question.id].status == "closed"


def test_what_a_person_said_is_told_whatever_becomes_of_the_instruction() -> None:
    story = waiting_for_an_answer()
    [question] = story.run.questions.values()
    story.answer(question, "the red one")
    story.start("a")
    story.time_out("a")
    story.refine("a", "do less of a")

    assert story.state("a").next.words.startswith("do less of a\n\nA person was asked")
    assert story.state("a").next.words.endswith("The answer: the red one")


def test_the_answer_names_no_assumption_of_a_task_that_delivered_nothing() -> None:
    story = started(task("a", required=False), task("b"))
    story.start("a")
    question = story.ask("a")
    story.succeed("b")
    story.now = question.expires_at
    story.settle()
    assert len(story.run.assumptions) == 1
    story.fail("a")

    assert story.run.assumed_by(story.run.delivered) == ()


def test_nobody_is_asked_about_a_task_that_the_answer_goes_without() -> None:
    story = started(task("a"), task("b"))
    story.start("a")
    story.succeed("b")
    story.tell(ev.TaskDropped(after_s=1), "a")
    story.escalate("a", "Which one?", "half of it")

    assert not {"split", "ask_human"} & set(rulings(story.run, story.state("a")))
