from typing import Any

from app.domain.events import PlanCreated
from app.domain.keys import DEFAULT_TENANT
from app.domain.planned_worker import DynamicWorkers
from app.domain.team import Team
from app.store.breakers import all_breakers
from tests.support.fixtures import Services
from tests.support.rows import check_rows
from tests.support.service import CREW, Service, plan_of, report, synthesis, task
from tests.support.stub_answers import as_json, call, held, tool_calls
from tests.support.stub_provider import StubProvider
from tests.support.stub_script import system_of
from tests.support.toolbox import tool

OPEN = CREW.model_copy(update={"name": "open", "dynamic_workers": DynamicWorkers(tools=("measure",))})
SURVEYOR: dict[str, Any] = {
    "name": "surveyor",
    "description": "Measures plots.",
    "instructions": "Measure every side twice.",
    "model": "fast",
    "tools": ["measure"],
}
PLAN = plan_of(
    task("t1", "surveyor", instruction="Measure the plot behind the mill."),
    task("t2", "writer", ["t1"], instruction="Write a note on the area that you are given."),
    workers=[SURVEYOR],
)
MEASURE = tool("measure", lambda _, __: "20 by 30 metres")
QUICK: dict[str, Any] = {"lease_seconds": 0.6, "poll_seconds": 0.1}


def prepare(stub: StubProvider) -> None:
    stub.on("plan", as_json(PLAN))
    stub.on("work:surveyor", call=1, reply=tool_calls(call("measure", {})))
    stub.on("work", as_json(report("600 square metres")))
    stub.on("synthesize", as_json(synthesis("600 square metres", "t1", "t2")))


async def test_a_plan_brings_a_worker_along_that_works_with_its_own_words_and_tools(
    services: Services, stub: StubProvider
) -> None:
    prepare(stub)
    service = await services.start(tools=(MEASURE,))

    run_id = await service.submit(team=OPEN)
    run = await service.ended(run_id)

    assert (run["status"], run["result"]["answer"]) == ("succeeded", "600 square metres")
    [planning] = stub.of("plan")
    assert "define one in workers, 5 at most" in system_of(planning.body)
    first, _ = stub.of("work:surveyor")
    assert "Measure every side twice." in system_of(first.body)
    assert [offered["name"] for offered in first.body["tools"]] == ["measure"]
    assert first.body["model"] == service.runtime.model.model_id("fast")
    [made] = [event.data for event in await service.events(run_id) if isinstance(event.data, PlanCreated)]
    assert [worker.model_dump(mode="json") for worker in made.workers] == [SURVEYOR]
    assert made.quote is not None
    await check_rows(service.database, run_id)


async def test_another_process_goes_on_with_a_worker_that_a_plan_has_brought(
    services: Services, stub: StubProvider
) -> None:
    stub.on("work:surveyor", call=2, reply=held(as_json(report("600 square metres"))))
    prepare(stub)
    first = await services.start(tools=(MEASURE,), **QUICK)
    run_id = await first.submit(team=OPEN)
    await stub.seen(2, role="work:surveyor")

    await services.crash(first)
    second = await services.start(tools=(MEASURE,), **QUICK)
    run = await second.ended(run_id)

    assert run["status"] == "succeeded"
    assert len(stub.of("plan")) == 1
    assert {system_of(seen.body) for seen in stub.of("work:surveyor")} == {system_of(stub.of("work:surveyor")[0].body)}


async def test_what_such_a_worker_fails_at_is_held_against_nobody_of_its_name(
    service: Service, stub: StubProvider
) -> None:
    team = Team.model_validate(OPEN.model_dump() | {"dynamic_workers": True, "limits": {"attempts": 1}})
    alone = plan_of(PLAN["tasks"][0], workers=[SURVEYOR | {"tools": []}])
    stub.on("plan", as_json(alone))
    stub.on("work", as_json({"summary": ""}))

    for _ in range(4):
        run = await service.ended(await service.submit(team=team))
        assert run["stop_reason"] == "no_results"

    assert [each.name for each in await all_breakers(service.database, DEFAULT_TENANT)] == []
