"""A run that goes on in another process is one trace at the collector, though the first had brought nothing there."""

import pytest

from tests.support.collector import attributes, check_trees, collecting
from tests.support.processes import Replicas, post_job, run_at_end
from tests.support.service import plan_of, report, task
from tests.support.stub_answers import Answer, as_json, call, held, tool_calls
from tests.support.stub_provider import StubProvider
from tests.support.stub_script import SeenRequest


async def test_a_run_of_a_killed_replica_is_one_trace_whose_every_parent_is_there(
    replicas: Replicas, stub: StubProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    def answer(seen: SeenRequest) -> Answer:
        if "Do first." in str(seen.body):
            return as_json(report("A"))
        return tool_calls(call("calculate", {"expression": "6*7"})) if seen.call == 2 else held(as_json(report("B")))

    stub.on("work", answer)
    async with collecting() as collector:
        for name, value in collector.environment.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "60000")
        first = await replicas.start()
        monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "50")
        tasks = [task("first", "analyst"), task("second", "analyst", ["first"])]
        run_id = await post_job(first, plan=plan_of(*tasks))
        await stub.seen(3, role="work")
        await first.kill()
        assert collector.spans == []

        second = await replicas.start()
        await stub.seen(4, role="work")
        stub.release()
        run = await run_at_end(second, run_id)
        await collector.until("invoke_workflow general")

    assert run["status"] == "succeeded"
    spans = collector.of_trace(run_id.removeprefix("run_"))
    check_trees(spans)
    names = {attributes(span)["chargehand.span"] for span in spans}
    assert names >= {"run", "plan", "task:first", "attempt:first:1", "task:second", "attempt:second:1"}
    assert "execute_tool calculate" in {span.name for span in spans}
    assert {told["service.name"] for told in collector.resources} == {"chargehand"}
