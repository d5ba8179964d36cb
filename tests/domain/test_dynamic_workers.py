from dataclasses import replace
from typing import Any

import pytest
from pydantic import ValidationError

from app.domain import events as ev
from app.domain.brief import Brief
from app.domain.crew import Crew, Means
from app.domain.enlisting import checked
from app.domain.fold import fold
from app.domain.job import Limits
from app.domain.plan import Plan, Task
from app.domain.policy.ladder import others_for
from app.domain.quote import Grounds
from app.domain.quoting import quote_of
from app.domain.snapshot import Snapshot
from app.domain.team import Team
from app.domain.worker import Worker
from tests.support.story import START, Story

ABLE = Worker(name="able", description="Does things.", instructions="Do them.", tools=("look",))
SURVEYOR = {"name": "surveyor", "description": "Surveys.", "instructions": "Survey.", "model": "fast"}
CREW: dict[str, Any] = {"name": "crew", "workers": (ABLE,)}
LISTED: dict[str, Any] = {"tools": ["measure", "mail"], "at_most": 2}


def team(dynamic: object = True, **fields: Any) -> Team:
    return Team.model_validate(CREW | {"dynamic_workers": dynamic} | fields)


def plan(*workers: dict[str, Any], of: Team | None = None, doer: str = "surveyor") -> Plan:
    told = "Survey the plot behind the mill and give its area."
    task = {"id": "t1", "instruction": told, "worker": doer, "success_criterion": "An area in square metres."}
    drawn = Plan.model_validate({"tasks": [task], "workers": workers})
    means = {"look": Means("read"), "measure": Means("read"), "mail": Means("once")}
    return checked(drawn, Crew(of or team(), means))


def faults(plan: Plan) -> list[tuple[str, str]]:
    return [(flaw.code, flaw.pointer) for flaw in plan.validation.errors]


def test_a_team_takes_on_the_worker_that_a_plan_brings_along() -> None:
    sound = plan(SURVEYOR)

    assert (sound.validation.ok, sound.validation.warnings) == (True, ())
    assert sound.shape is not None
    joined = team().joined_by(sound.workers)
    assert [worker.name for worker in joined.workers] == ["able", "surveyor"]
    assert joined.worker("surveyor") == Worker(
        name="surveyor", description="Surveys.", instructions="Survey.", model="fast"
    )
    assert joined.joined_by(sound.workers).workers == joined.workers


@pytest.mark.parametrize("spelling", ["Surveyor", "surveyor ", '"surveyor"'])
def test_tasks_name_it_in_every_spelling(spelling: str) -> None:
    sound = plan(SURVEYOR, doer=spelling)

    assert sound.validation.ok
    assert sound.tasks[0].worker == "surveyor"


REFUSED: dict[str, tuple[Team, tuple[dict[str, Any], ...], str, str]] = {
    "where none are allowed": (team(dynamic=False), (SURVEYOR,), "/workers", "no workers beside its own"),
    "more than are allowed": (
        team(LISTED),
        tuple(SURVEYOR | {"name": f"s{n}"} for n in range(3)),
        "/workers",
        "3 workers along; at most 2",
    ),
    "a name of the team": (team(), (SURVEYOR | {"name": "able"},), "/workers/0/name", "another one has"),
    "a name that is none": (team(), (SURVEYOR | {"name": "a/b"},), "/workers/0/name", "must have a name"),
    "no instructions": (team(), (SURVEYOR | {"instructions": " "},), "/workers/0/instructions", "no instructions"),
    "a tool beyond the list": (
        team(LISTED),
        (SURVEYOR | {"tools": ["measure", "rob"]},),
        "/workers/0/tools",
        "may not have rob; allowed are: measure, mail",
    ),
    "a tool of the team's where none may be shared": (
        team(),
        (SURVEYOR | {"tools": ["look"]},),
        "/workers/0/tools",
        "may not have look; allowed are: none",
    ),
    "a tool for two": (
        team(LISTED),
        (SURVEYOR | {"tools": ["measure"]}, SURVEYOR | {"name": "other", "tools": ["measure"]}),
        "/workers/0/tools",
        "tool_isolation forbids",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_worker_that_is_not_as_the_team_allows_it_is_refused(case: str) -> None:
    of, workers, pointer, why = REFUSED[case]
    refused = plan(*workers, of=of, doer=workers[0]["name"])

    assert faults(refused)[0] == ("worker_invalid", pointer)
    assert why in refused.validation.errors[0].detail
    assert refused.shape is None
    assert {code for code, _ in faults(refused)} == {"worker_invalid"}


def test_a_tool_named_twice_is_one() -> None:
    twice = plan(SURVEYOR | {"tools": ["measure", "measure"]}, of=team(LISTED))

    assert (twice.validation.ok, twice.workers[0].tools) == (True, ("measure",))


def test_where_tools_are_shared_those_of_the_teams_workers_are_allowed() -> None:
    assert plan(SURVEYOR | {"tools": ["look"]}, of=team(tool_isolation="shared")).validation.ok


def test_whether_it_can_act_is_asked_of_its_own_tools() -> None:
    told = "Survey the plot behind the mill, and send the mail to Ann."
    task = Task(id="t1", instruction=told, worker="surveyor", success_criterion="Ann knows.")
    means = {"look": Means("read"), "mail": Means("once")}

    for tools, codes in (((), ["tool_missing"]), (("mail",), [])):
        drawn = Plan.model_validate({"tasks": [task], "workers": [SURVEYOR | {"tools": tools}]})
        warned = checked(drawn, Crew(team(LISTED), means)).validation.warnings
        assert [flaw.code for flaw in warned] == codes


def test_a_list_may_name_no_tool_of_the_team_where_none_is_shared() -> None:
    with pytest.raises(ValidationError, match="dynamic workers would share tools"):
        team({"tools": ["look"]})


def test_a_team_that_says_nothing_of_it_keeps_its_definition_and_others_come_back_as_they_were() -> None:
    plain = Team.model_validate(CREW)

    assert "dynamic_workers" not in plain.definition
    for dynamic in (True, LISTED):
        allowing = team(dynamic)
        assert Team.model_validate_json(allowing.definition) == allowing
        assert allowing.digest != plain.digest


def test_a_run_asks_any_tier_where_a_plan_may_bring_workers_along() -> None:
    assert team(dynamic=False).used_models == {"deep", "balanced"}
    assert team().used_models == {"fast", "balanced", "deep"}


def surveying() -> Story:
    story = Story(Brief("run_1", "Survey.", team(), Limits()))
    story.queued()
    story.started()
    story.tell(ev.PlanCreated.of(plan(SURVEYOR)))
    return story


def test_a_run_has_it_from_its_plan_on_also_when_it_is_read_from_its_log() -> None:
    story = surveying()

    [begun] = [entry.fact for entry in story.decide().entries]
    assert isinstance(begun, ev.TaskStarted)
    assert (begun.worker, begun.model) == ("surveyor", "fast")
    read = fold(Brief("run_1", "Survey.", team(), Limits()), story.log)
    assert read == story.run
    assert read.brief.team.worker("surveyor") is not None


def test_it_may_be_split_up_and_replaced_like_any_other() -> None:
    story = surveying()
    story.settle()
    assert others_for(story.run, story.state("t1")) == ["able"]

    story.split("t1", part("a", "surveyor"), part("b", "able"))

    assert story.run.plan is not None
    assert [worker.name for worker in story.run.plan.workers] == ["surveyor"]
    assert [task.worker for task in story.run.plan.tasks] == ["surveyor", "able"]


def part(name: str, worker: str) -> Task:
    return Task(id=name, instruction=f"Survey part {name}.", worker=worker)


def test_it_is_quoted_before_it_has_joined() -> None:
    run = Snapshot(Brief("run_1", "Survey.", team(), Limits()))
    grounds = Grounds(prices={}, reply_tokens=1_000)
    searching = replace(grounds, searches={"measure": 5})
    surveying = plan(SURVEYOR | {"tools": ["measure"]}, of=team({"tools": ["measure"]}))

    most = [quote_of(run, surveying, each, START).tokens.most for each in (grounds, searching)]

    assert 0 < most[0] < most[1]
