import pytest

from tests.support.service import Service, plan_of, report, synthesis, task
from tests.support.stub_answers import as_json, held
from tests.support.stub_provider import StubProvider

TWO = plan_of(task("quick"), task("slow", "researcher"))


async def test_shortly_before_the_deadline_work_stops_and_what_is_there_is_reconciled(
    service: Service, stub: StubProvider
) -> None:
    stub.on("work:researcher", held(as_json(report())))
    stub.on("work", as_json(report("in time")))
    stub.on("synthesize", as_json(synthesis("half an answer", "quick", without=["slow"])))

    run = await service.ended(await service.submit(plan=TWO, limits={"timeout_s": 1.5}))

    assert (run["status"], run["stop_reason"]) == ("partial", "deadline_exceeded")
    assert run["result"]["answer"] == "half an answer"
    assert [(gap["task"], gap["reason"]) for gap in run["result"]["gaps"]] == [("slow", "timeout")]
    assert run["timing"]["wall_ms"] <= 1_500
    [slow] = stub.of("work:researcher")
    assert await stub.ended(slow) == "client_disconnected"
    assert run["usage"]["estimated"] is True


async def test_at_the_deadline_a_run_hands_over_its_outputs_without_an_answer(
    service: Service, stub: StubProvider
) -> None:
    stub.on("work", as_json(report("in time")))
    stub.on("synthesize", held(as_json(synthesis())))

    run = await service.ended(await service.submit(plan=TWO, limits={"timeout_s": 0.8}))

    assert (run["status"], run["stop_reason"], run["result"]["answer"]) == ("partial", "deadline_exceeded", None)
    assert [output["summary"] for output in run["result"]["outputs"]] == ["in time", "in time"]


@pytest.mark.parametrize("role", ["plan", "work"])
async def test_a_run_that_has_nothing_at_its_deadline_has_failed(
    service: Service, stub: StubProvider, role: str
) -> None:
    stub.on("plan", as_json(TWO))
    stub.on(role, held(as_json(TWO)))

    run = await service.ended(await service.submit(limits={"timeout_s": 0.6}))

    assert (run["status"], run["stop_reason"], run["result"]) == ("failed", "deadline_exceeded", None)


async def test_an_attempt_has_its_own_time_and_the_reply_that_takes_longer_is_dropped(
    service: Service, stub: StubProvider
) -> None:
    stub.on("work", as_json(report(), stall_after_events=4, latch="never"))
    plan = plan_of(task("t1", budget={"timeout_s": 0.2}))

    run_id = await service.submit(plan=plan, limits={"attempts": 1})
    run = await service.ended(run_id)

    assert run["status"] == "failed"
    error = (await service.folded(run_id)).tasks["t1"].error
    assert error is not None
    assert error.code == "timeout"
    assert await stub.ended(stub.log[0]) == "client_disconnected"
