"""The judge: what it is shown, in which order, and which of its replies are a choice."""

import json
from dataclasses import replace
from typing import Any

import pytest

from app.agents.judge import ALWAYS, SELECT, criteria_of, in_order_shown, labelled
from app.agents.reading import Unreadable
from app.domain import events as ev
from app.domain.policy.agenda import SELECTING
from app.domain.team_rules import ReviewRules
from tests.support.story import TEAM, USELESS, Story, brief, task, text_block


def judging(*names: str, run_id: str = "run_1", **of_tasks: Any) -> Story:
    team = TEAM.model_copy(update={"review": ReviewRules(model="fast")})
    story = Story(replace(brief(), run_id=run_id, team=team))
    story.queued()
    story.started()
    story.planned(*(task(name, required=False, title=f"By {name}", **of_tasks) for name in names), strategy="select")
    for name in names:
        story.succeed(name, text=f"Word {ord(name[0])}.", summary="Said.", confidence=0.31)
    return story


def reply(choice: str, *bests: str | None, reason: str = "So it is.") -> str:
    looks = [{"criterion": f"c{number}", "best": best, "note": "so"} for number, best in enumerate(bests, 1)]
    return json.dumps({"criteria": looks, "choice": choice, "reason": reason})


def read(story: Story, text: str) -> ev.SelectionCompleted:
    (entry,) = SELECT.read(story.run, SELECTING, text)
    assert isinstance(entry.fact, ev.SelectionCompleted)
    return entry.fact


def test_the_order_is_drawn_from_the_run_and_says_nothing_of_the_plan() -> None:
    orders = {tuple(each.task.id for each in in_order_shown(judging(*"abcd", run_id=f"run_{n}").run)) for n in range(9)}

    assert len(orders) > 4
    assert all(sorted(order) == [*"abcd"] for order in orders)
    assert SELECT.open(judging(*"abcd").run, SELECTING) == SELECT.open(judging(*"abcd").run, SELECTING)


def test_a_candidate_is_shown_without_whose_it_is_and_what_it_says_of_itself() -> None:
    message = SELECT.open(judging("a", "b").run, SELECTING).message

    assert '{"candidate": "A", "summary": "Said.", "text": "Word' in message
    assert not any(told in message for told in ("By a", "able", "confidence", "0.31", '"task"', "do a"))


def test_what_all_were_told_is_shown_where_it_was_the_same() -> None:
    story = Story(brief())
    story.queued()
    story.started()
    same = task("a").model_copy(update={"required": False})
    story.planned(same, same.model_copy(update={"id": "b"}), strategy="select")
    story.succeed("a")
    story.succeed("b")

    assert "<task>\ndo a\n</task>" in SELECT.open(story.run, SELECTING).message


def test_more_candidates_than_letters_have_two() -> None:
    story = judging(*(f"{letter}{n}" for letter in "abcdefg" for n in range(4)))

    assert [*labelled(story.run)][24:] == ["Y", "Z", "AA", "AB"]


def test_it_goes_by_team_job_and_tasks_each_once_or_by_what_holds_always() -> None:
    plain, told = judging("a", "b"), judging("a", "b", success_criterion="It names the year.")
    rules = ReviewRules(criteria=("It is short.",))
    team = TEAM.model_copy(update={"review": rules})
    run = replace(told.run, brief=replace(told.run.brief, team=team, rubric="It is warm."))

    assert [*criteria_of(plain.run).values()] == [*ALWAYS]
    assert [*criteria_of(run).values()] == ["It is short.", "It is warm.", "It names the year."]


@pytest.mark.parametrize("said", ["B", " b ", "Candidate B"])
def test_a_choice_is_the_task_behind_its_letter(said: str) -> None:
    story = judging("a", "b")
    chosen = read(story, reply(said, "B", None, "A"))

    first, second = [each.task.id for each in in_order_shown(story.run)]
    assert (chosen.task, chosen.candidates) == (second, (first, second))
    assert [each.best for each in chosen.criteria] == [second, None, first]


@pytest.mark.parametrize(
    ("written", "why"),
    [
        (reply("C", "A", "A", "A"), "must be one of the candidates"),
        (reply("A", "A", "A"), "of each of these once"),
        (reply("A", "A", "A", "D"), "or null"),
        (reply("A", "B", "B", "B"), "best by one criterion at least"),
        (reply("A", "B", None, "B"), "best by one criterion at least; you say that of B"),
        (reply("A", "B", "A", "B"), ""),
        (reply("A", None, None, None), ""),
        (reply("A", "A", "A", "A", reason=" "), "why this one"),
        ('{"choice": "A"}', "why this one"),
    ],
)
def test_what_is_no_choice_is_turned_down_with_the_reason(written: str, why: str) -> None:
    story = judging("a", "b")
    if not why:
        assert read(story, written).task
        return
    with pytest.raises(Unreadable) as refused:
        read(story, written)
    assert why in str(refused.value)


@pytest.mark.parametrize(
    ("bests", "chosen"),
    [(("B", "C", "C"), "C"), (("B", None, "C"), "B"), ((None, None, "C"), "C"), (("A", "C", "C"), "A")],
)
def test_after_the_repair_what_the_criteria_say_counts(bests: tuple[str | None, ...], chosen: str) -> None:
    story = judging("a", "b", "c")
    story.hear("select", [text_block("?")])
    story.tell(ev.SelectionRejected(errors=(USELESS,), note="Again."))

    told = read(story, reply("A", *bests))
    assert told.task == labelled(story.run)[chosen].task.id
    if chosen != "A":
        assert told.reason == f"{chosen} is best by its criteria, though A was named: So it is."


def test_what_is_no_choice_is_not_mended_by_its_criteria() -> None:
    story = judging("a", "b")
    story.hear("select", [text_block("?")])
    story.tell(ev.SelectionRejected(errors=(USELESS,), note="Again."))

    for written in (reply("Z", "A", "A", "A"), reply("B", "A", "A", "A", reason=" ")):
        with pytest.raises(Unreadable):
            read(story, written)


def test_a_criterion_that_is_said_twice_is_looked_at_once() -> None:
    story = judging("a", "b", success_criterion="it is SHORT")
    team = TEAM.model_copy(update={"review": ReviewRules(criteria=("It is short.", "???", "!"))})
    run = replace(story.run, brief=replace(story.run.brief, team=team, rubric="It is  short!"))

    assert [*criteria_of(run).values()] == ["It is short.", "???", "!"]
