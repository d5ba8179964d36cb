import asyncio
from collections import Counter
from contextlib import aclosing
from dataclasses import replace

import psycopg
import pytest

from app.domain import events as ev
from app.domain.events import Event
from app.domain.keys import DEFAULT_TENANT
from app.domain.policy.breakers import FAILURES_ALLOWED, Breaker, Fault, fail, reset, trip
from app.domain.retries import Patience
from app.domain.team import Team
from app.domain.worker import Worker
from app.llm.window import FIRST_CALLS
from app.store.breakers import BREAKERS_CHANNEL, Change, all_breakers, change_breaker
from app.tools.tool import Arguments, Tool, ToolContext
from tests.support.fixtures import Services
from tests.support.service import CREW, Service, plan_of, report, synthesis, task
from tests.support.stub_answers import (
    Answer,
    as_json,
    call,
    cut,
    delayed,
    held,
    low_credit,
    overloaded,
    rate_limited,
    tool_calls,
    unauthorized,
)
from tests.support.stub_provider import StubProvider
from tests.support.stub_script import SeenRequest
from tests.support.waiting import until

FIFTY = plan_of(*(task(f"t{number}") for number in range(50)))
PAIR = plan_of(task("a"), task("b"))
WRITER = "model:claude-sonnet-5-5"
"""The breaker of the workers' model."""


class Outage:
    """A provider that fails until it is told to live."""

    def __init__(self, failure: Answer, answer: Answer) -> None:
        self.over = False
        self._failure = failure
        self._answer = answer

    def __call__(self, _: SeenRequest) -> Answer:
        return self._answer if self.over else self._failure


def openings_in(log: list[Event]) -> list[tuple[str, str]]:
    return [(event.data.name, event.data.reason) for event in log if isinstance(event.data, ev.BreakerOpened)]


def closings_in(log: list[Event]) -> list[str]:
    return [event.data.name for event in log if isinstance(event.data, ev.BreakerClosed)]


def failing(fault: Fault, patience: Patience = Patience(retry_base_s=60)) -> Change:
    return lambda breaker, now: fail(breaker, fault, now, patience)


async def breaker_of(service: Service, name: str) -> Breaker:
    [found] = [each for each in await all_breakers(service.database, DEFAULT_TENANT) if each.name == name]
    return found


async def until_breaker_is(service: Service, name: str, state: str) -> None:
    """Return once the row of a breaker says so: it hears of a call's end beside the run, and tells every process."""
    async with (
        asyncio.timeout(10),
        await psycopg.AsyncConnection.connect(service.url, autocommit=True) as listener,
        aclosing(listener.notifies()) as notices,
    ):
        await listener.execute(f"LISTEN {BREAKERS_CHANNEL}")
        while (await breaker_of(service, name)).state != state:
            await anext(notices)


@pytest.mark.parametrize(("failure", "code"), [(unauthorized(), "provider_auth"), (low_credit(), "provider_billing")])
@pytest.mark.parametrize("slowly", [False, True])
async def test_of_fifty_ready_tasks_the_first_few_meet_a_dead_account(
    service: Service, stub: StubProvider, failure: Answer, code: str, slowly: bool
) -> None:
    stub.on("work", delayed(failure, 0.3) if slowly else failure)

    run_id = await service.submit(plan=FIFTY, limits={"concurrency": 50, "tasks": 50})
    run = await service.ended(run_id)

    assert (run["status"], run["stop_reason"]) == ("failed", code)
    assert len(stub.log) <= FIRST_CALLS
    assert openings_in(await service.events(run_id)) == [(WRITER, code)]


async def test_other_runs_fail_without_a_call_until_the_account_is_put_right(
    services: Services, stub: StubProvider
) -> None:
    service = await services.start(retry_base_s=60)
    account = Outage(unauthorized(), as_json(report()))
    stub.on("work", account)
    await service.ended(await service.submit(plan=plan_of(task("t1"))))

    run_id = await service.submit(plan=plan_of(task("t1")))
    held = await service.until(run_id, lambda row: row["status"] == "waiting")
    await change_breaker(service.database, DEFAULT_TENANT, WRITER, failing(Fault("provider_auth", about="another run")))
    await until(lambda: service.runtime.breakers.open_of(DEFAULT_TENANT)[WRITER].is_borne_out, 10)
    other = await service.ended(await service.submit(plan=plan_of(task("t1"))))
    account.over = True
    await change_breaker(service.database, DEFAULT_TENANT, WRITER, lambda breaker, _: reset(breaker))
    await service.until_breaker(WRITER, None)
    after = await service.ended(await service.submit(plan=plan_of(task("t1"))))

    run = await service.ended(run_id)
    assert (held["waiting_for"], run["status"]) == ("provider", "succeeded")
    assert (other["status"], other["stop_reason"], other["usage"]["llm_calls"]) == ("failed", "provider_auth", 0)
    assert openings_in(await service.events(other["id"])) == [(WRITER, "provider_auth")]
    assert after["status"] == "succeeded"
    assert len(stub.log) == 3


async def test_replies_that_begin_and_break_off_open_a_breaker(service: Service, stub: StubProvider) -> None:
    stub.on("work", cut(as_json(report()), events=3))

    run_id = await service.submit(plan=PAIR)
    log = await service.until_logged(run_id, "breaker.opened")

    assert openings_in(log) == [(WRITER, "provider_stream_incomplete")]


async def test_after_the_pause_one_call_finds_out_whether_the_account_is_put_right(
    service: Service, stub: StubProvider
) -> None:
    account = Outage(unauthorized(), as_json(report()))
    stub.on("work", account)
    await service.ended(await service.submit(plan=plan_of(task("t1"))))
    account.over = True
    await service.until_breaker_is_due(WRITER)

    run = await service.ended(await service.submit(plan=plan_of(task("t1"))))

    assert run["status"] == "succeeded"
    await until_breaker_is(service, WRITER, "closed")


@pytest.mark.parametrize("slowly", [False, True])
async def test_a_run_of_fifty_tasks_waits_for_an_overload_to_pass_and_sends_little_meanwhile(
    services: Services, stub: StubProvider, slowly: bool
) -> None:
    service = await services.start(call_attempts=10, park_after_s=0.1, poll_seconds=0.1)
    failure = delayed(overloaded(), 0.3) if slowly else overloaded()
    outage = Outage(failure, as_json(report()))
    stub.on("work", outage)
    stub.on("synthesize", as_json(synthesis()))

    run_id = await service.submit(plan=FIFTY, limits={"concurrency": 50, "tasks": 50})
    waiting = await service.until(run_id, lambda row: row["status"] == "waiting")
    first = len(stub.log)
    log = await service.until_logged(run_id, "llm.failed", FIRST_CALLS + 2)
    outage.over = True
    run = await service.ended(run_id)

    assert waiting["waiting_for"] == "provider"
    assert first <= FIRST_CALLS + 2
    assert run["status"] == "succeeded"
    attempts = Counter(event.task_id for event in await service.events(run_id) if event.type == "task.started")
    assert set(attempts.values()) == {1}
    assert openings_in(log) == [(WRITER, "provider_unavailable")]
    assert closings_in(await service.events(run_id)) == [WRITER]
    await until_breaker_is(service, WRITER, "closed")


async def test_a_synthesis_in_an_overload_is_parked_and_then_made_and_no_instruction_is_rewritten(
    services: Services, stub: StubProvider
) -> None:
    service = await services.start(park_after_s=0.1, poll_seconds=0.1)
    outage = Outage(overloaded(), as_json(synthesis("the answer", "a")))
    stub.on("work", as_json(report("found")))
    stub.on("synthesize", outage)

    run_id = await service.submit(plan=PAIR)
    await service.until_logged(run_id, "breaker.opened")
    await service.until(run_id, lambda row: row["status"] == "waiting")
    outage.over = True
    run = await service.ended(run_id)

    log = await service.events(run_id)
    assert (run["status"], run["result"]["answer"]) == ("succeeded", "the answer")
    assert not {event.type for event in log} & {"task.refined", "task.retrying", "task.failed"}
    assert len({seen.body_sha256 for seen in stub.of("synthesize")}) == 1


async def test_a_pause_that_the_provider_asks_for_is_kept_by_every_process(
    services: Services, stub: StubProvider
) -> None:
    first = await services.start()
    stub.on("work", replies=[rate_limited("30")], reply=as_json(report()))
    await first.until(await first.submit(plan=PAIR), lambda row: row["status"] == "waiting")
    await services.stop(first)
    second = await services.start()

    run_id = await second.submit(plan=plan_of(task("t1")))
    await second.until(run_id, lambda row: row["status"] == "waiting")

    assert len(stub.log) <= 2
    assert openings_in(await second.events(run_id)) == [(WRITER, "rate_limited")]


async def test_a_tripped_model_holds_what_would_begin_until_it_is_reset(service: Service, stub: StubProvider) -> None:
    stub.on("work", as_json(report()))
    await change_breaker(service.database, DEFAULT_TENANT, WRITER, trip)
    await service.until_breaker(WRITER, "open")

    run_id = await service.submit(plan=plan_of(task("t1")))
    waiting = await service.until(run_id, lambda row: row["status"] == "waiting")
    await change_breaker(service.database, DEFAULT_TENANT, WRITER, lambda breaker, _: reset(breaker))
    run = await service.ended(run_id)

    assert (waiting["waiting_for"], waiting["usage"]["llm_calls"]) == ("provider", 0)
    assert run["status"] == "succeeded"
    assert openings_in(await service.events(run_id)) == [(WRITER, "tripped")]


async def test_a_held_worker_goes_on_in_the_middle_of_its_conversation_and_keeps_its_time(
    services: Services, stub: StubProvider
) -> None:
    service = await services.start()
    stub.on("work", held(as_json(report())))
    run_id = await service.submit(plan=plan_of(task("t1", budget={"timeout_s": 60})))
    await stub.seen(1)
    await change_breaker(service.database, DEFAULT_TENANT, WRITER, trip)
    await service.until_breaker(WRITER, "open")
    stub.release()

    run = await service.ended(run_id)

    assert run["status"] == "succeeded"  # What is under way is never stopped.


async def test_a_probe_that_dies_with_its_process_may_be_taken_again(services: Services, stub: StubProvider) -> None:
    doomed = await services.start()
    doomed.runtime.patience = replace(doomed.runtime.patience, probe_s=1.5)
    stub.on("work", call=1, reply=held(as_json(report())))
    stub.on("work", as_json(report()))
    await change_breaker(doomed.database, DEFAULT_TENANT, WRITER, lambda b, now: replace(trip(b, now), probe_at=now))
    await doomed.until_breaker(WRITER, "open")
    run_id = await doomed.submit(plan=plan_of(task("t1")))
    await stub.seen(1)
    await until_breaker_is(doomed, WRITER, "half_open")

    await services.crash(doomed)
    other = await services.start()
    run = await other.ended(run_id)

    assert run["status"] == "succeeded"
    assert len(stub.log) == 2
    await until_breaker_is(other, WRITER, "closed")


STAND_IN = Team(
    name="stand-in",
    workers=(
        Worker(name="junior", description="Tries.", instructions="Try.", fallback="senior"),
        Worker(name="senior", description="Does.", instructions="Do."),
    ),
)


async def test_a_worker_that_keeps_failing_is_passed_over_for_its_fallback(
    service: Service, stub: StubProvider
) -> None:
    name = "worker:stand-in/junior"
    stub.on("work", as_json(report()))
    for number in range(FAILURES_ALLOWED):
        fault = Fault("max_steps", about=f"run {number}")
        await change_breaker(service.database, DEFAULT_TENANT, name, failing(fault))
    await service.until_breaker(name, "open")

    run_id = await service.submit(team=STAND_IN, plan=plan_of(task("t1", "junior")))
    run = await service.ended(run_id)

    assert run["status"] == "succeeded"
    assert [seen.role for seen in stub.log] == ["work:senior"]
    assert run["result"]["coverage"]["substituted"] == ["t1"]
    assert openings_in(await service.events(run_id)) == [(name, "max_steps")]


async def test_a_workers_failures_in_different_runs_open_its_breaker_and_a_success_closes_it(
    services: Services, stub: StubProvider
) -> None:
    service = await services.start()
    stub.on("work:junior", as_json({"nonsense": None, "summary": ""}))
    stub.on("work:senior", as_json(report()))
    stub.on("refine", as_json({"instruction": "Do it.", "change": "x"}))
    name = "worker:stand-in/junior"
    for _ in range(FAILURES_ALLOWED):
        await service.ended(
            await service.submit(team=STAND_IN, plan=plan_of(task("t1", "junior")), limits={"attempts": 1})
        )
    await service.until_breaker(name, "open")
    stub.on("work:junior", as_json(report()))
    await service.until_breaker_is_due(name)

    run = await service.ended(await service.submit(team=STAND_IN, plan=plan_of(task("t1", "junior"))))

    assert run["status"] == "succeeded"
    await service.until_breaker(name, None)


async def test_planning_is_told_what_is_out_of_order(service: Service, stub: StubProvider) -> None:
    stub.on("plan", as_json(plan_of(task("t1", "researcher"))))
    stub.on("work", as_json(report()))
    await change_breaker(service.database, DEFAULT_TENANT, "tool:calculate", trip)
    await change_breaker(service.database, DEFAULT_TENANT, "worker:crew/writer", trip)
    await service.until_breaker("worker:crew/writer", "open")

    run = await service.ended(await service.submit(team=CREW))

    [planned], [worked] = stub.of("plan"), stub.of("work")
    assert run["status"] == "succeeded"
    said = planned.body["messages"][0]["content"][0]["text"]
    assert "- worker writer\n- tool calculate" in said
    assert "tools" not in worked.body or "calculate" not in str(worked.body["tools"])


async def test_a_healthy_run_leaves_no_trace_in_the_breakers(service: Service, stub: StubProvider) -> None:
    stub.on("work", as_json(report()))

    run = await service.ended(await service.submit(plan=plan_of(task("t1"))))

    assert run["status"] == "succeeded"
    assert await all_breakers(service.database, DEFAULT_TENANT) == []


HANDY = Team(
    name="handy",
    workers=(Worker(name="hand", description="Tries.", instructions="Try.", tools=("stuck",)),),
)


def stuck_tool(calls: list[str]) -> Tool:
    """A tool that never comes to an end."""

    async def run(_: Arguments, context: ToolContext) -> str:
        calls.append(context.key)
        await asyncio.Event().wait()
        return ""

    return Tool("stuck", "Hangs.", Arguments, "read", run, timeout_s=0.05)


def tries_its_tool(seen: SeenRequest) -> Answer:
    """Asks for the tool, as often as it is offered and has not been tried."""
    tried = any(message["role"] == "assistant" for message in seen.body["messages"])
    return as_json(report()) if tried or "tools" not in seen.body else tool_calls(call("stuck"))


async def test_a_tool_that_hangs_in_run_after_run_is_left_alone_and_then_not_offered(
    services: Services, stub: StubProvider
) -> None:
    service, calls = await services.start(retry_base_s=60), list[str]()
    service.offer(stuck_tool(calls))
    stub.on("work", tries_its_tool)

    runs = [
        await service.ended(await service.submit(team=HANDY, plan=plan_of(task("t1", "hand"))))
        for _ in range(FAILURES_ALLOWED + 1)
    ]
    await service.until_breaker("tool:stuck", "open")

    assert {run["status"] for run in runs} == {"succeeded"}
    assert len(calls) == FAILURES_ALLOWED
    assert "tools" not in stub.log[-1].body
    assert openings_in(await service.events(runs[-1]["id"])) == [("tool:stuck", "tool_timeout")]


async def test_a_tool_is_offered_and_tried_again_once_its_pause_is_over(service: Service, stub: StubProvider) -> None:
    name, calls = "tool:stuck", list[str]()

    async def run(_: Arguments, context: ToolContext) -> str:
        calls.append(context.key)
        return "well again"

    service.offer(Tool("stuck", "Works again.", Arguments, "read", run))
    stub.on("work", tries_its_tool)
    for number in range(FAILURES_ALLOWED):
        fault = Fault("tool_timeout", about=f"run {number}")
        await change_breaker(service.database, DEFAULT_TENANT, name, failing(fault, Patience(retry_base_s=0.01)))
    await service.until_breaker_is_due(name)

    ended = await service.ended(await service.submit(team=HANDY, plan=plan_of(task("t1", "hand"))))

    assert (ended["status"], len(calls)) == ("succeeded", 1)
    await service.until_breaker(name, None)


async def test_who_must_use_a_tool_that_is_left_alone_is_not_to_blame(service: Service, stub: StubProvider) -> None:
    service.offer(stuck_tool([]))
    stub.on("work", as_json(report()))
    [hand] = HANDY.workers
    team = HANDY.model_copy(update={"workers": (hand.model_copy(update={"must_use": ("stuck",)}),)})
    await change_breaker(service.database, DEFAULT_TENANT, "tool:stuck", trip)
    await service.until_breaker("tool:stuck", "open")

    run = await service.ended(await service.submit(team=team, plan=plan_of(task("t1", "hand")), limits={"attempts": 1}))

    assert run["error"] is not None
    failed = [event.data for event in await service.events(run["id"]) if isinstance(event.data, ev.TaskFailed)]
    assert [each.error.code for each in failed] == ["breaker_open"]
    assert [each.name for each in await all_breakers(service.database, DEFAULT_TENANT)] == ["tool:stuck"]


async def test_a_tool_that_hangs_in_a_single_run_is_not_shut_for_others(services: Services, stub: StubProvider) -> None:
    service, calls = await services.start(), list[str]()
    service.offer(stuck_tool(calls))
    stub.on("work", call=1, reply=tool_calls(*(call("stuck") for _ in range(FAILURES_ALLOWED * 2))))
    stub.on("work", as_json(report()))

    run = await service.ended(await service.submit(team=HANDY, plan=plan_of(task("t1", "hand"))))

    assert (run["status"], len(calls)) == ("succeeded", FAILURES_ALLOWED * 2)
    assert (await breaker_of(service, "tool:stuck")).failures == 1


async def test_a_call_of_a_tool_that_is_left_alone_is_answered_at_once(service: Service, stub: StubProvider) -> None:
    calls = list[str]()
    service.offer(stuck_tool(calls))
    stub.on("work", call=1, reply=held(tool_calls(call("stuck"))))
    stub.on("work", as_json(report()))
    run_id = await service.submit(team=HANDY, plan=plan_of(task("t1", "hand")))
    await stub.seen(1)
    await change_breaker(service.database, DEFAULT_TENANT, "tool:stuck", trip)
    await service.until_breaker("tool:stuck", "open")
    stub.release()

    run = await service.ended(run_id)

    [failed] = [event.data for event in await service.events(run_id) if isinstance(event.data, ev.ToolFailed)]
    assert (run["status"], failed.error.code, calls) == ("succeeded", "breaker_open", [])
