import asyncio
from collections import Counter
from typing import Any

import pytest

from app.domain import events as ev
from app.domain.events import RUN_ENDS, Effect, Event
from app.tools.tool import ToolContext
from tests.support.fixtures import Services
from tests.support.rows import every
from tests.support.service import CREW, Service, plan_of, report, synthesis, task
from tests.support.stub_answers import Answer, as_json, call, held, server_error, text, tool_calls
from tests.support.stub_provider import StubProvider
from tests.support.stub_script import Script, SeenRequest
from tests.support.toolbox import team_with, tool

FORK = plan_of(task("a", "researcher"), task("b", "analyst"), task("c", "writer", ["a", "b"]))
KEEP = plan_of(task("t1", "keeper"))
QUICK: dict[str, Any] = {"lease_seconds": 0.6, "poll_seconds": 0.1}


def research(seen: SeenRequest) -> Answer:
    """Calculate first, then report: decided by the conversation alone, as a model would."""
    if len(seen.body["messages"]) == 1:
        return tool_calls(call("calculate", {"expression": "6*7"}, call_id="sum"))
    return as_json(report("It is 42."))


SCRIPTS: dict[str, Script] = {
    "plan": as_json(FORK),
    "work:researcher": research,
    "work:analyst": as_json(report("fine")),
    "work:writer": as_json(report("fine")),
    "refine": as_json({"instruction": "Do less of b.", "change": "less"}),
    "synthesize": as_json(synthesis("the answer", "a", "c")),
}


def script_crew(stub: StubProvider) -> None:
    for role, script in SCRIPTS.items():
        stub.on(role, script)


def held_back(role: str) -> Script:
    """What the role would say, held back."""
    script = SCRIPTS[role]
    return held(script) if isinstance(script, Answer) else lambda seen: held(research(seen))


def resumed_in(log: list[Event]) -> list[ev.RunResumed]:
    return [event.data for event in log if isinstance(event.data, ev.RunResumed)]


POINTS = [
    ("plan", 1, 0),
    ("work:researcher", 1, 2),
    ("work:researcher", 2, 3),
    ("work:analyst", 1, 3),
    ("work:writer", 1, 4),
    ("synthesize", 1, 5),
    ("refine", 1, 5),
    ("work:analyst", 3, 6),
]
"""Whose call, which of them, and how many others are answered meanwhile."""


@pytest.mark.parametrize(("role", "number", "answered"), POINTS)
async def test_a_run_whose_process_dies_goes_on_elsewhere_and_no_finished_call_is_repeated(
    services: Services, stub: StubProvider, role: str, number: int, answered: int
) -> None:
    script_crew(stub)
    if (role, number) in {("refine", 1), ("work:analyst", 3)}:
        stub.on("work:analyst", call=1, reply=text('{"summary": ""}'))
        stub.on("work:analyst", call=2, reply=text('{"summary": ""}'))
    stub.on(role, call=number, reply=held_back(role))
    first = await services.start(**QUICK)
    run_id = await first.submit()
    open_call = await stub.seen(number, role=role)
    await first.until_logged(run_id, "llm.completed", answered)

    await services.crash(first)
    second = await services.start(**QUICK)
    run = await second.ended(run_id)

    assert (run["status"], run["result"]["answer"]) == ("succeeded", "the answer")
    answers = Counter(seen.body_sha256 for seen in stub.log if seen.outcome == "answered")
    assert max(answers.values()) == 1
    assert open_call.outcome == "client_disconnected"
    assert answers[open_call.body_sha256] == 1
    [resumed] = resumed_in(await second.events(run_id))
    assert resumed.lost_calls == 1
    assert resumed.usage.estimated is True
    assert run["usage"]["llm_calls"] == len(stub.log)
    assert run["usage"]["tool_calls"] == 1


@pytest.mark.parametrize("died_in_tool", [True, False])
async def test_a_tool_result_that_was_recorded_is_used_again_and_not_fetched_again(
    services: Services, stub: StubProvider, died_in_tool: bool
) -> None:
    sent: list[str] = []
    looking, may_look = asyncio.Event(), asyncio.Event()

    async def send(_: Any, context: ToolContext) -> str:
        sent.append(context.key)
        return f"sent number {len(sent)}"

    async def look_up(_: Any, __: ToolContext) -> str:
        looking.set()
        await may_look.wait()
        return "found"

    tools = (tool("send_mail", send, effect="once"), tool("look_up", look_up))
    both = tool_calls(call("send_mail", call_id="mail"), call("look_up", call_id="look"))
    stub.on("work", lambda seen: both if len(seen.body["messages"]) == 1 else as_json(report()))
    if not died_in_tool:
        may_look.set()
        stub.on("work", call=2, reply=held(as_json(report())))
    first = await services.start(tools=tools, **QUICK)
    run_id = await first.submit(team=team_with(*tools), plan=KEEP)
    await asyncio.wait_for(looking.wait(), 10)
    await first.until_logged(run_id, "tool.completed", 1 if died_in_tool else 2)
    if not died_in_tool:
        await stub.seen(2, role="work")

    await services.crash(first)
    may_look.set()
    second = await services.start(tools=tools, **QUICK)
    run = await second.ended(run_id)

    assert run["status"] == "succeeded"
    assert len(sent) == 1
    results = stub.log[-1].body["messages"][-1]["content"]
    assert [(block["tool_use_id"], block["content"]) for block in results] == [
        ("mail", "sent number 1"),
        ("look", "found"),
    ]
    assert run["usage"]["tool_calls"] == 2


@pytest.mark.parametrize(
    ("effect", "later", "runs"),
    [
        ("once", "once", 1),
        ("once", "read", 1),  # A server says something else of its tool now.
        ("read", "once", 1),
        ("idempotent", "idempotent", 2),
        ("read", "read", 2),
    ],
)
async def test_a_tool_that_had_begun_is_repeated_only_if_that_is_harmless(
    services: Services, stub: StubProvider, effect: Effect, later: Effect, runs: int
) -> None:
    keys: list[str] = []
    begun = asyncio.Event()

    async def act(_: Any, context: ToolContext) -> str:
        keys.append(context.key)
        begun.set()
        if len(keys) == 1:
            await asyncio.Event().wait()
        return "acted"

    acts = tool("act", act, effect=effect)
    stub.on(
        "work",
        lambda seen: tool_calls(call("act", call_id="x")) if len(seen.body["messages"]) == 1 else as_json(report()),
    )
    first = await services.start(tools=[acts], **QUICK)
    run_id = await first.submit(team=team_with(acts), plan=KEEP)
    await asyncio.wait_for(begun.wait(), 10)

    await services.crash(first)
    second = await services.start(tools=[tool("act", act, effect=later)], **QUICK)
    run = await second.ended(run_id)

    assert run["status"] == "succeeded"
    assert (len(keys), len(set(keys))) == (runs, 1)
    [result] = stub.log[-1].body["messages"][-1]["content"]
    assert result["is_error"] is (runs == 1)
    if runs == 1:
        codes = [
            event.data.error.code for event in await second.events(run_id) if isinstance(event.data, ev.ToolFailed)
        ]
        assert codes == ["tool_outcome_unknown"]


async def test_a_process_that_was_cut_off_and_comes_back_writes_nothing_more(
    services: Services, stub: StubProvider
) -> None:
    stub.on("work", call=1, reply=held(as_json(report("A")), "first"))
    stub.on("work", as_json(report("B")))
    first = await services.start(**QUICK)
    run_id = await first.submit(plan=plan_of(task("only")))
    await stub.seen(1)
    await first.until_logged(run_id, "task.started")

    first.database.cut = True
    second = await services.start(**QUICK)
    run = await second.ended(run_id)
    before = [event.seq for event in await second.events(run_id)]
    first.database.cut = False
    stub.release("first")
    await stub.ended(stub.log[0])
    await first.ended(await first.submit(plan=plan_of(task("another"))))

    assert run["result"]["answer"] == "B"
    log = await second.events(run_id)
    assert [event.seq for event in log] == before
    assert sum(event.type in RUN_ENDS for event in log) == 1
    assert len(stub.log) == 3
    [row] = await every(second.database, "SELECT owner, owner_epoch FROM runs WHERE id = :id", id=run_id)
    assert (row["owner"], row["owner_epoch"]) == (None, 2)


async def test_a_process_that_cannot_renew_its_lease_stops_before_the_lease_ends(
    services: Services, stub: StubProvider
) -> None:
    service = await services.start(lease_seconds=1)
    stub.on("work", held(as_json(report())))
    await service.submit(plan=plan_of(task("only")))
    open_call = await stub.seen(1)

    service.database.cut = True
    assert await stub.ended(open_call, timeout_s=1) == "client_disconnected"
    service.database.cut = False


async def stop_during_its_calls(services: Services, stub: StubProvider, service: Service) -> None:
    """End a service in good order, and have its calls answered once it has been told."""
    stopping = asyncio.create_task(services.stop(service))
    await service.runtime.draining.wait()
    stub.release()
    await stopping


async def test_a_process_that_is_told_to_stop_finishes_its_call_and_another_goes_on_at_once(
    services: Services, stub: StubProvider
) -> None:
    script_crew(stub)
    stub.on("plan", held(as_json(FORK)))
    first = await services.start(lease_seconds=60, drain_seconds=5)
    run_id = await first.submit()
    await stub.seen(1, role="plan")
    second = await services.start(lease_seconds=60)

    await stop_during_its_calls(services, stub, first)
    run = await second.ended(run_id, timeout_s=5)

    assert run["status"] == "succeeded"
    assert len({seen.body_sha256 for seen in stub.log}) == len(stub.log)
    [resumed] = resumed_in(await second.events(run_id))
    assert (resumed.lost_calls, resumed.usage.llm_calls) == (0, 0)


async def test_a_call_that_outlasts_the_drain_is_dropped_counted_and_made_again_elsewhere(
    services: Services, stub: StubProvider
) -> None:
    stub.on("work", call=1, reply=held(as_json(report())))
    stub.on("work", as_json(report("again")))
    first = await services.start(lease_seconds=60, drain_seconds=0.1)
    run_id = await first.submit(plan=plan_of(task("only")))
    await stub.seen(1)
    second = await services.start(lease_seconds=60)

    await services.stop(first)
    run = await second.ended(run_id, timeout_s=5)

    assert (run["status"], run["result"]["answer"]) == ("succeeded", "again")
    assert stub.log[0].outcome == "client_disconnected"
    assert (run["usage"]["llm_calls"], run["usage"]["estimated"]) == (2, True)
    state = await second.folded(run_id)
    assert len(state.tasks["only"].attempts) == 1


async def test_a_wait_between_retries_survives_the_process(services: Services, stub: StubProvider) -> None:
    stub.on("work", call=1, reply=server_error())
    stub.on("work", as_json(report()))
    first = await services.start(retry_base_s=1.5, **QUICK)
    run_id = await first.submit(plan=plan_of(task("only")))
    await first.until_logged(run_id, "llm.failed")

    await services.crash(first)
    second = await services.start(retry_base_s=1.5, **QUICK)
    run = await second.ended(run_id)

    assert run["status"] == "succeeded"
    assert stub.log[1].at - stub.log[0].at >= 0.75
    log = await second.events(run_id)
    [resumed], [failure] = resumed_in(log), [event.data for event in log if isinstance(event.data, ev.LlmFailed)]
    assert failure.retry_at is not None
    assert resumed.lost_calls == 0  # However late it was taken up: the first process vanished before the retry.


async def test_many_engines_execute_each_run_once(services: Services, stub: StubProvider) -> None:
    engines = [await services.start() for _ in range(3)]
    script_crew(stub)

    runs = [await engines[number % 3].submit() for number in range(9)]
    ended = await asyncio.gather(*(engines[0].ended(run_id) for run_id in runs))

    assert [run["status"] for run in ended] == ["succeeded"] * 9
    assert len(stub.log) == 9 * 6
    epochs = await every(engines[0].database, "SELECT DISTINCT owner_epoch FROM runs")
    assert epochs == [{"owner_epoch": 1}]


async def test_a_run_under_which_processes_keep_dying_is_failed_and_not_tried_for_ever(
    services: Services, stub: StubProvider
) -> None:
    silent = await services.start(engine=False)
    run_id = await silent.submit(team=CREW)
    await every(silent.database, "UPDATE runs SET idle_claims = 5 RETURNING id")

    await services.start()
    run = await silent.ended(run_id)

    assert (run["status"], run["stop_reason"]) == ("failed", "internal_error")
    assert stub.log == []


async def test_a_process_that_is_told_to_stop_still_does_once_what_it_has_recorded_to_have_begun(
    services: Services, stub: StubProvider
) -> None:
    sent: list[str] = []

    async def send(_: Any, context: ToolContext) -> str:
        sent.append(context.key)
        return "sent"

    mail = tool("send_mail", send, effect="once")
    stub.on("work", call=1, reply=held(tool_calls(call("send_mail", call_id="mail"))))
    stub.on("work", as_json(report()))
    first = await services.start(lease_seconds=60, tools=[mail])
    run_id = await first.submit(team=team_with(mail), plan=KEEP)
    await stub.seen(1)
    second = await services.start(lease_seconds=60, tools=[mail])

    await stop_during_its_calls(services, stub, first)
    run = await second.ended(run_id, timeout_s=5)

    assert run["status"] == "succeeded"
    assert len(sent) == 1
    [result] = stub.log[-1].body["messages"][-1]["content"]
    assert (result["content"], result["is_error"]) == ("sent", False)
