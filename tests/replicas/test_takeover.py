import asyncio
import signal
import time
from typing import Any

import psycopg
import pytest
from structlog.testing import capture_logs

from app.domain import events as ev
from app.domain.events import RUN_ENDS
from app.store.database import Database
from app.store.ownership import IDLE_CLAIMS_ALLOWED
from app.tools.tool import ToolContext
from tests.support.fixtures import Services
from tests.support.processes import QUICK, Replica, Replicas, post_job, run_at_end
from tests.support.rows import check_rows, events_in
from tests.support.service import plan_of, report, task
from tests.support.sightings import (
    audit,
    authority,
    runs_on,
    start_named,
    until_said,
    writes_after_takeover,
)
from tests.support.stub_answers import Answer, as_json, call, held, tool_calls
from tests.support.stub_provider import StubProvider
from tests.support.stub_script import SeenRequest
from tests.support.toolbox import team_with, tool
from tests.support.waiting import until

LEASE_S, POLL_S = float(QUICK["CHARGEHAND_LEASE_SECONDS"]), float(QUICK["CHARGEHAND_POLL_SECONDS"])
MARGIN_S = 4.0
"""For a machine that has other things to do."""
ASKS_ON = tool_calls(call("calculate", {"expression": "6*7"}))
"""A reply that leads to another request at once."""

_KEPT_WAITING = "SELECT count(*) FROM pg_locks WHERE NOT granted AND pg_backend_pid() = ANY(pg_blocking_pids(pid))"
"""Sessions that wait for the one that asks."""


async def pair(
    replicas: Replicas, sql: psycopg.Connection, stub: StubProvider, *tasks: str
) -> tuple[Replica, Replica, list[str]]:
    """A replica in the middle of a call for each task, another one that is idle, and the runs, one for each task."""
    audit(sql)

    def answer(seen: SeenRequest) -> Answer:
        [name] = [name for name in tasks if f"Do {name}." in str(seen.body)]
        again = len(calls_for(stub, name)) > 1
        return held(as_json(report("B")), "second") if again else held(ASKS_ON, f"first {name}")

    stub.on("work", answer)
    first = await start_named(replicas, "first")
    runs = [await post_job(first, plan=plan_of(task(name, "analyst"))) for name in tasks]
    await stub.seen(len(tasks), role="work")
    second = await start_named(replicas, "second")
    assert all(runs_on(first, authority(sql, run_id)[0]) for run_id in runs)
    return first, second, runs


def calls_for(stub: StubProvider, name: str) -> list[SeenRequest]:
    """The model calls for a task of this name."""
    return [seen for seen in stub.log if f"Do {name}." in str(seen.body)]


async def check_log(database_url: str, run_id: str, second: Replica) -> None:
    """One end, one resumption, by the second replica, and rows that agree with the log."""
    database = Database(database_url, pool=1)
    try:
        log = await events_in(database, run_id)
        await check_rows(database, run_id)
    finally:
        await database.close()
    resumed = [event.data for event in log if isinstance(event.data, ev.RunResumed)]
    assert [(runs_on(second, claim.engine), claim.epoch) for claim in resumed] == [(True, 2)]
    assert len([event for event in log if event.type in RUN_ENDS]) == 1


async def test_the_run_of_a_killed_replica_goes_on_elsewhere_once_its_lease_has_lapsed(
    replicas: Replicas, stub: StubProvider, sql: psycopg.Connection, database_url: str
) -> None:
    first, second, [run_id] = await pair(replicas, sql, stub, "only")
    stub.release("second")

    await first.kill()
    killed = time.monotonic()
    again = await stub.seen(2, role="work")
    run = await run_at_end(second, run_id)

    assert again.at - killed < LEASE_S + POLL_S + MARGIN_S
    assert (run["status"], run["result"]["answer"]) == ("succeeded", "B")
    assert writes_after_takeover(sql, run_id) == {"second"}
    assert len(stub.log) == 2
    await check_log(database_url, run_id, second)


@pytest.mark.parametrize("successor", ["is at work", "is done"])
async def test_a_replica_that_slept_through_its_lease_writes_and_calls_nothing_when_it_wakes(
    replicas: Replicas, stub: StubProvider, sql: psycopg.Connection, database_url: str, successor: str
) -> None:
    first, second, runs = await pair(replicas, sql, stub, "answered", "open")
    first.signal(signal.SIGSTOP)
    await stub.seen(4, role="work")
    stub.release("first answered")
    await stub.ended(calls_for(stub, "answered")[0])
    if successor == "is done":
        stub.release("second")
        for run_id in runs:
            await run_at_end(second, run_id)

    before = [authority(sql, run_id) for run_id in runs]
    first.signal(signal.SIGCONT)
    for run_id in runs:
        await until_said(first, "run left", run_id)

    if successor == "is at work":
        for run_id, (owner, epoch, lease) in zip(runs, before, strict=True):
            assert authority(sql, run_id)[:2] == (owner, epoch)
            assert runs_on(second, owner)
            await until(lambda run_id=run_id, lease=lease: authority(sql, run_id)[2] > lease)  # type: ignore[misc]
        stub.release("second")
    for run_id in runs:
        run = await run_at_end(second, run_id)
        assert (run["status"], run["result"]["answer"]) == ("succeeded", "B")
        assert writes_after_takeover(sql, run_id) == {"second"}
        await check_log(database_url, run_id, second)
    assert len(stub.log) == 4


async def test_a_replica_whose_run_is_taken_while_a_tool_runs_asks_nothing_more(
    services: Services, stub: StubProvider, sql: psycopg.Connection
) -> None:
    looking, found = asyncio.Event(), asyncio.Event()

    async def look_up(_: Any, __: ToolContext) -> str:
        looking.set()
        await found.wait()
        return "found"

    looks = tool("look_up", look_up)
    stub.on("work", tool_calls(call("look_up")))
    service = await services.start(lease_seconds=60, tools=[looks])
    run_id = await service.submit(team=team_with(looks), plan=plan_of(task("t1", "keeper")))
    await asyncio.wait_for(looking.wait(), 10)
    await service.until_logged(run_id, "tool.started")

    with capture_logs() as lines:
        with sql.transaction():
            sql.execute("UPDATE runs SET owner = 'another', owner_epoch = 2")
            found.set()
            await until(lambda: sql.execute(_KEPT_WAITING).fetchone() != (0,))
        await until(lambda: "run left" in [line["event"] for line in lines])

    assert len(stub.log) == 1
    assert [event.type for event in await service.events(run_id)][-1] == "tool.started"


async def test_a_replica_that_cannot_renew_stops_its_work_before_anybody_else_begins(
    replicas: Replicas, stub: StubProvider, sql: psycopg.Connection, database_url: str
) -> None:
    _, second, [run_id] = await pair(replicas, sql, stub, "only")
    sql.execute(
        """
        CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
            IF current_setting('application_name') = 'first' THEN RAISE EXCEPTION 'no'; END IF; RETURN NEW; END $$;
        CREATE TRIGGER refuse BEFORE UPDATE OF lease_until ON runs FOR EACH ROW EXECUTE FUNCTION refuse();
        """
    )

    again = await stub.seen(2, role="work")
    outcome = await stub.ended(stub.log[0])
    stub.release("second")
    run = await run_at_end(second, run_id)

    assert outcome == "client_disconnected"
    assert stub.log[0].ended_at is not None
    assert stub.log[0].ended_at < again.at
    assert run["result"]["answer"] == "B"
    assert writes_after_takeover(sql, run_id) == {"second"}
    await check_log(database_url, run_id, second)


async def test_a_run_under_which_processes_freeze_is_given_up(
    replicas: Replicas, stub: StubProvider, sql: psycopg.Connection
) -> None:
    stub.on("work", held(as_json(report()), "never"))
    pair = [await replicas.start() for _ in range(2)]
    run_id = await post_job(pair[0], plan=plan_of(task("only", "analyst")))
    await stub.seen(1, role="work")
    for frozen in range(1, IDLE_CLAIMS_ALLOWED + 1):
        owner = authority(sql, run_id)[0]
        [sleeper] = [each for each in pair if runs_on(each, owner)]
        sleeper.signal(signal.SIGSTOP)  # As it would be if work on the run held its loop.
        await stub.seen(frozen + 1, role="work", timeout_s=30)
        sleeper.signal(signal.SIGCONT)
    owner = authority(sql, run_id)[0]
    [sleeper] = [each for each in pair if runs_on(each, owner)]
    sleeper.signal(signal.SIGSTOP)
    [awake] = [each for each in pair if each is not sleeper]
    run = await run_at_end(awake, run_id)
    sleeper.signal(signal.SIGCONT)

    assert (run["status"], run["stop_reason"]) == ("failed", "internal_error")
    assert "standing still" in run["error"]["message"]
