import pytest

from app.agents.supervisor.plan import read_plan
from app.domain.crew import Crew
from app.domain.job import JobInput
from app.domain.lint import linted, serious_in
from app.domain.plan import validated
from app.domain.team import Team
from app.team_files import BUILT_IN_TEAMS, teams_in
from app.tools.catalogue import catalogue
from app.tools.fetch_page import PageFetcher
from app.tools.sandbox import Sandbox
from tests.llm.demo_driver import APP_LOG, MEANS, SALES, planned
from tests.support.templates import given, plan_for

INPUTS_OF_EXAMPLES = ("app.log", "prices.csv", "contract.pdf.txt")
PLANNED_BY_MODELS = ["general", "research-report", "support-desk"]
BY_TEMPLATE = [
    "code-review",
    "competitive-intelligence",
    "compliance-validation",
    "contract-review",
    "curriculum",
    "financial-compliance",
    "patient-case",
    "portfolio",
    "product-launch",
    "test-generation",
]
SHARING = ["compliance-validation", "portfolio"]
"""Teams whose workers look at the same records on purpose, independently of each other."""
NAMES = sorted([*PLANNED_BY_MODELS, *BY_TEMPLATE])
OBJECTIVES = [
    "What is 17 * 23?",
    "Write a haiku about the sea",
    "What is the capital of France?",
    "Compare PostgreSQL, MySQL and SQLite for a small web shop and recommend one.",
    "Compare the three largest cloud providers by price",
    "Research the market for e-bikes in Germany, calculate the growth rate from 1200 to 1500 and write a report.",
    "1. Check the login page\n2. Check the checkout\n3. Check the refund flow\nThen report.",
    "Which region has the highest total revenue?",
    "Find out why exports fail with E1042 since Monday, answer the customer, and escalate to engineering.",
    "Summarise the attached contract.",
    "What does https://example.org/news say about tea?",
    "Customer cannot log in after the update to version 4.2",
    "日本の首都は?",
    "Fix what app.log shows, commit the fix, search the web for its cause, save report.md and send the mail. See t2.",
    "Use the result of the previous task.",
    "x" * 5_000,
]


@pytest.fixture
async def teams() -> dict[str, Team]:
    async with Sandbox() as sandbox, PageFetcher(sandbox) as pages:
        return {team.name: team for team in teams_in(BUILT_IN_TEAMS, tools=catalogue(sandbox, pages))}


async def test_every_built_in_team_loads_under_the_name_of_its_file(teams: dict[str, Team]) -> None:
    assert sorted(teams) == sorted(file.stem for file in BUILT_IN_TEAMS.glob("*.yaml")) == NAMES


async def test_no_two_workers_of_a_team_share_a_tool_unless_that_is_the_point_of_it(teams: dict[str, Team]) -> None:
    for team in teams.values():
        tools = [tool for worker in team.workers for tool in worker.tools]
        assert (len(tools) > len(set(tools))) == (team.name in SHARING)
        assert team.tool_isolation == ("shared" if team.name in SHARING else "exclusive")


async def test_the_worker_that_reaches_the_web_never_sees_the_inputs(teams: dict[str, Team]) -> None:
    outside, inside = {"web_search", "fetch_page"}, {"read_input", "query_data"}

    both = [worker.name for team in teams.values() for worker in team.workers if _has(worker.tools, outside, inside)]

    assert both == []


def _has(tools: tuple[str, ...], *groups: set[str]) -> bool:
    return all(group & set(tools) for group in groups)


async def test_the_research_team_has_the_three_roles_with_their_tools(teams: dict[str, Team]) -> None:
    tools = {worker.name: set(worker.tools) for worker in teams["research-report"].workers}

    assert tools == {
        "researcher": {"web_search", "fetch_page"},
        "analyst": {"calculate", "query_data"},
        "writer": set(),
    }


async def test_the_support_team_has_its_three_roles(teams: dict[str, Team]) -> None:
    names = [worker.name for worker in teams["support-desk"].workers]

    assert names == ["troubleshooter", "documenter", "escalation-writer"]


async def test_every_example_is_a_sound_plan_for_its_own_team(teams: dict[str, Team]) -> None:
    examples = [(team, example) for team in teams.values() for example in team.supervisor.examples]

    assert examples
    for team, example in examples:
        crew = Crew(team, MEANS, team.limits, INPUTS_OF_EXAMPLES)
        plan = linted(validated(read_plan(example[example.index("{") :]), [*crew.workers], 12), crew)
        assert plan.validation.ok, plan.validation
        assert plan.validation.warnings == ()


@pytest.mark.parametrize("rules", ["PLAYBOOK.md", "playbook/rules.md", "our-Playbook.pdf.txt", None])
async def test_a_contract_is_held_against_rules_where_there_are_some_and_they_are_no_contract(
    teams: dict[str, Team], rules: str | None
) -> None:
    plan = plan_for(teams["contract-review"], [given(name, "1. x\n") for name in ("lease.md", rules) if name])

    looked = {task.id for task in plan.tasks}
    assert looked == {"money-1", "risk-1", "rest-1", "whole"} | (
        {"rules-1", "check-money", "check-risk", "check-rest"} if rules else set()
    )
    assert {each.item: [look.task for look in each.tasks] for each in plan.material}.get(rules or "", []) == (
        ["rules-1"] if rules else []
    )


async def test_every_team_is_bounded_in_money_and_time(teams: dict[str, Team]) -> None:
    for team in teams.values():
        assert team.limits.cost_usd is not None
        assert all(worker.timeout_s < team.limits.timeout_s for worker in team.workers)


@pytest.mark.parametrize("name", PLANNED_BY_MODELS)
@pytest.mark.parametrize("inputs", [(), (SALES,), (APP_LOG,), (SALES, APP_LOG)], ids=["none", "table", "text", "both"])
@pytest.mark.parametrize("objective", OBJECTIVES, ids=range(len(OBJECTIVES)))
async def test_the_demo_model_plans_soundly_for_every_team(
    teams: dict[str, Team], name: str, inputs: tuple[JobInput, ...], objective: str
) -> None:
    for allowed in (1, 3, 12):
        plan = await planned(teams[name], objective, inputs, allowed)
        assert plan.validation.ok, plan.validation
        assert serious_in(plan) == ()


@pytest.mark.parametrize("name", BY_TEMPLATE)
async def test_it_does_so_where_a_job_does_without_the_template(teams: dict[str, Team], name: str) -> None:
    for objective in OBJECTIVES:
        plan = await planned(teams[name], objective, (SALES, APP_LOG), 12)
        assert plan.validation.ok, plan.validation
        assert serious_in(plan) == ()


@pytest.mark.parametrize(
    ("question", "workers"),
    [
        ("My script times out after 30 seconds. What can I do?", ("troubleshooter", "documenter")),
        ("How do I set up a virtual environment?", ("documenter",)),
        ("A customer's feature request: an export to Excel.", ("escalation-writer", "documenter")),
        ("Customer cannot log in after the update to version 4.2", None),
    ],
)
async def test_the_support_desk_sends_plain_questions_to_whom_they_are_for(
    teams: dict[str, Team], question: str, workers: tuple[str, ...] | None
) -> None:
    rule = teams["support-desk"].rule_for_job(question, has_inputs=False)

    assert (rule and rule.workers) == workers
    assert teams["support-desk"].rule_for_job(question, has_inputs=True) is None
