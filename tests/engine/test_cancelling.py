import asyncio
from typing import Any

from app.domain import events as ev
from app.domain.events import RUN_ENDS
from app.store.wakeups import Wakeups
from app.tools.tool import ToolContext
from tests.support.fixtures import Services
from tests.support.rows import every
from tests.support.service import Service, plan_of, report, synthesis, task
from tests.support.stub_answers import as_json, call, delayed, held, rate_limited, tool_calls
from tests.support.stub_provider import StubProvider
from tests.support.toolbox import team_with, tool

TWO = plan_of(task("a"), task("b"))


async def ends_of(service: Service, run_id: str) -> list[str]:
    return [event.type for event in await service.events(run_id) if event.type in RUN_ENDS]


async def test_a_run_cancelled_during_its_synthesis_stays_cancelled_whatever_comes_later(
    service: Service, stub: StubProvider
) -> None:
    stub.on("work", as_json(report("found")))
    stub.on("synthesize", held(as_json(synthesis())))
    run_id = await service.submit(plan=TWO)
    asked = await stub.seen(1, role="synthesize")

    assert await service.cancel(run_id) is True
    run = await service.ended(run_id, timeout_s=2)
    stub.release()

    assert await stub.ended(asked) == "client_disconnected"
    assert (run["status"], run["stop_reason"], run["result"]) == ("cancelled", "cancelled", None)
    assert await ends_of(service, run_id) == ["run.cancelled"]
    assert (run["usage"]["llm_calls"], run["usage"]["estimated"]) == (3, True)
    outputs = await every(service.database, "SELECT output FROM tasks WHERE status = 'succeeded'")
    assert [row["output"]["text"] for row in outputs] == ["found", "found"]


async def test_the_receipt_says_what_was_stopped_and_what_was_still_spent(service: Service, stub: StubProvider) -> None:
    stub.on("work:researcher", held(as_json(report())))
    stub.on("work", as_json(report()))
    run_id = await service.submit(
        plan=plan_of(task("done"), task("open", "researcher"), task("next", "writer", ["open"]))
    )
    await stub.seen(1, role="work:researcher")
    await service.until_logged(run_id, "task.succeeded")

    await service.cancel(run_id)
    receipt = (await service.ended(run_id))["cancellation"]

    assert receipt["reason"] == "changed my mind"
    assert receipt["completed_at"] is not None
    assert float(receipt["cost_usd_after_request"]) > 0
    assert {each["task"]: (each["status"], each["stopped_at"] is None) for each in receipt["tasks"]} == {
        "done": ("succeeded", True),
        "open": ("cancelled", False),
        "next": ("cancelled", False),
    }


async def test_calls_that_were_never_sent_cost_a_cancelled_run_nothing(services: Services, stub: StubProvider) -> None:
    service = await services.start(model_calls_at_once=1)
    stub.on("work", held(as_json(report())))
    run_id = await service.submit(plan=plan_of(task("a"), task("b"), task("c")))
    await stub.seen(1)

    await service.cancel(run_id)
    run = await service.ended(run_id)

    stopped = [event.data for event in await service.events(run_id) if isinstance(event.data, ev.LlmFailed)]
    assert sorted((each.sent, each.usage.llm_calls) for each in stopped) == [(False, 0), (False, 0), (True, 1)]
    assert run["usage"]["llm_calls"] == 1


async def test_a_run_that_has_ended_cannot_be_cancelled(service: Service, stub: StubProvider) -> None:
    stub.on("work", as_json(report()))
    run_id = await service.submit(plan=plan_of(task("only")))
    await service.ended(run_id)

    assert await service.cancel(run_id) is False
    assert await ends_of(service, run_id) == ["run.succeeded"]


async def test_a_run_that_does_not_exist_cannot_be_cancelled(service: Service) -> None:
    assert await service.cancel("run_nowhere") is None


async def test_cancelling_twice_changes_nothing(service: Service, stub: StubProvider) -> None:
    stub.on("work", held(as_json(report())))
    run_id = await service.submit(plan=plan_of(task("only")))
    await stub.seen(1)

    first, second = await asyncio.gather(service.cancel(run_id), service.cancel(run_id))
    await service.ended(run_id)

    assert first is True
    assert second in (True, False)
    asked = [event for event in await service.events(run_id) if event.type == "run.cancel_requested"]
    assert len(asked) == 1


async def test_whichever_of_end_and_cancel_is_first_is_what_stands(service: Service, stub: StubProvider) -> None:
    stub.on("work", delayed(as_json(report()), 0.02))

    async def cancelled_after(milliseconds: int) -> tuple[bool | None, str]:
        run_id = await service.submit(plan=plan_of(task("only")))
        await asyncio.sleep(milliseconds / 1000)  # The moment of the cancel is what this test varies.
        accepted = await service.cancel(run_id)
        run = await service.ended(run_id)
        assert len(await ends_of(service, run_id)) == 1
        return accepted, run["status"]

    outcomes = [await cancelled_after(milliseconds) for milliseconds in range(0, 80, 2)]

    assert set(outcomes) <= {(True, "cancelled"), (False, "succeeded")}


async def test_a_run_nobody_executes_is_cancelled_on_the_spot(services: Services, stub: StubProvider) -> None:
    service = await services.start(engine=False)
    run_id = await service.submit()

    assert await service.cancel(run_id) is True

    run = await service.ended(run_id, timeout_s=1)
    assert (run["status"], run["started_at"], stub.log) == ("cancelled", None, [])
    await services.start()
    assert await ends_of(service, run_id) == ["run.cancelled"]
    assert stub.log == []


async def test_a_cancel_reaches_the_engine_from_any_process(services: Services, stub: StubProvider) -> None:
    executing, other = await services.start(), await services.start(engine=False)
    stub.on("work", held(as_json(report())))
    run_id = await executing.submit(plan=plan_of(task("only")))
    await stub.seen(1)

    assert await other.cancel(run_id) is True

    assert (await other.ended(run_id, timeout_s=2))["status"] == "cancelled"
    assert await stub.ended(stub.log[0]) == "client_disconnected"


async def test_a_cancel_whose_wake_up_is_lost_is_seen_at_the_next_renewal(
    services: Services, stub: StubProvider, database_url: str
) -> None:
    service = await services.start(lease_seconds=1)
    service.runtime.wakeups = Wakeups(database_url)  # It does not listen.
    stub.on("work", held(as_json(report())))
    run_id = await service.submit(plan=plan_of(task("only")))
    await stub.seen(1)
    await service.until_logged(run_id, "task.started")

    await service.cancel(run_id)

    assert (await service.ended(run_id, timeout_s=3))["status"] == "cancelled"


async def test_a_cancel_stops_tools_as_well(service: Service, stub: StubProvider) -> None:
    begun, stopped = asyncio.Event(), asyncio.Event()

    async def hang(_: Any, __: ToolContext) -> str:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()
        return ""

    hangs = tool("hangs", hang)
    service.offer(hangs)
    stub.on("work", tool_calls(call("hangs")))
    run_id = await service.submit(team=team_with(hangs), plan=plan_of(task("t1", "keeper")))
    await asyncio.wait_for(begun.wait(), 10)

    await service.cancel(run_id)

    assert (await service.ended(run_id))["status"] == "cancelled"
    assert stopped.is_set()


async def test_a_cancel_does_not_wait_for_the_end_of_a_backoff(services: Services, stub: StubProvider) -> None:
    service = await services.start(retry_base_s=4)
    stub.on("work", rate_limited())
    run_id = await service.submit(plan=plan_of(task("only")))
    await service.until_logged(run_id, "llm.failed")

    await service.cancel(run_id)

    assert (await service.ended(run_id, timeout_s=2))["status"] == "cancelled"
