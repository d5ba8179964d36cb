"""Rules that send jobs and tasks to fixed workers."""

from typing import Any

import pytest

from app.domain.team import Team
from tests.support.service import CREW, Service, plan_of, report, synthesis, task
from tests.support.stub_answers import as_json
from tests.support.stub_provider import StubProvider


def routing(*rules: tuple[list[str], str]) -> Team:
    return team_with(*({"when": {"contains": phrases}, "worker": worker} for phrases, worker in rules))


def team_with(*rules: dict[str, Any]) -> Team:
    return Team.model_validate(CREW.model_dump() | {"routing": rules})


async def test_a_job_that_fits_a_rule_is_one_task_and_needs_no_plan(service: Service, stub: StubProvider) -> None:
    stub.on("work", as_json(report("paid")))
    team = routing((["refund", "INVOICE 7"], "analyst"), (["invoice"], "writer"))

    run_id = await service.submit("Please check invoice 7.", team)
    run = await service.ended(run_id)

    assert (run["status"], run["result"]["answer"]) == ("succeeded", "paid")
    assert [seen.role for seen in stub.log] == ["work:analyst"]
    [only] = (await service.folded(run_id)).tasks.values()
    assert (only.task.instruction, only.task.worker) == ("Please check invoice 7.", "analyst")


FIRST_THEN = {"worker": "analyst", "secondary": {"worker": "writer", "instruction": "Write the reply."}}


async def test_a_rule_may_have_a_second_worker_take_up_what_the_first_has_found(
    service: Service, stub: StubProvider
) -> None:
    stub.on("work:analyst", as_json(report("paid twice")))
    stub.on("work:writer", as_json(report("Dear customer")))
    stub.on("synthesize", as_json(synthesis("Dear customer", "t1", "t2")))
    team = team_with(FIRST_THEN | {"when": {"contains": ["refund"]}})

    run_id = await service.submit("A refund, please.", team)
    run = await service.ended(run_id)

    assert (run["status"], run["result"]["answer"]) == ("succeeded", "Dear customer")
    assert [seen.role for seen in stub.log] == ["work:analyst", "work:writer", "synthesize"]
    second = (await service.folded(run_id)).tasks["t2"].task
    assert (second.instruction, second.context, second.depends_on) == ("Write the reply.", "A refund, please.", ("t1",))
    assert "paid twice" in str(stub.of("work:writer")[0].body["messages"])


async def test_a_job_that_may_have_one_task_goes_to_the_first_worker_alone(
    service: Service, stub: StubProvider
) -> None:
    stub.on("work", as_json(report("paid")))
    team = team_with(FIRST_THEN | {"when": {"contains": ["refund"]}})

    run = await service.ended(await service.submit("A refund, please.", team, limits={"tasks": 1}))

    assert (run["status"], [seen.role for seen in stub.log]) == ("succeeded", ["work:analyst"])


@pytest.mark.parametrize(
    ("when", "inputs", "applies_to", "planned"),
    [
        ({"inputs": False}, 0, "both", False),
        ({"inputs": False}, 1, "both", True),
        ({"inputs": True}, 0, "both", True),
        ({"inputs": True}, 1, "jobs", False),
        ({}, 1, "jobs", False),
        ({}, 0, "tasks", True),
    ],
)
async def test_a_rule_may_be_for_jobs_with_or_without_inputs_and_for_jobs_or_tasks_alone(
    service: Service, stub: StubProvider, when: dict[str, Any], inputs: int, applies_to: str, planned: bool
) -> None:
    stub.on("plan", as_json(plan_of(task("t1", instruction="Look into the refund."))))
    stub.on("work", as_json(report()))
    team = team_with(
        {"when": {"contains": ["refund"], **when}, "worker": "analyst", "applies_to": applies_to},
    )
    given = [{"name": "mail.txt", "content": "Please."}] * inputs

    await service.ended(await service.submit("A refund.", team, inputs=given))

    by_rule = planned and applies_to == "tasks"
    worker = "work:analyst" if by_rule or not planned else "work:writer"
    assert [seen.role for seen in stub.log] == [*(["plan"] if planned else []), worker]


async def test_a_planned_task_that_fits_a_rule_goes_to_its_worker(service: Service, stub: StubProvider) -> None:
    stub.on("plan", as_json(plan_of(task("t1", "writer", instruction="Look into the Refund."), task("t2", "nobody"))))
    stub.on("plan", call=2, reply=as_json(plan_of(task("t1", instruction="Look into the Refund."), task("t2"))))
    stub.on("work", as_json(report()))
    stub.on("synthesize", as_json(synthesis("all of it", "t1", "t2")))

    run = await service.ended(await service.submit("Find out.", routing((["refund"], "analyst"))))

    assert run["status"] == "succeeded"
    assert sorted(seen.role for seen in stub.of("work")) == ["work:analyst", "work:writer"]
    assert len(stub.of("plan")) == 2  # A rule mends no plan that is wrong elsewhere.


async def test_the_clients_own_plan_is_left_alone(service: Service, stub: StubProvider) -> None:
    stub.on("work", as_json(report()))

    await service.ended(await service.submit("A refund.", routing((["refund"], "analyst")), plan=plan_of(task("t1"))))

    assert [seen.role for seen in stub.log] == ["work:writer"]


async def test_an_objective_that_is_no_instruction_is_planned(service: Service, stub: StubProvider) -> None:
    stub.on("plan", as_json(plan_of(task("t1"))))
    stub.on("work", as_json(report()))

    await service.ended(await service.submit("refund " * 20_000, routing((["refund"], "analyst"))))

    assert [seen.role for seen in stub.log] == ["plan", "work:writer"]


@pytest.mark.parametrize("rule", [([], "analyst"), ([""], "analyst"), (["x"], "nobody")])
def test_a_rule_names_phrases_and_a_worker_of_the_team(rule: tuple[list[str], str]) -> None:
    with pytest.raises(ValueError, match=r"contains|nobody"):
        routing(rule)


def test_a_team_without_rules_is_stored_as_before() -> None:
    team = routing((["x"], "analyst"))

    assert "routing" not in CREW.definition
    assert Team.model_validate_json(team.definition) == team


def test_a_rule_that_says_no_more_than_before_is_stored_as_before() -> None:
    old = routing((["x"], "analyst")).definition
    new = team_with(FIRST_THEN | {"when": {"contains": ["x"], "inputs": False}, "applies_to": "jobs"})

    assert '"routing":[{"when":{"contains":["x"]},"worker":"analyst"}]' in old
    assert Team.model_validate_json(new.definition) == new


def test_the_second_worker_of_a_rule_is_one_of_the_team() -> None:
    with pytest.raises(ValueError, match="nobody"):
        team_with(
            {"when": {"contains": ["x"]}, "worker": "analyst", "secondary": {"worker": "nobody", "instruction": "x"}}
        )
