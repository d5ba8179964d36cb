"""Tokens and money: what does not fit is not begun, and there is always enough left to say what there is."""

import json
from decimal import Decimal
from typing import Any

import pytest

from app.domain import events as ev
from app.domain.events import Event
from tests.support.fixtures import Services
from tests.support.service import CREW, Service, plan_of, report, synthesis, task
from tests.support.stub_answers import Answer, as_json, held
from tests.support.stub_provider import StubProvider
from tests.support.stub_script import SeenRequest

MANY = plan_of(*(task(f"t{number}") for number in range(1, 51)))
ALL = [f"t{number}" for number in range(1, 51)]
TWO = plan_of(task("first"), task("second"))
FILLED = CREW.model_copy(update={"limits": CREW.limits.model_copy(update={"tasks": 50, "concurrency": 50})})
"""A team that does fifty tasks at once."""


def at_most(value: Any) -> Any:
    """An answer that consumes all that a request lets it: a token for each byte read, and a reply up to the cap."""

    def answer(seen: SeenRequest) -> Answer:
        read = len(json.dumps(seen.body, ensure_ascii=False).encode())
        return as_json(value, usage={"input_tokens": read, "output_tokens": seen.body["max_tokens"]})

    return answer


def exhausted_in(log: list[Event]) -> list[ev.BudgetExhausted]:
    return [event.data for event in log if isinstance(event.data, ev.BudgetExhausted)]


@pytest.mark.parametrize("limit", [{"tokens": 200_000}, {"cost_usd": "2.00"}], ids=["tokens", "money"])
async def test_fifty_workers_side_by_side_never_pass_a_limit(
    service: Service, stub: StubProvider, limit: dict[str, Any]
) -> None:
    stub.on("work", at_most(report("worth it")))
    stub.on("synthesize", at_most(synthesis("what there is", "t1", without=ALL)))

    run_id = await service.submit(team=FILLED, plan=MANY, limits=limit)
    run = await service.ended(run_id)

    usage, result = run["usage"], run["result"]
    assert (run["status"], run["stop_reason"], result["answer"]) == ("partial", "budget_exhausted", "what there is")
    assert usage["input_tokens"] + usage["output_tokens"] <= limit.get("tokens", 10**9)
    assert Decimal(usage["cost_usd"]) <= Decimal(limit.get("cost_usd", "1000"))
    assert 2 <= result["coverage"]["delivered"] < 50
    assert {gap["reason"] for gap in result["gaps"]} == {"budget_exceeded"}
    assert len(stub.of("work:writer")) == result["coverage"]["delivered"]  # No call was begun in vain.
    [exhausted] = exhausted_in(await service.events(run_id))
    assert (exhausted.limit, exhausted.call) == (next(iter(limit)), "work")


async def test_a_call_waits_for_the_room_that_calls_under_way_give_back(service: Service, stub: StubProvider) -> None:
    stub.on("work", held(as_json(report())))
    stub.on("synthesize", as_json(synthesis("all of it", "first", "second")))

    run_id = await service.submit(plan=TWO, limits={"tokens": 40_000})  # Room for one call at its worst, not for two.
    await service.until_logged(run_id, "task.started", 2)
    await stub.seen(1, role="work:writer")
    only = len(stub.log)
    stub.on("work", as_json(report()))
    stub.release()
    run = await service.ended(run_id)

    assert only == 1
    assert (run["status"], run["result"]["answer"]) == ("succeeded", "all of it")
    replies = [event.data for event in await service.events(run_id) if isinstance(event.data, ev.LlmCompleted)]
    assert sum(reply.room_ms > 0 for reply in replies) >= 1


async def test_the_last_room_is_given_to_a_shorter_reply(service: Service, stub: StubProvider) -> None:
    stub.on("work", as_json(report("brief")))

    run_id = await service.submit(plan=plan_of(task("only")), limits={"tokens": 10_000})
    run = await service.ended(run_id)

    assert (run["status"], run["result"]["answer"]) == ("succeeded", "brief")
    [asked] = stub.log
    assert 1_024 <= asked.body["max_tokens"] < 10_000


@pytest.mark.parametrize("limit", [{"tokens": 1_500}, {"cost_usd": "0.000001"}], ids=["tokens", "money"])
async def test_a_run_whose_first_call_does_not_fit_fails_without_one(
    service: Service, stub: StubProvider, limit: dict[str, Any]
) -> None:
    run_id = await service.submit(limits=limit)
    run = await service.ended(run_id)

    assert (run["status"], run["stop_reason"], run["result"]) == ("failed", "budget_exhausted", None)
    assert str(limit.get("tokens", "0.000001")) in run["error"]["message"]
    assert stub.log == []
    [exhausted] = exhausted_in(await service.events(run_id))
    assert (exhausted.call, exhausted.left) == ("plan", Decimal(0))


async def test_an_answer_for_which_nothing_is_left_is_not_asked_for(service: Service, stub: StubProvider) -> None:
    """A provider that counts more than there was to count leaves less than was kept."""
    stub.on("work", as_json(report("worth it"), usage={"input_tokens": 19_500, "output_tokens": 10}))

    run_id = await service.submit(plan=TWO, limits={"tokens": 40_000, "concurrency": 2})
    run = await service.ended(run_id)

    assert (run["status"], run["stop_reason"], run["result"]["answer"]) == ("partial", "budget_exhausted", None)
    assert [output["summary"] for output in run["result"]["outputs"]] == ["worth it", "worth it"]
    assert stub.of("synthesize") == []


async def test_a_task_has_a_budget_of_its_own(service: Service, stub: StubProvider) -> None:
    stub.on("work", as_json(report("worth it")))
    stub.on("synthesize", as_json(synthesis("half of it", "rich", without=["poor"])))
    plan = plan_of(task("rich"), task("poor", budget={"tokens": 2_000}))

    run_id = await service.submit(plan=plan)
    run = await service.ended(run_id)

    assert (run["status"], run["stop_reason"], run["result"]["answer"]) == ("partial", "gaps", "half of it")
    assert [(gap["task"], gap["reason"]) for gap in run["result"]["gaps"]] == [("poor", "budget_exceeded")]
    assert len(stub.of("work:writer")) == 1
    [unsent] = [event.data for event in await service.events(run_id) if isinstance(event.data, ev.LlmFailed)]
    assert (unsent.sent, unsent.error.code, unsent.usage.llm_calls) == (False, "budget_exceeded", 0)


QUICK: dict[str, Any] = {"lease_seconds": 0.6, "poll_seconds": 0.1}


async def test_what_is_kept_pays_for_an_answer_from_long_results(service: Service, stub: StubProvider) -> None:
    stub.on("work", as_json(report("x" * 6_000, summary="long"), usage={"input_tokens": 2_000, "output_tokens": 2_000}))
    stub.on("synthesize", as_json(synthesis("what there is", "t1", without=ALL)))

    run_id = await service.submit(team=FILLED, plan=MANY, limits={"tokens": 150_000, "concurrency": 4})
    run = await service.ended(run_id)

    assert (run["stop_reason"], run["result"]["answer"]) == ("budget_exhausted", "what there is")
    [exhausted] = exhausted_in(await service.events(run_id))
    assert exhausted.call == "work"


async def test_the_wait_for_room_is_not_the_workers_time(service: Service, stub: StubProvider) -> None:
    stub.on("work", replies=[as_json(report("slow"), delay_s=0.9)], reply=as_json(report("quick")))
    stub.on("synthesize", as_json(synthesis("all of it", "first", "second")))
    plan = plan_of(task("first"), task("second", budget={"timeout_s": 0.6}))

    run_id = await service.submit(plan=plan, limits={"tokens": 40_000, "attempts": 1})
    run = await service.ended(run_id)

    assert run["status"] == "succeeded"
    calls = [event.data for event in await service.events(run_id) if isinstance(event.data, ev.LlmCompleted)]
    assert sum(call.room_ms > 600 for call in calls) == 1


async def test_what_a_dead_process_may_have_spent_counts_towards_the_limit(
    services: Services, stub: StubProvider
) -> None:
    stub.on("work", held(as_json(report())))
    first = await services.start(**QUICK)
    run_id = await first.submit(plan=TWO, limits={"tokens": 100_000})
    await stub.seen(2, role="work:writer")
    stub.on("work", at_most(report("at last")))
    stub.on("synthesize", as_json(synthesis("in the end", "first", without=["first", "second"])))
    await services.crash(first)
    second = await services.start(**QUICK)

    run = await second.ended(run_id)

    [resumed] = [event.data for event in await second.events(run_id) if isinstance(event.data, ev.RunResumed)]
    reckoned = resumed.usage.amount.tokens + resumed.unsettled.tokens
    assert resumed.lost_calls == 2
    assert 2 * 16_000 < reckoned < 50_000
    usage = run["usage"]
    assert usage["input_tokens"] + usage["output_tokens"] + resumed.unsettled.tokens <= 100_000


async def test_a_call_that_only_waited_for_room_is_not_lost_with_its_process(
    services: Services, stub: StubProvider
) -> None:
    stub.on("work", held(as_json(report())))
    first = await services.start(**QUICK)
    run_id = await first.submit(team=FILLED, plan=MANY, limits={"tokens": 60_000})
    await first.until_logged(run_id, "task.started", 50)
    await stub.seen(2, role="work:writer")  # There is room for no more.
    sent = len(stub.log)
    stub.on("work", as_json(report("at last")))
    stub.on("synthesize", as_json(synthesis("in the end", "t1", without=ALL)))
    await services.crash(first)
    second = await services.start(**QUICK)

    run = await second.ended(run_id)

    [resumed] = [event.data for event in await second.events(run_id) if isinstance(event.data, ev.RunResumed)]
    assert resumed.lost_calls == sent
    assert run["stop_reason"] == "budget_exhausted"
    assert run["usage"]["input_tokens"] + run["usage"]["output_tokens"] + resumed.unsettled.tokens <= 60_000
