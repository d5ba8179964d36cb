import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import psycopg
import pytest

from app.domain import events as ev
from app.domain.events import RUN_ENDS
from app.engine import leases
from app.tools.tool import ToolContext
from tests.support.fixtures import Services
from tests.support.processes import Replicas, post_job
from tests.support.proxy import Proxy, listening
from tests.support.service import plan_of, report, task
from tests.support.sightings import authority, runs_on
from tests.support.stub_answers import as_json, call, delayed, held, tool_calls
from tests.support.stub_provider import StubProvider
from tests.support.stub_script import SeenRequest
from tests.support.toolbox import team_with, tool

ONE = plan_of(task("t1"))
RACES = 50
JITTER_S = 0.02
NEVER: dict[str, Any] = {"lease_seconds": 60, "poll_seconds": 60}
"""Settings under which no poll comes within a test."""
NEWS_S = 10.0
"""Far less than a poll or the end of a lease would take: the news must have come by the way that is tried."""


class Site:
    """An HTTP server that takes a request and never answers it."""

    def __init__(self) -> None:
        self.url = ""
        self.asked = asyncio.Event()
        self.left = asyncio.Event()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        self.asked.set()
        await reader.read()
        self.left.set()
        writer.close()


@asynccontextmanager
async def silent_site() -> AsyncIterator[Site]:
    site = Site()
    server = await asyncio.start_server(site.serve, "127.0.0.1", 0)
    site.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
    try:
        yield site
    finally:
        server.close()
        await server.wait_closed()


async def test_a_cancel_through_a_replica_that_does_not_execute_the_run_ends_it(
    replicas: Replicas, stub: StubProvider, sql: psycopg.Connection
) -> None:
    stub.on("work", held(as_json(report())))
    executing, other = await asyncio.gather(replicas.start(), replicas.start(engine="false"))
    run_id = await post_job(executing, plan=ONE)
    asked = await stub.seen(1)
    assert runs_on(executing, authority(sql, run_id)[0])

    async with other.client as client:
        answer = await client.post(f"/v1/runs/{run_id}/cancel", json={"reason": "changed my mind"})

    assert (answer.status_code, answer.json()["status"]) == (202, "cancelled")
    assert answer.json()["cancellation"]["reason"] == "changed my mind"
    assert await stub.ended(asked, timeout_s=2) == "client_disconnected"


async def test_a_cancel_is_heard_of_at_once_by_an_owner_that_neither_polls_nor_renews(
    services: Services, stub: StubProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leases, "RENEWAL_CEILING_S", 60)
    stub.on("work", held(as_json(report())))
    await services.start(**NEVER)
    client = await services.start(engine=False)
    run_id = await client.submit(plan=ONE)
    asked = await stub.seen(1)

    async with asyncio.timeout(NEWS_S):
        assert await client.cancel(run_id) is True
        run, outcome = await asyncio.gather(client.ended(run_id), stub.ended(asked))

    assert (run["status"], outcome) == ("cancelled", "client_disconnected")


async def test_of_a_cancel_and_an_end_that_meet_the_first_one_stands(replicas: Replicas, stub: StubProvider) -> None:
    executing, other = await asyncio.gather(replicas.start(), replicas.start(engine="false"))
    dice = random.Random(7)
    stub.on("work", lambda _: delayed(as_json(report()), dice.random() * JITTER_S))

    async def raced(number: int, *, answered_first: bool) -> tuple[int, str]:
        posted = await owner.post("/v1/jobs", json={"objective": "Find out.", "plan": plan_of(task(f"n{number}"))})
        run_id = posted.json()["id"]
        await stub.until(lambda: called(stub, number) is not None, timeout_s=30)
        seen = called(stub, number)
        if seen is not None and answered_first:
            await stub.ended(seen, timeout_s=30)
        await asyncio.sleep(dice.random() * JITTER_S)  # the moment of the cancel is what this test varies
        answer = await client.post(f"/v1/runs/{run_id}/cancel")
        ended = await client.get(f"/v1/runs/{run_id}", headers={"prefer": "wait=20"})
        return answer.status_code, ended.json()["status"]

    async with executing.client as owner, other.client as client:
        found: set[tuple[int, str]] = set()
        for number in range(0, 2 * RACES, 2):
            found |= {
                *await asyncio.gather(raced(number, answered_first=False), raced(number + 1, answered_first=True))
            }

    assert found == {(202, "cancelled"), (409, "succeeded")}


def called(stub: StubProvider, number: int) -> SeenRequest | None:
    """The model call of a run of the race, once it has come."""
    return next((seen for seen in reversed(stub.log) if f"Do n{number}." in str(seen.body)), None)


async def test_a_cancel_reaches_an_owner_that_hears_nothing_and_stops_its_tool(
    services: Services, remote: Services, proxy: Proxy, stub: StubProvider
) -> None:
    async with silent_site() as site:

        async def fetch(_: Any, __: ToolContext) -> str:
            async with httpx2.AsyncClient(trust_env=False, timeout=60) as client:
                return (await client.get(site.url)).text

        fetches = tool("fetches", fetch)
        client = await services.start(engine=False)
        executing = await remote.start(tools=[fetches], **NEVER)
        stub.on("work", tool_calls(call("fetches")))
        run_id = await client.submit(team=team_with(fetches), plan=plan_of(task("t1", "keeper")))
        await asyncio.wait_for(site.asked.wait(), 10)
        await executing.until_logged(run_id, "tool.started")
        proxy.newcomers = "refuse"
        assert proxy.drop(listening) > 0

        async with asyncio.timeout(NEWS_S):
            assert await client.cancel(run_id) is True
            run = await client.ended(run_id)
            await site.left.wait()

        assert run["status"] == "cancelled"
        assert not executing.runtime.wakeups.connected.is_set()


async def test_a_run_cancelled_in_the_moment_it_was_posted_asks_no_model(
    services: Services, stub: StubProvider
) -> None:
    stub.on("work", held(as_json(report())))
    executing, client = await services.start(runs_at_once=1), await services.start(engine=False)
    blocking = await client.submit(plan=ONE)
    await stub.seen(1)
    run_id = await client.submit()
    await asyncio.sleep(0.005)  # the moment of the cancel

    assert await client.cancel(run_id) is True
    run = await client.ended(run_id)
    stub.release()
    await executing.ended(blocking)

    assert (run["status"], run["usage"]["llm_calls"]) == ("cancelled", 0)
    log = await client.events(run_id)
    assert [event.type for event in log] == ["run.queued", "run.cancel_requested", "run.cancelled"]
    assert log[1].data == ev.RunCancelRequested(reason="changed my mind")
    assert len(stub.log) == 1


async def test_a_run_cancelled_while_it_starts_ends_once_and_no_call_is_waited_for(
    services: Services, stub: StubProvider
) -> None:
    stub.on("plan", held(as_json(ONE)))
    await services.start()
    client = await services.start(engine=False)
    runs = [await client.submit() for _ in range(5)]
    for number, run_id in enumerate(runs):
        await asyncio.sleep(number * 0.005)  # the moment of the cancel
        await client.cancel(run_id)

    for run_id in runs:
        assert (await client.ended(run_id))["status"] == "cancelled"
        assert [event.type for event in await client.events(run_id) if event.type in RUN_ENDS] == ["run.cancelled"]
    for seen in stub.log:
        assert await stub.ended(seen) == "client_disconnected"
