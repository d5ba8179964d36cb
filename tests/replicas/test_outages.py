import asyncio
import os
import socket
import time
from collections.abc import Callable
from urllib.parse import parse_qs, urlsplit

import psutil
import psycopg
import pytest

from app.api.feeds import Feeds, Subscription
from app.api.frames import SharedPages
from app.api.server import SILENT_CLIENT_MS, listening_socket
from app.api.stream import follow
from app.domain.events import RUN_ENDS
from app.domain.keys import DEFAULT_TENANT
from app.store.connections import ImpatientConnection
from tests.support.fixtures import Services
from tests.support.proxy import Link, Proxy, listening
from tests.support.service import Service, plan_of, report, task
from tests.support.stub_answers import as_json, held
from tests.support.stub_provider import StubProvider
from tests.support.visits import visit_of
from tests.support.waiting import until

ONE = plan_of(task("t1"))
CHAIN = plan_of(task("t1", "researcher"), task("t2", "writer", ["t1"]))
POLL_S = 0.5
MARGIN_S = 3.0
OUTAGE_S = 5.0
RELISTEN_S = 15.0
LISTENERS = 2
"""Connections of one process that wait for notices: its own, and the queue's."""

Fault = Callable[[Proxy, psycopg.Connection], object]


def terminated(_: Proxy, sql: psycopg.Connection) -> object:
    """Every session ends that waits for notices."""
    return sql.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE datname = current_database() AND (query LIKE 'LISTEN %' OR query = 'SELECT 1')"
        " AND pid <> pg_backend_pid()"  # A listener that has been silent for a while was probed.
    )


def dropped(proxy: Proxy, _: psycopg.Connection) -> object:
    """Their connections are lost."""
    return proxy.drop(listening)


def silent(proxy: Proxy, _: psycopg.Connection) -> object:
    """Nothing comes through any more, and nobody says so."""
    return proxy.silence(listening)


async def read_all(service: Service, run_id: str) -> list[int]:
    """The ids of a stream of the run, to its end."""
    feeds = Feeds(service.runtime, SharedPages(service.database))
    frames = follow(visit_of(service.runtime), feeds, Subscription(DEFAULT_TENANT, run_id), 0)
    lines = b"".join([frame async for frame in frames]).decode().splitlines()
    return [int(line.removeprefix("id:")) for line in lines if line.startswith("id:")]


@pytest.mark.parametrize("fault", [terminated, dropped, silent])
async def test_a_lost_listener_delays_nothing_beyond_the_poll_and_comes_back(
    services: Services, remote: Services, proxy: Proxy, sql: psycopg.Connection, stub: StubProvider, fault: Fault
) -> None:
    client = await services.start(engine=False)
    executing = await remote.start(poll_seconds=POLL_S, lease_seconds=5)
    stub.on("work", call=1, reply=held(as_json(report())))
    stub.on("work", as_json(report()))
    followed = await client.submit(plan=ONE)
    await stub.seen(1)
    reader = asyncio.create_task(read_all(executing, followed))
    await until(lambda: len(list(filter(listening, proxy.links))) == LISTENERS)
    before = set(filter(listening, proxy.links))

    def new_listeners() -> list[Link]:
        return list(filter(listening, proxy.links - before))

    fault(proxy, sql)
    submitted = time.monotonic()
    await client.submit(plan=ONE)
    picked_up = (await stub.seen(2)).at - submitted
    stub.release()
    run = await client.ended(followed)
    async with asyncio.timeout(POLL_S + MARGIN_S):
        ids = await reader

    assert picked_up < POLL_S + MARGIN_S
    assert ids == list(range(1, run["last_seq"] + 1))
    back = 1 if fault is silent else len(before)  # The queue's takes longer to tell dead from quiet.
    await until(lambda: len(new_listeners()) >= back and executing.runtime.wakeups.connected.is_set(), RELISTEN_S)


def user_timeout_ms(connection: socket.socket) -> int:
    """How long the kernel waits for a peer that acknowledges nothing, before it breaks the connection."""
    return connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT)


async def test_no_connection_to_the_database_outlives_its_network_for_long(remote: Services, proxy: Proxy) -> None:
    service = await remote.start()
    await service.database.ping()
    await until(lambda: len(list(filter(listening, proxy.links))) == LISTENERS)

    [port] = parse_qs(urlsplit(proxy.url).query)["port"]
    open_to = {each.fd: each.raddr for each in psutil.Process().net_connections("tcp")}
    ours = [descriptor for descriptor, peer in open_to.items() if peer and peer.port == int(port)]
    assert len(ours) > LISTENERS
    for descriptor in ours:
        with socket.socket(fileno=os.dup(descriptor)) as connection:
            assert 0 < user_timeout_ms(connection) <= 10_000


def test_a_client_that_has_gone_without_a_word_is_let_go() -> None:
    with (
        listening_socket("127.0.0.1", 0) as listener,
        socket.create_connection(listener.getsockname()),
        listener.accept()[0] as accepted,
    ):
        assert user_timeout_ms(accepted) == SILENT_CLIENT_MS == 30_000


@pytest.mark.parametrize("lease_s", [1.5, 20])
async def test_an_outage_of_the_whole_database_loses_nothing(
    services: Services, remote: Services, proxy: Proxy, stub: StubProvider, lease_s: float
) -> None:
    client = await services.start(engine=False)
    executing = await remote.start(poll_seconds=POLL_S, lease_seconds=lease_s)
    stub.on("work:researcher", call=1, reply=held(as_json(report("found"))))
    stub.on("work:researcher", as_json(report("found")))
    stub.on("work:writer", as_json(report("written")))
    run_id = await client.submit(plan=CHAIN)
    asked = await stub.seen(1)
    reader = asyncio.create_task(read_all(executing, run_id))

    proxy.newcomers = "refuse"
    proxy.drop()
    began, tried_before = time.monotonic(), len(proxy.attempts)
    stub.release()
    await stub.ended(asked)
    await asyncio.sleep(OUTAGE_S)  # the outage
    tried = len(proxy.attempts) - tried_before
    lasted = time.monotonic() - began
    proxy.resume()
    run = await client.ended(run_id)

    log = [event.type for event in await client.events(run_id)]
    assert run["status"] == "succeeded"
    assert await asyncio.wait_for(reader, 10) == list(range(1, len(log) + 1))
    assert len([type_ for type_ in log if type_ in RUN_ENDS]) == 1
    assert log.count("task.started") == 2
    assert tried / lasted < 11  # Each part finds out for itself, once, and then asks about once a poll.
    assert log.count("run.resumed") == (lease_s < OUTAGE_S)
    assert len(stub.of("work:researcher")) == 1 + (lease_s < OUTAGE_S)
    assert len(stub.of("work:writer")) == 1


async def test_connections_that_never_answer_are_given_up(
    services: Services, remote: Services, proxy: Proxy, stub: StubProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ImpatientConnection, "answer_seconds", 1)
    client = await services.start(engine=False)
    await remote.start(poll_seconds=POLL_S, lease_seconds=2)
    stub.on("work", call=1, reply=held(as_json(report())))
    stub.on("work", as_json(report()))
    run_id = await client.submit(plan=ONE)
    await stub.seen(1)

    assert proxy.silence() > 0
    stub.release()
    run = await client.ended(run_id, timeout_s=30)
    other = await client.submit(plan=ONE)

    assert run["status"] == "succeeded"
    assert (await client.ended(other, timeout_s=30))["status"] == "succeeded"
