import asyncio
import time
from contextlib import suppress
from typing import Any

import psycopg

from app.tools.tool import ToolContext
from tests.support.fixtures import Services
from tests.support.rows import every
from tests.support.service import Service, plan_of, report, synthesis, task
from tests.support.stub_answers import as_json, call, held, tool_calls
from tests.support.stub_provider import StubProvider
from tests.support.toolbox import BreakingModel, team_with, tool
from tests.support.waiting import until, until_blocked, until_stored

KEEP = plan_of(task("t1", "keeper"))


async def test_a_bug_while_a_worker_works_ends_its_task_alone(service: Service, stub: StubProvider) -> None:
    service.runtime.model = BreakingModel(service.runtime.model, "work")
    stub.on("plan", as_json(plan_of(task("a"), task("b"))))

    run = await service.ended(await service.submit(), timeout_s=3)

    assert (run["status"], run["stop_reason"]) == ("failed", "no_results")
    errors = await every(service.database, "SELECT error FROM tasks")
    assert {row["error"]["code"] for row in errors} == {"internal_error"}
    assert "KeyError" not in str(errors)


async def test_a_bug_while_the_supervisor_plans_ends_the_run(service: Service) -> None:
    service.runtime.model = BreakingModel(service.runtime.model, "plan")

    run = await service.ended(await service.submit(), timeout_s=3)

    assert (run["status"], run["stop_reason"]) == ("failed", "internal_error")


async def test_a_bug_during_the_synthesis_keeps_what_was_delivered(service: Service, stub: StubProvider) -> None:
    service.runtime.model = BreakingModel(service.runtime.model, "synthesize")
    stub.on("work", as_json(report("found")))

    run = await service.ended(await service.submit(plan=plan_of(task("a"), task("b"))), timeout_s=3)

    assert (run["status"], run["stop_reason"]) == ("failed", "internal_error")
    assert [row["output"]["text"] for row in await every(service.database, "SELECT output FROM tasks")] == ["found"] * 2


async def test_a_result_that_cannot_even_be_checked_ends_its_task(service: Service, stub: StubProvider) -> None:
    team = team_with(output_schema={"type": "object", "properties": {"n": {"type": "no such type"}}})
    stub.on("work", as_json(report(data={"n": 1})))

    run = await service.ended(await service.submit(team=team, plan=KEEP), timeout_s=3)

    assert (run["status"], run["stop_reason"]) == ("failed", "no_results")


async def test_a_tool_whose_server_hangs_up_is_a_result_that_the_worker_reads(
    service: Service, stub: StubProvider
) -> None:
    async def hang_up(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()
        await writer.wait_closed()

    server = await asyncio.start_server(hang_up, "127.0.0.1", 0)
    host, port = server.sockets[0].getsockname()

    async def fetch(_: Any, __: ToolContext) -> str:
        reader, writer = await asyncio.open_connection(host, port)
        try:
            return (await reader.readexactly(1)).decode()
        finally:
            writer.close()

    fetches = tool("fetches", fetch)
    service.offer(fetches)
    stub.on("work", call=1, reply=tool_calls(call("fetches")))
    stub.on("work", as_json(report()))

    async with server:
        run = await service.ended(await service.submit(team=team_with(fetches), plan=KEEP))

    assert run["status"] == "succeeded"
    [result] = stub.log[1].body["messages"][-1]["content"]
    assert result["is_error"] is True


async def test_a_blocking_tool_stops_neither_the_lease_nor_other_runs_and_its_time_is_bounded(
    services: Services, stub: StubProvider
) -> None:
    service = await services.start(lease_seconds=0.6)
    seconds = 1.5

    def block(_: Any, __: ToolContext) -> str:
        time.sleep(seconds)  # Blocking is what this tool is for.
        return "awake"

    patient, hasty = tool("patient", block), tool("hasty", block, timeout_s=0.3)
    service.offer(patient, hasty)
    stub.on("work:keeper", call=1, reply=tool_calls(call("patient", call_id="p"), call("hasty", call_id="h")))
    stub.on("work", as_json(report()))
    loop = asyncio.get_running_loop()
    lags: list[float] = []

    async def heart() -> None:
        while True:
            before = loop.time()
            await asyncio.sleep(0.02)  # Its delay is what is measured.
            lags.append(loop.time() - before - 0.02)

    beating = asyncio.create_task(heart())
    blocked = await service.submit(team=team_with(patient, hasty), plan=KEEP)
    await service.until_logged(blocked, "tool.started")
    beside = await service.ended(await service.submit(plan=plan_of(task("only"))), timeout_s=1)
    failed = await service.until_logged(blocked, "tool.failed", timeout_s=1)
    run = await service.ended(blocked)
    beating.cancel()

    assert beside["status"] == run["status"] == "succeeded"
    assert max(lags) < 0.3
    assert [event.type for event in failed].count("tool.completed") == 0
    state = await service.folded(blocked)
    assert len(state.tasks["t1"].attempts) == 1
    assert [event.type for event in await service.events(blocked)].count("run.resumed") == 0


async def broken_part(service: Service) -> None:
    """Have a part of an engine break. The one that looks after nested runs, should it meet the error, begins again."""
    draining = service.runtime.draining
    while not draining.is_set():
        service.database.next_error = KeyError("a bug")
        await until(lambda: service.database.next_error is None)
        with suppress(TimeoutError):
            await asyncio.wait_for(draining.wait(), 1)


async def test_an_engine_of_which_a_part_breaks_leaves_its_runs_to_others(
    services: Services, stub: StubProvider
) -> None:
    broken = await services.start(drain_seconds=0.1)
    stub.on("work", held(as_json(report("done"))))
    run_id = await broken.submit(plan=plan_of(task("only")))
    await stub.seen(1)
    await broken.until_logged(run_id, "task.started")
    other = await services.start()

    await broken_part(broken)
    await stub.seen(2)
    stub.release()

    run = await other.ended(run_id)
    assert (run["status"], run["usage"]["llm_calls"]) == ("succeeded", 2)
    assert broken.runtime.draining.is_set()


LOOP_TURNS = 50
"""Enough for a run that has been stopped to come to whatever it does next."""


async def test_a_reply_whose_commit_takes_beyond_the_deadline_is_recorded_all_the_same(
    services: Services, stub: StubProvider, database_url: str
) -> None:
    service = await services.start(lease_seconds=60)
    stub.on("work", held(as_json(report())))
    run_id = await service.submit(plan=plan_of(task("a"), task("b")), limits={"timeout_s": 1})
    await stub.seen(2)
    with psycopg.connect(database_url) as connection:
        connection.execute("SELECT 1 FROM runs FOR UPDATE")
        stub.release()
        await until_blocked(service.database)
        await until(lambda: commands_of(run_id) == [])  # At the deadline nobody wants what waits for its commit.
        for _ in range(LOOP_TURNS):
            await asyncio.sleep(0)

    await service.ended(run_id)

    types = [event.type for event in await service.events(run_id)]
    assert (types.count("llm.completed"), types.count("run.resumed")) == (2, 0)


def commands_of(run_id: str) -> list[str]:
    """What is being done for a run in this process, by the names of its tasks."""
    return [task.get_name() for task in asyncio.all_tasks() if task.get_name().startswith(f"{run_id} ")]


async def test_a_process_has_all_its_places_again_after_its_queue_was_cut_off(
    services: Services, stub: StubProvider, database_url: str
) -> None:
    service = await services.start(runs_at_once=3)
    stub.on("work", held(as_json(report())))
    runs = [await service.submit(plan=plan_of(task("only"))) for _ in range(2)]
    await stub.seen(2)
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute("DELETE FROM procrastinate_workers")  # As others do with one that seems to be dead.
    runs.append(await service.submit(plan=plan_of(task("only"))))
    await stub.seen(3)
    stub.release()
    for run_id in runs:
        await service.ended(run_id)

    stub.on("work", held(as_json(report()), "again"))
    for _ in range(3):
        await service.submit(plan=plan_of(task("only")))
    await stub.seen(6)  # All at once.
    stub.release("again")


async def test_of_runs_that_may_have_killed_their_processes_one_is_tried_at_a_time(
    services: Services, stub: StubProvider, database_url: str
) -> None:
    client = await services.start(engine=False)
    stub.on("work", held(as_json(report())))
    stub.on("work:researcher", as_json(report()))
    suspects = [await client.submit(plan=plan_of(task("only"))) for _ in range(2)]
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute("UPDATE runs SET idle_claims = 2")
    await services.start()
    await stub.seen(1)
    await client.ended(await client.submit(plan=plan_of(task("other", "researcher"))))

    assert len(stub.of("work:writer")) == 1
    stub.release()
    for run_id in suspects:
        assert (await client.ended(run_id))["status"] == "succeeded"


async def test_a_database_that_refuses_events_for_a_while_delays_a_run_and_loses_nothing(
    service: Service, stub: StubProvider, database_url: str
) -> None:
    stub.on("plan", held(as_json(plan_of(task("a"), task("b")))))
    stub.on("work", as_json(report()))
    stub.on("synthesize", as_json(synthesis()))
    run_id = await service.submit()
    await stub.seen(1)
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute("CREATE SEQUENCE refusals")
        connection.execute(
            """
            CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
            $$ BEGIN PERFORM nextval('refusals'); RAISE EXCEPTION 'not now'; END $$
            """
        )
        connection.execute("CREATE TRIGGER refuse BEFORE INSERT ON events EXECUTE FUNCTION refuse()")
        stub.release()
        await _counted(service, 3)
        connection.execute("DROP TRIGGER refuse ON events")

    run = await service.ended(run_id)

    assert run["status"] == "succeeded"
    assert len(stub.log) == 4
    types = [event.type for event in await service.events(run_id)]
    assert types.count("llm.completed") == 4
    assert types.count("run.resumed") == 0


async def _counted(service: Service, refusals: int) -> None:
    """Wait for so many refusals; a sequence counts them even though their transactions fail."""

    async def look() -> bool | None:  # Nothing tells of a refusal but the sequence.
        [row] = await every(service.database, "SELECT last_value, is_called FROM refusals")
        return (row["is_called"] and row["last_value"] >= refusals) or None

    await until_stored(service.database, look, 10)
