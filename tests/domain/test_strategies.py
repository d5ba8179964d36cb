"""The strategy of plans: who says it, what a plan gets that says nothing, and which ones are refused."""

from dataclasses import replace
from typing import Any

import pytest

from app.agents.roles import ROLES
from app.agents.supervisor.plan import PLAN
from app.domain.approvals import EditInvalid
from app.domain.crew import Crew
from app.domain.enlisting import checked
from app.domain.job import with_approval
from app.domain.plan import Plan
from app.domain.plan_decisions import edit
from app.domain.strategies import Strategy
from app.domain.topics import Topic
from tests.support.story import TEAM, Story, brief, task

PLANNING = Topic("plan")


def crew(job: Strategy | None = None, team: Strategy | None = None) -> Crew:
    return Crew(TEAM.model_copy(update={"strategy": team}), own_strategy=job)


@pytest.mark.parametrize(
    ("job", "team", "said", "got"),
    [
        (None, None, {}, "merge"),
        (None, None, {"strategy": "select"}, "select"),
        (None, "select", {}, "select"),
        ("merge", "select", {}, "merge"),
        ("select", None, {"strategy": "select"}, "select"),
    ],
)
def test_a_plan_that_says_nothing_gets_the_strategy_that_is_fixed(
    job: Strategy | None, team: Strategy | None, said: dict[str, Any], got: str
) -> None:
    plan = checked(Plan(tasks=(task("a"), task("b")), **said), crew(job, team))

    assert (plan.strategy, plan.validation.ok) == (got, True)


@pytest.mark.parametrize(("job", "team", "who"), [("select", None, "job"), (None, "select", "team")])
def test_a_plan_that_names_another_strategy_than_the_fixed_one_is_refused(
    job: Strategy | None, team: Strategy | None, who: str
) -> None:
    plan = checked(Plan(tasks=(task("a"),), strategy="merge"), crew(job, team))

    (flaw,) = plan.validation.errors
    assert (flaw.code, flaw.pointer) == ("strategy_fixed", "/strategy")
    assert f"its {who} wants select" in flaw.detail


def test_an_edit_can_change_the_strategy_unless_it_is_fixed() -> None:
    told = brief(timeout_s=10_000)
    free = replace(told, limits=with_approval(told.limits))
    story = Story(free)
    story.queued()
    story.started()
    story.planned(task("a"), task("b"))
    story.settle()
    (entry,) = edit(story.run, None, story.now, {"strategy": "select"}, None)
    held = replace(story.run, brief=replace(free, team=TEAM.model_copy(update={"strategy": "select"})))

    assert getattr(entry.fact, "strategy", None) == "select"
    with pytest.raises(EditInvalid) as refused:
        edit(held, None, story.now, {"goal": "Another."}, None)
    assert refused.value.flaws[0].code == "strategy_fixed"


@pytest.mark.parametrize(
    ("job", "offered"), [(None, ["merge", "select", "reduce"]), ("merge", ["merge"]), ("select", ["select"])]
)
def test_the_planner_is_offered_what_is_open(job: Strategy | None, offered: list[str]) -> None:
    story = Story(replace(brief(), own_strategy=job))
    story.queued()
    story.started()

    assert PLAN.offer(story.run, PLANNING).schema["properties"]["strategy"]["enum"] == offered
    system = PLAN.open(story.run, PLANNING).system
    assert [name for name in ("merge", "select", "reduce") if f"\n  {name}: " in system] == offered


@pytest.mark.parametrize(
    ("job", "reply", "got"),
    [(None, "", "merge"), (None, '"strategy": "select", ', "select"), ("select", "", "select"),
     ("select", '"strategy": "merge", ', "select")],
)  # fmt: skip
def test_what_a_planner_says_counts_where_it_is_open(job: Strategy | None, reply: str, got: str) -> None:
    story = Story(replace(brief(), own_strategy=job))
    story.queued()
    story.started()
    tasks = '[{"id": "a", "instruction": "do a", "worker": "able"}, {"id": "b", "instruction": "b", "worker": "able"}]'
    (entry,) = ROLES["plan"].read(story.run, PLANNING, f'{{{reply}"tasks": {tasks}}}')

    assert getattr(entry.fact, "strategy", None) == got
