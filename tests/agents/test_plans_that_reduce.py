"""Plans of more tasks than one answer can be made from: what is offered, and what is sent back."""

import json
from dataclasses import replace
from typing import Any

import pytest

from app.agents.converse import consequences
from app.agents.roles import ROLES
from app.domain import events as ev
from app.domain.fold_conversation import conversation_after
from app.domain.strategies import Strategy
from app.domain.topics import Topic
from tests.support.story import Story, brief, called, text_block

PLANNING = Topic("plan")


def planning(strategy: Strategy | None = None, tasks: int = 60) -> Story:
    story = Story(replace(brief(tasks=tasks), own_strategy=strategy))
    story.queued()
    story.started()
    return story


def read(story: Story, count: int, **plan: Any) -> ev.AnyFact:
    about = {"worker": "able", "success_criterion": "There is a name."}
    tasks = [
        {"id": f"t{n}", "instruction": f"Find the mayor of the town with the post code {n}."} | about
        for n in range(count)
    ]
    content = [text_block(json.dumps({"goal": "mayors", "tasks": tasks} | plan))]
    told = called("plan").completed(stop_reason="end_turn", content=content)
    [entry] = consequences(story.run, PLANNING, conversation_after(story.talk(PLANNING), told), {})
    return entry.fact


def test_a_plan_that_reduces_may_have_as_many_tasks_as_the_run() -> None:
    made = read(planning(), 60, strategy="reduce")

    assert isinstance(made, ev.PlanCreated)
    assert (len(made.tasks), made.validation.warnings) == (60, ())
    assert isinstance(read(planning(), 61, strategy="reduce"), ev.PlanInvalid)


@pytest.mark.parametrize("strategy", ["merge", "select"])
def test_another_one_with_more_than_one_answer_holds_is_sent_back_and_told_of_the_way_out(strategy: str) -> None:
    sent_back = read(planning(), 31, strategy=strategy)

    assert isinstance(sent_back, ev.PlanInvalid)
    [flaw] = [each for each in sent_back.errors if each.code == "results_too_many"]
    assert "or take the strategy reduce" in flaw.detail
    assert "At most 60 tasks." in (sent_back.note or "")


def test_where_the_strategy_is_fixed_there_is_no_such_way_out() -> None:
    sent_back = read(planning("merge"), 31)

    assert isinstance(sent_back, ev.PlanInvalid)
    assert "strategy reduce" not in " ".join(each.detail for each in sent_back.errors)
    assert "At most 30 tasks." in (sent_back.note or "")


def test_the_planner_is_told_when_to_reduce() -> None:
    wide, narrow = (ROLES["plan"].open(planning(tasks=tasks).run, PLANNING).system for tasks in (60, 12))

    assert "never more than 60" in wide
    assert "A plan of more than 30 tasks needs it." in wide
    assert "needs it." not in narrow
