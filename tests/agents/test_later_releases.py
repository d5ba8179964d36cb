import asyncio
from typing import Any

from app.tools.tool import Arguments, ToolContext
from tests.support.fixtures import Services
from tests.support.service import Service, plan_of, report, task
from tests.support.stub_answers import as_json, call, held, tool_calls
from tests.support.stub_provider import StubProvider
from tests.support.toolbox import team_with, tool

QUICK: dict[str, Any] = {"lease_seconds": 0.6, "poll_seconds": 0.1}


class Sum(Arguments):
    """What there is to calculate."""

    expression: str


async def test_a_conversation_goes_on_with_the_model_it_began_with(services: Services, stub: StubProvider) -> None:
    stub.on("work", call=1, reply=tool_calls(call("calculate", {"expression": "6*7"})))
    stub.on("work", call=2, reply=held(as_json(report("42"))))
    stub.on("work", as_json(report("42")))
    first = await services.start(model_balanced="model-of-old", **QUICK)
    run_id = await first.submit(plan=plan_of(task("t1", "researcher")))
    await stub.seen(2, role="work:researcher")

    await services.crash(first)
    second = await services.start(model_balanced="model-of-now", **QUICK)
    run = await second.ended(run_id)

    assert run["status"] == "succeeded"
    assert [seen.body["model"] for seen in stub.log] == ["model-of-old"] * 3


async def test_what_the_demo_model_began_goes_on_with_the_workers_own_model(
    services: Services, stub: StubProvider
) -> None:
    calculating = asyncio.Event()

    async def hang(_: Any, __: ToolContext) -> str:
        calculating.set()
        await asyncio.Event().wait()
        return "never"

    first = await services.start(model="demo", tools=(tool("calculate", hang, arguments=Sum),), **QUICK)
    plan = plan_of(task("t1", "researcher", instruction="Calculate 6 * 7."))
    run_id = await first.submit(plan=plan)
    await asyncio.wait_for(calculating.wait(), 10)

    await services.crash(first)
    stub.on("work", as_json(report("42")))
    second = await services.start(model_balanced="model-of-now", **QUICK)
    run = await second.ended(run_id)

    assert (run["status"], run["result"]["answer"]) == ("succeeded", "42")
    [seen] = stub.log
    assert seen.body["model"] == "model-of-now"
    assert (await second.folded(run_id)).tasks["t1"].attempts[0].model == "demo"


async def test_a_worker_does_without_a_tool_that_is_no_more_and_is_told_when_it_calls_it(
    service: Service, stub: StubProvider
) -> None:
    kept, gone = (tool(name, lambda _, __: "found") for name in ("kept", "gone"))
    service.offer(kept)
    stub.on("work", call=1, reply=tool_calls(call("gone")))
    stub.on("work", as_json(report("done without")))

    run = await service.ended(await service.submit(team=team_with(kept, gone), plan=plan_of(task("t1", "keeper"))))

    assert (run["status"], run["result"]["answer"]) == ("succeeded", "done without")
    first, second = stub.log
    assert [offered["name"] for offered in first.body["tools"]] == ["kept"]
    [result] = second.body["messages"][-1]["content"]
    assert result["is_error"] is True
    assert "no tool 'gone'; your tools are: kept" in result["content"]
