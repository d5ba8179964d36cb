import json
import random

import psycopg
import pytest

from app.domain.job import Job
from app.domain.plan import validated
from app.store.acceptance import NewRun, accept
from app.store.idempotency import IdempotencyKey
from app.store.retention import RUNS_AT_A_TIME, Retention, prune_ended, set_retention, thin_one
from app.store.runs import events_of
from app.store.teams import put_team, team_named
from app.tools.tool import ToolContext
from tests.support.fixtures import Services
from tests.support.service import CREW, Service, new_run_id, plan_of, report, task
from tests.support.stub_answers import Answer, as_json, call, held, tool_calls
from tests.support.stub_provider import StubProvider
from tests.support.stub_script import SeenRequest
from tests.support.toolbox import Note, team_with, tool
from tests.support.waiting import until

ONE = plan_of(task("t1"))
OLD_DAYS, KEPT_DAYS = 40, 30
KEPT = Retention(delete_after_days=KEPT_DAYS)
HANGING = ("events", "tasks", "attempts", "plans", "run_inputs", "idempotency_keys")
TURNS, OUTPUT_CHARACTERS = 50, 100_000
GROWTH_BYTES = 15 * 2**20
_COLUMNS = """
    SELECT column_name FROM information_schema.columns WHERE table_name = %s AND column_name <> %s
"""
INPUT = {"name": "notes", "content": "words"}


async def with_key(service: Service, key: str) -> str:
    """A job with an input, under an idempotency key."""
    await put_team(service.database, "default", CREW)
    team = await team_named(service.database, "default", CREW.name)
    assert team is not None
    job = Job.model_validate({"objective": "Find out.", "team": "crew", "inputs": [INPUT], "plan": ONE})
    assert job.plan is not None
    new = NewRun(new_run_id(), job, team, CREW.limits, validated(job.plan, ["writer"], 12))
    used = IdempotencyKey(key, "POST /v1/jobs", "digest")
    return (await accept(service.database, "default", new, key=used)).run_id


def aged(sql: psycopg.Connection, run_id: str, days: int = OLD_DAYS) -> None:
    sql.execute(
        f"UPDATE runs SET created_at = created_at - interval '{days} days',"
        f" finished_at = finished_at - interval '{days} days' WHERE id = %s".encode(),
        [run_id],
    )


def rows_of(sql: psycopg.Connection, run_id: str) -> dict[str, int]:
    """How many rows hang on a run, by table."""
    counted = {}
    for table in HANGING:
        found = sql.execute(f"SELECT count(*) FROM {table} WHERE run_id = %s".encode(), [run_id]).fetchone()
        assert found is not None
        counted[table] = found[0]
    return counted


async def test_old_ended_runs_go_with_all_that_hangs_on_them_and_others_stay(
    services: Services, stub: StubProvider, sql: psycopg.Connection
) -> None:
    service = await services.start()
    stub.on("work", as_json(report()))
    old, young = await with_key(service, "old"), await with_key(service, "young")
    for run_id in (old, young):
        await service.ended(run_id)
    stub.on("work", held(as_json(report())))
    live = await service.submit(plan=ONE)
    await stub.seen(3)
    aged(sql, old)
    aged(sql, live)
    assert all(count > 0 for count in rows_of(sql, old).values())
    kept = rows_of(sql, young)

    assert await prune_ended(service.database, KEPT) == 1

    left = {row[0] for row in sql.execute("SELECT id FROM runs")}
    assert old not in left
    assert {young, live} <= left
    assert set(rows_of(sql, old).values()) == {0}
    assert rows_of(sql, young) == kept
    assert await with_key(service, "old") not in (old, young)
    assert await with_key(service, "young") == young


async def ended_run(service: Service, stub: StubProvider) -> str:
    stub.on("work", as_json(report()))
    run_id = await service.submit(plan=ONE)
    await service.ended(run_id)
    return run_id


def copied(sql: psycopg.Connection, run_id: str, count: int) -> None:
    """So many more runs like this one, each with its log."""
    for table, key in (("runs", "id"), ("events", "run_id")):
        columns = ", ".join(row[0] for row in sql.execute(_COLUMNS, [table, key]))
        sql.execute(
            f"INSERT INTO {table} ({key}, {columns}) SELECT 'run_copy' || n, {columns}"
            f" FROM {table}, generate_series(1, {count}) AS n WHERE {key} = %s".encode(),
            [run_id],
        )


async def test_old_runs_are_deleted_in_batches(services: Services, stub: StubProvider, sql: psycopg.Connection) -> None:
    service = await services.start()
    run_id = await ended_run(service, stub)
    aged(sql, run_id)
    copied(sql, run_id, 2 * RUNS_AT_A_TIME)

    deleted = [await prune_ended(service.database, KEPT) for _ in range(4)]

    assert deleted == [RUNS_AT_A_TIME, RUNS_AT_A_TIME, 1, 0]
    assert sql.execute("SELECT count(*) FROM events").fetchone() == (0,)


async def test_an_engine_deletes_old_runs_by_itself_when_it_is_told_to(
    services: Services, stub: StubProvider, sql: psycopg.Connection
) -> None:
    keeps = await services.start()
    old, young = await ended_run(keeps, stub), await ended_run(keeps, stub)
    aged(sql, old)
    copied(sql, old, RUNS_AT_A_TIME)

    await services.start(retention_days=KEPT_DAYS)

    await until(lambda: sql.execute("SELECT id FROM runs").fetchall() == [(young,)])


async def test_tenants_keep_runs_for_a_time_of_their_own(
    services: Services, stub: StubProvider, sql: psycopg.Connection
) -> None:
    service = await services.start()
    run_id = await ended_run(service, stub)
    aged(sql, run_id)

    await set_retention(service.database, "default", Retention(thin_after_days=OLD_DAYS + 1))
    assert await prune_ended(service.database, KEPT) == 0
    await set_retention(service.database, "default", Retention(delete_after_days=OLD_DAYS + 1))
    assert await prune_ended(service.database, KEPT) == 0
    await set_retention(service.database, "default", Retention(delete_after_days=OLD_DAYS - 1))
    assert await prune_ended(service.database, Retention()) == 1

    another = await ended_run(service, stub)
    aged(sql, another)
    await set_retention(service.database, "default", None)
    assert await prune_ended(service.database, Retention()) == 0
    assert await prune_ended(service.database, KEPT) == 1


def database_bytes(sql: psycopg.Connection) -> int:
    """What the database holds, with indexes and long values."""
    found = sql.execute("SELECT pg_database_size(current_database())").fetchone()
    assert found is not None
    return int(found[0])


def log_bytes(sql: psycopg.Connection, run_id: str) -> int:
    """Characters of the log of a run, as they are stored."""
    query = "SELECT sum(octet_length(CAST(data AS text))) FROM events WHERE run_id = %s"
    found = sql.execute(query.encode(), [run_id]).fetchone()
    assert found is not None
    return int(found[0])


@pytest.mark.filterwarnings("ignore:Sending a large body:ResourceWarning")
async def test_a_long_conversation_is_stored_as_what_each_turn_adds(
    services: Services, stub: StubProvider, sql: psycopg.Connection
) -> None:
    dice = random.Random(3)

    async def read(note: Note, _: ToolContext) -> str:
        return f"{note.path} " + dice.randbytes(OUTPUT_CHARACTERS // 2).hex()

    reads = tool("reads", read, arguments=Note, output_limit=OUTPUT_CHARACTERS + 100)

    def answer(seen: SeenRequest) -> Answer:
        turn = len(seen.body["messages"]) // 2
        return tool_calls(call("reads", {"path": f"page {turn}"})) if turn < TURNS else as_json(report("read it all"))

    stub.on("work", answer)
    service = await services.start(tools=[reads])
    before = database_bytes(sql)
    team = team_with(reads, max_steps=TURNS + 1)
    run_id = await service.submit(team=team, plan=plan_of(task("t1", "keeper")))
    run = await service.ended(run_id, timeout_s=60)
    grown = database_bytes(sql) - before

    assert (run["status"], run["usage"]["tool_calls"]) == ("succeeded", TURNS)
    assert TURNS * OUTPUT_CHARACTERS / 2 < grown < GROWTH_BYTES
    outputs, after = [], 0
    while page := await events_of(service.database, "default", run_id, after=after, limit=1000):  # Of some megabytes.
        outputs += [json.loads(event.json)["data"]["output"] for event in page if event.type == "tool.completed"]
        after = page[-1].seq
    assert [len(output) >= OUTPUT_CHARACTERS for output in outputs] == [True] * TURNS
    assert outputs[-1].startswith(f"page {TURNS - 1} ")

    whole = log_bytes(sql, run_id)
    aged(sql, run_id)
    assert await thin_one(service.database, Retention(thin_after_days=KEPT_DAYS))
    aged(sql, run_id, -OLD_DAYS)
    assert 50 * log_bytes(sql, run_id) < whole
