"""kill -9 at the points that matter: the run goes on, and nothing that was finished is done again."""

import asyncio
import signal
from collections.abc import AsyncIterator, Awaitable, Callable

import psycopg
import pytest

from app.store.database import Database
from tests.support.processes import QUICK, Replica, Replicas, post_job, run_at_end, start_process, until_told
from tests.support.rows import check_rows, events_in
from tests.support.service import plan_of, report, synthesis, task
from tests.support.stub_answers import as_json, call, held, tool_calls
from tests.support.stub_provider import StubProvider
from tests.support.waiting import until

PLAN = plan_of(task("t1", "researcher"), task("t2", "analyst"), task("t3", "writer", ["t1", "t2"]))
TOOL = tool_calls(call("fetch_page", {"url": "http://127.0.0.1/"}))


@pytest.fixture
async def stub() -> AsyncIterator[StubProvider]:
    async with StubProvider() as stub:
        stub.on("plan", as_json(PLAN))
        stub.on("work:researcher", lambda seen: TOOL if len(seen.body["messages"]) == 1 else as_json(report("found")))
        stub.on("work", as_json(report("found")))
        stub.on("synthesize", as_json(synthesis("all of it", "t1", "t2", "t3")))
        yield stub


@pytest.fixture
async def replicas(database_url: str, stub: StubProvider) -> AsyncIterator[Replicas]:
    async with Replicas(database_url, stub.url) as replicas:
        yield replicas


def planning(stub: StubProvider) -> None:
    stub.on("plan", call=1, reply=held(as_json(PLAN)))


def two_parallel_calls(stub: StubProvider) -> None:
    stub.on("work:researcher", call=1, reply=held(TOOL))
    stub.on("work:analyst", call=1, reply=held(as_json(report("found"))))


def the_call_after_a_tool(stub: StubProvider) -> None:
    stub.on("work:researcher", call=2, reply=held(as_json(report("found"))))


def synthesis_under_way(stub: StubProvider) -> None:
    stub.on("synthesize", call=1, reply=held(as_json(synthesis("all of it", "t1"))))


PATIENT = {"lease_seconds": "60", "drain_seconds": "20"}
"""Settings under which a run goes on elsewhere in time only if it is handed over."""

EVERYTHING = {"plan": 1, "work:researcher": 2, "work:analyst": 1, "work:writer": 1, "synthesize": 1}


@pytest.mark.parametrize(
    ("hold", "lost"),
    [
        (planning, {"plan": 1}),
        (two_parallel_calls, {"work:researcher": 1, "work:analyst": 1}),
        (the_call_after_a_tool, {"work:researcher": 2}),
        (synthesis_under_way, {"synthesize": 1}),
    ],
)
async def test_only_what_was_under_way_is_asked_again(
    replicas: Replicas,
    stub: StubProvider,
    database_url: str,
    hold: Callable[[StubProvider], None],
    lost: dict[str, int],
) -> None:
    hold(stub)
    first = await replicas.start()
    run_id = await post_job(first)
    for role, count in lost.items():
        await stub.seen(count, role=role, timeout_s=20)
    if lost.keys() == {"work:researcher"}:
        await until_told(first, run_id, "task.succeeded")  # What the analyst has done is not to be lost.
    await first.kill()
    stub.release("held")
    second = await replicas.start()
    run = await run_at_end(second, run_id)
    assert (run["status"], run["result"]["answer"]) == ("succeeded", "all of it")
    await _check(database_url, stub, run_id, lost=set(lost))
    assert run["usage"]["estimated"] is True
    assert run["usage"]["llm_calls"] == sum(EVERYTHING.values()) + len(lost)


async def _check(database_url: str, stub: StubProvider, run_id: str, *, lost: set[str]) -> None:
    expected = {role: count + (role in lost) for role, count in EVERYTHING.items()}
    assert {role: len(stub.of(role)) for role in expected} == expected
    database = Database(database_url, pool=2)
    try:
        await check_rows(database, run_id)
        types = [event.type for event in await events_in(database, run_id)]
    finally:
        await database.close()
    assert types.count("run.resumed") == 1
    assert types.count("task.started") == 3


async def test_the_same_process_table_serves_a_run_that_was_queued_when_it_died(
    replicas: Replicas, stub: StubProvider, database_url: str
) -> None:
    """A job accepted by an API that executes nothing is done by whoever comes."""
    api = await replicas.start(engine="false")
    run_id = await post_job(api)
    await api.kill()
    run = await run_at_end(await replicas.start(), run_id)
    assert run["status"] == "succeeded"
    assert {role: len(stub.of(role)) for role in EVERYTHING} == EVERYTHING


async def engine_alone(replicas: Replicas, **settings: str) -> Replica:
    """A process that executes runs and has no API."""
    environment = {
        "DATABASE_URL": replicas.database_url,
        "ANTHROPIC_API_KEY": "sk-test",
        "ANTHROPIC_BASE_URL": replicas.stub_url,
        **QUICK,
        **{f"CHARGEHAND_{name.upper()}": value for name, value in settings.items()},
    }
    engine = Replica(await start_process(["-m", "app", "engine"], environment), "")
    replicas.started.append(engine)
    return engine


@pytest.mark.parametrize("start", [Replicas.start, engine_alone], ids=["serve", "engine"])
async def test_a_stop_hands_the_run_over_without_a_lost_call(
    replicas: Replicas, stub: StubProvider, database_url: str, start: Callable[..., Awaitable[Replica]]
) -> None:
    """SIGTERM: the call under way ends, the run goes on elsewhere at once, and nothing is sent twice."""
    stub.on("work:analyst", call=1, reply=held(as_json(report("found"))))
    api, first = await replicas.start(engine="false"), await start(replicas, **PATIENT)
    run_id = await post_job(api)
    await stub.seen(1, role="work:analyst", timeout_s=20)
    first.signal(signal.SIGTERM)
    with psycopg.connect(database_url, autocommit=True) as sql:
        await until(lambda: sql.execute("SELECT FROM procrastinate_workers").fetchall() == [])
    stub.release("held")
    assert await asyncio.wait_for(first.process.wait(), 30) == 0
    await start(replicas, **PATIENT)
    run = await run_at_end(api, run_id)
    assert run["status"] == "succeeded"
    assert run["usage"]["estimated"] is False
    assert {role: len(stub.of(role)) for role in EVERYTHING} == EVERYTHING
