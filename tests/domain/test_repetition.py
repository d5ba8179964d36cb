"""Attempts that end with the same words, and what is not tried again for it."""

from dataclasses import replace

import pytest

from app.domain.flaws import Flaw
from app.domain.policy.ladder import next_rung, rulings
from app.domain.team import LADDER, Rung, Team
from app.domain.topics import Topic
from app.domain.worker import Worker
from tests.support.story import Story, brief, started, task, text_block

ELSE = ["split", "ask_human", "give_up"]
"""What may be ruled whatever has been tried."""

ECHO = Flaw(code="result_rejected", detail="it only repeats the task")


def crew(*ladder: Rung, attempts: int = 6) -> Story:
    """One that may climb: a worker with three tiers and a stand-in, which names it in turn."""
    told = {"description": "Tries.", "instructions": "Try."}
    able = Worker(name="able", model="fast", fallback="baker", **told)
    baker = Worker(name="baker", model="deep", fallback="able", **told)
    team = Team(name="crew", workers=(able, baker), ladder=ladder or LADDER)
    story = Story(replace(brief(attempts=attempts), team=team))
    story.begin(task("a"))
    return story


def turned_down(story: Story, text: str) -> list[str]:
    """An attempt whose result is turned down for good, and what follows."""
    story.settle()
    for note in ("Again.", None):
        story.hear("work", [text_block(text)], name="a")
        story.reject_result("a", note, ECHO)
    return story.settle()


def refine(story: Story, instruction: str) -> None:
    story.refine("a", instruction)
    story.settle()


@pytest.mark.parametrize("again", ["It is 42.", " it  IS 42", "It is: 42!\n"])
def test_an_instruction_that_led_to_the_same_words_is_not_refined_again(again: str) -> None:
    story = crew("refine")
    turned_down(story, "It is 42.")
    refine(story, "do a with care")

    assert turned_down(story, again)[0] == "task.failed"
    error = story.state("a").error
    assert error is not None
    assert error.code == "no_progress"
    assert "it only repeats the task" in error.message
    assert error.message.endswith("Attempt 1 ended with the same words.")
    assert story.attempt_errors("a") == ["result_rejected", "no_progress"]


def test_other_words_are_refined_again() -> None:
    story = crew("refine")
    turned_down(story, "It is 42.")
    refine(story, "do a with care")

    assert turned_down(story, "It is 43.") == ["task.retrying"]
    assert story.state("a").next.first == Topic("refine", "a", 3)


def test_a_model_that_says_the_same_leaves_stronger_ones_out_and_another_worker_is_tried() -> None:
    story = crew("stronger_model", "stronger_model", "fallback_worker")
    turned_down(story, "No.")
    assert story.state("a").attempt.model == "balanced"
    assert turned_down(story, "No.") == ["task.reassigned", "task.started"]

    assert story.state("a").attempt.worker == "baker"
    assert turned_down(story, "No.")[0] == "task.failed"
    assert story.error("a") == "no_progress"


def test_what_was_said_before_last_counts_too() -> None:
    story = crew("refine")
    for number, words in enumerate(["One.", "Two."], start=2):
        turned_down(story, words)
        refine(story, f"do a, take {number}")

    assert turned_down(story, "One.")[0] == "task.failed"


def test_a_reply_without_the_form_of_a_result_is_judged_by_its_form() -> None:
    story = crew("refine", attempts=2)
    for instruction in ("do a with care", None):
        story.settle()
        for note in ("Again.", None):
            story.hear("work", [text_block("{")], name="a")
            story.reject_result("a", note)
        story.settle()
        if instruction:
            refine(story, instruction)

    assert story.attempt_errors("a") == ["output_invalid", "output_invalid"]


def test_an_escalation_that_is_repeated_leaves_out_of_the_ruling_what_made_no_difference() -> None:
    story = crew()
    story.settle()
    story.escalate("a", "Which of the two?")
    assert rulings(story.run, story.state("a")) == ["retry_stronger_model", "reassign", *ELSE]
    story.rule("a", "retry_stronger_model")
    story.settle()
    story.escalate("a", "Which of the two")

    assert rulings(story.run, story.state("a")) == ["reassign", *ELSE]
    story.rule("a", "reassign", "baker")
    story.settle()
    story.escalate("a", "which of the two?")

    assert rulings(story.run, story.state("a")) == ELSE
    assert next_rung(story.run, story.state("a")) == "refine", "nobody has tried that yet"


def test_an_escalation_that_has_come_further_is_a_new_one() -> None:
    story = crew()
    story.settle()
    story.escalate("a", "Not mine.", "A third of it.")
    story.rule("a", "retry_stronger_model")
    story.settle()
    story.escalate("a", "Not mine.", "Half of it.")

    assert rulings(story.run, story.state("a"))[0] == "retry_stronger_model"


def test_a_ruling_with_the_instruction_there_is_brings_no_new_one() -> None:
    story = started(task("a"))
    story.start("a")
    story.escalate("a", "Too hard.")
    story.rule("a", "retry_stronger_model", instruction="Do  a.")
    story.settle()

    attempt = story.state("a").attempt
    assert (attempt.number, attempt.instruction, attempt.refined_from) == (2, "do a", None)
