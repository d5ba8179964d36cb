import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import product

import psycopg
import pytest

from app.domain import events as ev
from app.domain.events import RUN_ENDS, Entry
from tests.support.fixtures import Services
from tests.support.play import OWNER, Play, playing
from tests.support.service import Service, plan_of, report, synthesis, task
from tests.support.stub_answers import as_json
from tests.support.stub_provider import StubProvider

WITHIN_S = 30


async def queued(_: Play) -> None:
    """Nothing has happened yet."""


async def started(play: Play) -> None:
    await play.start()


async def planned(play: Play) -> None:
    await play.start()
    await play.plan("t1", "t2")


async def at_work(play: Play) -> None:
    await planned(play)
    await play.start_task("t1")


async def delivered(play: Play) -> None:
    """Every task has ended, and nobody has put the answer together."""
    await planned(play)
    for name in ("t1", "t2"):
        await play.start_task(name)
        await play.finish_task(name)


async def ended(play: Play) -> None:
    await delivered(play)
    await play.synthesize()
    await play.succeed()


async def parked(play: Play) -> None:
    """The provider has asked for some time, which is over."""
    await play.start()
    await play.record(Entry(ev.RunWaiting(reason="provider", until=datetime.now(UTC))))


STAGES: tuple[Callable[[Play], Awaitable[None]], ...] = (queued, started, planned, at_work, delivered, ended)
LEASES = {
    "nobody": "owner = NULL, lease_until = NULL",
    "lapsed": "owner = 'vanished', lease_until = now() - interval '1 hour'",
    "lapsing": "owner = 'vanished', lease_until = now() + interval '1 second'",
}
ENTRIES = ("waiting", "missing", "taken by a dead process")
BEFORE_ITS_END = """
    lease_until = now() + interval '1 hour', status = 'running', finished_at = NULL, stop_reason = NULL, result = NULL
"""
"""A row that has not heard of the end of its run."""


@dataclass(frozen=True, slots=True)
class Wreck:
    """What crashes may leave of a run: how far its log goes, and what row and queue say about it."""

    stage: Callable[[Play], Awaitable[None]]
    lease: str
    entry: str
    row_behind: bool
    cancel_requested: bool

    @property
    def outcome(self) -> str:
        """The end that the run must come to: what has been decided stands."""
        return "cancelled" if self.cancel_requested and self.stage is not ended else "succeeded"


WRECKS = [
    Wreck(stage, lease, entry, row_behind=number % 2 == 0, cancel_requested=number % 5 == 0)
    for number, (stage, lease, entry) in enumerate(product(STAGES, LEASES, ENTRIES))
]


@pytest.fixture
async def client(services: Services, stub: StubProvider) -> Service:
    """A service that executes nothing, and a model that answers everything."""
    stub.on("plan", as_json(plan_of(task("t1"), task("t2"))))
    stub.on("work", as_json(report()))
    stub.on("synthesize", as_json(synthesis()))
    return await services.start(engine=False)


async def wrecked(client: Service, sql: psycopg.Connection, wreck: Wreck) -> str:
    """A run in that state, out of everybody's reach until its owner is said to have vanished."""
    run_id = await client.submit()
    sql.execute("DELETE FROM procrastinate_jobs")
    async with playing(client.database) as player:
        await wreck.stage(player.play(run_id))
    if wreck.stage is queued:  # As releases leave it that begin a run some time after they claim it.
        taken = f"owner = '{OWNER}', owner_epoch = 1, lease_until = now() + interval '1 hour'"
        sql.execute(f"UPDATE runs SET {taken} WHERE id = %s".encode(), [run_id])
    if wreck.cancel_requested and wreck.stage is not ended:
        await client.cancel(run_id)
    if wreck.stage is ended:
        sql.execute(f"UPDATE runs SET owner = '{OWNER}', {BEFORE_ITS_END} WHERE id = %s".encode(), [run_id])
    return run_id


def let_go(sql: psycopg.Connection, run_id: str, wreck: Wreck) -> None:
    """What the crash leaves."""
    behind = ", last_seq = greatest(last_seq - 1, 1)" if wreck.row_behind else ""
    with sql.transaction():
        sql.execute(f"UPDATE runs SET {LEASES[wreck.lease]}{behind} WHERE id = %s".encode(), [run_id])
        if wreck.entry != "missing":
            status = "todo" if wreck.entry == "waiting" else "doing"
            sql.execute(
                "INSERT INTO procrastinate_jobs (queue_name, task_name, queueing_lock, args, status)"
                " VALUES ('runs', 'look', %s, jsonb_build_object('run_id', %s::text), %s)",
                [f"run:{run_id}", run_id, status],
            )


async def test_whatever_crashes_leave_of_a_run_it_ends_and_as_its_log_demands(
    client: Service, services: Services, sql: psycopg.Connection
) -> None:
    runs = {await wrecked(client, sql, wreck): wreck for wreck in WRECKS}
    await services.start()
    for run_id, wreck in runs.items():
        let_go(sql, run_id, wreck)

    rows = await asyncio.gather(*(client.ended(run_id, timeout_s=WITHIN_S) for run_id in runs))

    stuck = [(runs[row["id"]], row["status"]) for row in rows if row["status"] != runs[row["id"]].outcome]
    assert stuck == []
    for run_id in runs:
        assert len([event for event in await client.events(run_id) if event.type in RUN_ENDS]) == 1
    assert sql.execute("SELECT count(*) FROM procrastinate_jobs WHERE status = 'doing'").fetchone() == (0,)


async def test_a_run_whose_processes_keep_dying_fails_and_frees_its_place(
    client: Service, services: Services, sql: psycopg.Connection
) -> None:
    wreck = Wreck(at_work, "lapsed", "missing", row_behind=False, cancel_requested=False)
    run_id = await wrecked(client, sql, wreck)
    sql.execute("UPDATE runs SET idle_claims = 5")
    await services.start(runs_at_once=1)
    let_go(sql, run_id, wreck)

    run = await client.ended(run_id)
    next_run = await client.ended(await client.submit())

    assert (run["status"], run["stop_reason"]) == ("failed", "internal_error")
    assert next_run["status"] == "succeeded"


async def test_a_run_that_waits_no_longer_goes_on_although_nobody_has_announced_it(
    client: Service, services: Services, sql: psycopg.Connection
) -> None:
    run_id = await client.submit()
    async with playing(client.database) as player:
        await parked(player.play(run_id))
    sql.execute("DELETE FROM procrastinate_jobs")
    await services.start()

    assert (await client.ended(run_id))["status"] == "succeeded"


async def test_a_parked_run_is_cancelled_although_a_process_has_just_taken_it_and_vanished(
    client: Service, services: Services, sql: psycopg.Connection
) -> None:
    run_id = await client.submit()
    sql.execute("DELETE FROM procrastinate_jobs")
    async with playing(client.database) as player:
        await parked(player.play(run_id))
        await player.claim(run_id)

        assert await client.cancel(run_id) is True

    sql.execute("UPDATE runs SET lease_until = now()")
    await services.start()
    assert (await client.ended(run_id))["status"] == "cancelled"


async def test_the_call_that_a_vanished_process_lost_is_on_the_receipt_of_a_run_cancelled_meanwhile(
    client: Service, services: Services, sql: psycopg.Connection
) -> None:
    wreck = Wreck(at_work, "lapsed", "missing", row_behind=False, cancel_requested=True)
    run_id = await wrecked(client, sql, wreck)
    [calls] = [row[0]["llm_calls"] for row in sql.execute("SELECT usage FROM runs")]
    let_go(sql, run_id, wreck)
    await services.start()

    run = await client.ended(run_id)

    assert (run["status"], run["usage"]["llm_calls"], run["usage"]["estimated"]) == ("cancelled", calls + 1, True)
    [resumed] = [event.data for event in await client.events(run_id) if isinstance(event.data, ev.RunResumed)]
    assert resumed.lost_calls == 1


DAMAGE = {
    "event": "UPDATE events SET data = '{}' WHERE run_id = %s AND seq = 2",
    "team": 'UPDATE teams SET definition = \'{"made": "by another release"}\' WHERE name <> %s',
}


@pytest.fixture
async def unreadable(client: Service, sql: psycopg.Connection, request: pytest.FixtureRequest) -> AsyncIterator[str]:
    """A run whose owner has vanished and whose log this release cannot read."""
    run_id = await wrecked(client, sql, Wreck(at_work, "lapsed", "missing", row_behind=False, cancel_requested=False))
    sql.execute(DAMAGE[request.param].encode(), [run_id])
    yield run_id
    sql.execute("DELETE FROM runs WHERE id = %s", [run_id])  # Nobody can compare its rows with its log.


@pytest.mark.parametrize("unreadable", DAMAGE, indirect=True)
async def test_a_run_that_cannot_be_read_fails_when_enough_processes_have_tried(
    unreadable: str, client: Service, services: Services, sql: psycopg.Connection
) -> None:
    sql.execute("UPDATE runs SET lease_until = now()")
    await services.start(lease_seconds=0.3, poll_seconds=0.05)

    run = await client.ended(unreadable)

    assert (run["status"], run["stop_reason"], run["error"]["code"]) == ("failed", "internal_error", "internal_error")
    [(type_, last)] = sql.execute("SELECT type, seq FROM events ORDER BY seq DESC LIMIT 1")
    assert (type_, last) == ("run.failed", run["last_seq"])
    assert {row[0] for row in sql.execute("SELECT status FROM tasks")} == {"cancelled"}
    assert sql.execute("SELECT count(*) FROM attempts WHERE status = 'running'").fetchone() == (0,)


@pytest.mark.parametrize("unreadable", DAMAGE, indirect=True)
async def test_a_cancel_ends_a_run_that_cannot_be_read_unless_somebody_executes_it_all_the_same(
    unreadable: str, client: Service, sql: psycopg.Connection
) -> None:
    assert await client.cancel(unreadable) is True
    [(status, asked)] = sql.execute("SELECT status, cancellation->>'reason' FROM runs")
    [(last,)] = sql.execute("SELECT type FROM events ORDER BY seq DESC LIMIT 1")
    assert (status, asked, last) == ("running", "changed my mind", "run.cancel_requested")

    sql.execute("UPDATE runs SET owner = NULL, lease_until = NULL")
    assert await client.cancel(unreadable) is True
    assert (await client.ended(unreadable))["status"] == "failed"


async def test_an_entry_for_a_run_that_is_no_more_is_taken_away(
    client: Service, services: Services, sql: psycopg.Connection
) -> None:
    sql.execute(
        "INSERT INTO procrastinate_jobs (queue_name, task_name, queueing_lock, args)"
        " VALUES ('runs', 'look', 'run:run_0', '{\"run_id\": \"run_0\"}')"
    )
    await services.start(runs_at_once=1)

    assert (await client.ended(await client.submit()))["status"] == "succeeded"
    assert sql.execute("SELECT count(*) FROM procrastinate_jobs WHERE queueing_lock = 'run:run_0'").fetchone() == (0,)


@pytest.mark.parametrize("lease", LEASES)
async def test_a_cancel_ends_a_run_that_nobody_holds_and_has_one_with_a_lapsed_lease_looked_at_at_once(
    client: Service, sql: psycopg.Connection, lease: str
) -> None:
    wreck = Wreck(at_work, lease, "missing", row_behind=False, cancel_requested=False)
    run_id = await wrecked(client, sql, wreck)
    let_go(sql, run_id, wreck)

    assert await client.cancel(run_id) is True
    [status] = [row[0] for row in sql.execute("SELECT status FROM runs")]
    assert status == ("cancelled" if lease == "nobody" else "running")
    [entries] = [row[0] for row in sql.execute("SELECT count(*) FROM procrastinate_jobs WHERE status = 'todo'")]
    assert entries == (1 if lease == "lapsed" else 0)  # Its owner vanished with calls that somebody must reckon.
