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
    stub.on("synthesize", as_json(synthesis("half an answer", "quick")))

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


USAGE = {"input_tokens": 900, "output_tokens": 100}


@pytest.mark.parametrize("limit", [{"tokens": 1_500}, {"cost_usd": "0.005"}])
async def test_a_run_that_has_spent_its_limit_ends_with_what_is_there(
    service: Service, stub: StubProvider, limit: dict[str, object]
) -> None:
    plan = plan_of(*(task(f"t{number}") for number in range(5)))
    stub.on("work", as_json(report("worth it"), usage=USAGE))

    run = await service.ended(await service.submit(plan=plan, limits={"concurrency": 1, **limit}))

    assert (run["status"], run["stop_reason"], run["result"]["answer"]) == ("partial", "budget_exhausted", None)
    assert len(stub.log) == 2
    assert run["result"]["coverage"]["delivered"] == 2
    assert {gap["reason"] for gap in run["result"]["gaps"]} == {"budget_exceeded"}


@pytest.mark.parametrize("limit", [{"tokens": 1}, {"cost_usd": "0.000001"}])
async def test_a_run_that_spent_its_limit_on_the_plan_has_failed(
    service: Service, stub: StubProvider, limit: dict[str, object]
) -> None:
    stub.on("plan", as_json(TWO, usage=USAGE))

    run = await service.ended(await service.submit(limits=limit))

    assert (run["status"], run["stop_reason"]) == ("failed", "budget_exhausted")
    assert len(stub.log) == 1


async def test_a_run_that_is_complete_has_succeeded_even_if_its_last_call_spent_the_limit(
    service: Service, stub: StubProvider
) -> None:
    stub.on("work", as_json(report("all of it"), usage=USAGE))

    run = await service.ended(await service.submit(plan=plan_of(task("only")), limits={"tokens": 1_000}))

    assert (run["status"], run["result"]["answer"]) == ("succeeded", "all of it")


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
