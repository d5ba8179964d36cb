"""Rules that send jobs and tasks to fixed workers."""

from typing import Any

import pytest

from app.domain.team import Team
from tests.support.service import CREW, Service, plan_of, report, synthesis, task
from tests.support.stub_answers import as_json
from tests.support.stub_provider import StubProvider


def routing(*rules: tuple[list[str], str]) -> Team:
    values: list[dict[str, Any]] = [{"when": {"contains": phrases}, "worker": worker} for phrases, worker in rules]
    return Team.model_validate(CREW.model_dump() | {"routing": values})


async def test_a_job_that_fits_a_rule_is_one_task_and_needs_no_plan(service: Service, stub: StubProvider) -> None:
    stub.on("work", as_json(report("paid")))
    team = routing((["refund", "INVOICE 7"], "analyst"), (["invoice"], "writer"))

    run_id = await service.submit("Please check invoice 7.", team)
    run = await service.ended(run_id)

    assert (run["status"], run["result"]["answer"]) == ("succeeded", "paid")
    assert [seen.role for seen in stub.log] == ["work:analyst"]
    [only] = (await service.folded(run_id)).tasks.values()
    assert (only.task.instruction, only.task.worker) == ("Please check invoice 7.", "analyst")


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
