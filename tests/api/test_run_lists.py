"""Lists of runs: what is filtered, in which order, and page by page."""

from collections.abc import Iterator
from contextlib import AsyncExitStack
from decimal import Decimal
from typing import Any

import psycopg
import pytest
from sqlalchemy import text

from app.domain.events import Entry, PlanCreated
from app.domain.plan import Plan, Task, validated
from app.settings import Settings
from tests.support.api import Api
from tests.support.run_rows import fill

SESSIONS = Settings.model_fields["database_pool"].default
"""Of the service with the database."""


@pytest.fixture
def sql(database_url: str) -> Iterator[psycopg.Connection]:
    with psycopg.connect(database_url, autocommit=True) as connection:
        yield connection


async def listed(api: Api, query: str) -> list[str]:
    return [run["id"] for run in (await api.get(f"/v1/runs?{query}"))["data"]]


async def walked(api: Api, query: str) -> list[str]:
    """All further pages of a list, one behind the other."""
    found: list[str] = []
    plain, _, cursor = query.partition("&after=")
    while True:
        page = await api.get(f"/v1/runs?{plain}&after={cursor}")
        found += [run["id"] for run in page["data"]]
        if not page["has_more"]:
            return found
        cursor = page["next_cursor"]


@pytest.mark.parametrize("order", ["desc", "asc"])
@pytest.mark.parametrize("sort", ["created_at", "finished_at", "cost_usd"])
async def test_every_order_pages_through_equal_values_once(
    api: Api, sql: psycopg.Connection, sort: str, order: str
) -> None:
    fill(sql, "default", 15)
    sql.execute(f"UPDATE runs SET {sort} = (SELECT min({sort}) FROM runs)".encode())
    sql.execute("UPDATE runs SET finished_at = created_at WHERE finished_at < created_at")
    everybody = sorted((row[0] for row in sql.execute("SELECT id FROM runs").fetchall()), reverse=order == "desc")
    query = f"sort={sort}&order={order}&limit=4"

    first = await api.get(f"/v1/runs?{query}")
    added = await api.post()
    rest = await walked(api, f"{query}&after={first['next_cursor']}")

    assert [run["id"] for run in first["data"]] == everybody[:4]
    assert [each for each in rest if each != added] == everybody[4:]


async def test_a_list_by_what_a_run_has_at_its_end_leaves_out_those_that_go_on(api: Api) -> None:
    ended, _ = await api.ended(), await api.post()

    assert await listed(api, "sort=cost_usd") == await listed(api, "sort=finished_at&order=asc") == [ended]


async def test_runs_are_found_by_their_metadata(api: Api) -> None:
    labels: dict[str, dict[str, Any]] = {
        "metadata=ticket:T-1": {"ticket": "T-1"},
        "metadata=a:b:c": {"a": "b:c"},
        "metadata=a%5C:b:c": {"a:b": "c"},
        "metadata=a%5C%5C:c": {"a\\": "c"},
        "metadata=gr%C3%B6%C3%9Fe:7%20%C2%B5m": {"größe": "7 µm"},
        "metadata=empty:": {"empty": ""},
        "metadata=n:5": {"n": 5},
        "metadata=m:5": {"m": "5"},
        "metadata=x:1.5&metadata=y:true&metadata=z:null": {"x": 1.5, "y": True, "z": None},
        "metadata=default:x": {"default": "x"},
    }
    found = {}
    for query, metadata in labels.items():
        found[query] = [await api.post(metadata=metadata)]
        await api.post(metadata=dict.fromkeys(metadata, "another"))
    await api.post()

    assert {query: await listed(api, query) for query in labels} == found


async def test_filters_that_are_named_together_must_all_fit(api: Api, sql: psycopg.Connection) -> None:
    fill(sql, "default", 200)
    queued = await api.post(metadata={"env": "prod"})
    half = sql.execute("SELECT created_at, finished_at FROM runs ORDER BY id OFFSET 100 LIMIT 1").fetchone()
    assert half is not None
    created, finished = (at.isoformat().replace("+00:00", "Z") for at in half)

    def ids(condition: str) -> list[str]:
        query = f"SELECT id FROM runs WHERE {condition} ORDER BY created_at DESC, id DESC"
        return [row[0] for row in sql.execute(query.encode()).fetchall()]

    at = "SELECT {} FROM runs ORDER BY id OFFSET 100 LIMIT 1"
    for query, condition in {
        "status=failed&status=partial": "status IN ('failed', 'partial')",
        "status=queued": f"id = '{queued}'",
        "stop_reason=gaps": "stop_reason = 'gaps'",
        f"created_after={created}": f"created_at >= ({at.format('created_at')})",
        f"created_before={created}&status=failed": f"created_at < ({at.format('created_at')}) AND status = 'failed'",
        f"finished_after={finished}&stop_reason=no_results": (
            f"finished_at >= ({at.format('finished_at')}) AND stop_reason = 'no_results'"
        ),
        f"finished_before={finished}&metadata=customer:c7": (
            f"finished_at < ({at.format('finished_at')}) AND metadata ->> 'customer' = 'c7'"
        ),
        "cost_usd_min=0.0007&cost_usd_max=0.0011": "cost_usd BETWEEN 0.0007 AND 0.0011",
        "cost_usd_max=0.0020&metadata=env:test&team=general": (
            "cost_usd <= 0.002 AND metadata ->> 'env' = 'test' AND team_name = 'general'"
        ),
    }.items():
        expected = ids(condition)
        assert await listed(api, f"{query}&limit=100") == expected[:100], query
        assert expected, query
    assert await listed(api, "created_after=2026-01-01&finished_before=2001-01-01T00:00:00%2B01:00") == []


NONSENSE = (
    "created_after=yesterday", "finished_before=2026-13-01", "created_before=2026-01-01T00:00:00", "cost_usd_min=-1",
    "cost_usd_max=1e3", "cost_usd_min=NaN", "stop_reason=nothing", "sort=objective", "order=up", "metadata=ticket",
    "created_after=1893456000", "created_before=2026-W48-7", "finished_after=0001-01-01T00:00:00%2B01:00",
    "finished_after=2026-11-28T09%2B01",
    "metadata=a:%00", "metadata=%00:a", "metadata=:x", "metadata=a:1&metadata=a:2",
    "status=succeeded&status=done", f"metadata={'a' * 800}:b",
)  # fmt: skip


async def test_a_filter_that_cannot_be_is_refused_and_named(api: Api) -> None:
    for query in NONSENSE:
        answer = await api.client.get(f"/v1/runs?{query}")

        assert answer.status_code == 422, answer.text
        assert answer.json()["errors"][0]["parameter"] == query.partition("=")[0]


async def test_a_cursor_belongs_to_its_filters_and_its_order(api: Api, sql: psycopg.Connection) -> None:
    fill(sql, "default", 10)
    query = "limit=2&metadata=env:prod&status=succeeded&sort=cost_usd"
    cursor = (await api.get(f"/v1/runs?{query}"))["next_cursor"]

    for other in (
        "limit=2", "limit=2&sort=cost_usd", query.replace("prod", "test"), query.replace("cost_usd", "finished_at"),
        query.replace("succeeded", "failed"), f"{query}&order=asc", f"{query}&cost_usd_min=0",
    ):  # fmt: skip
        answer = await api.client.get(f"/v1/runs?{other}&after={cursor}")
        assert (answer.status_code, answer.json()["code"]) == (400, "cursor_invalid"), other
    for same in (query, "sort=cost_usd&limit=7&status=succeeded&metadata=env:prod&include=result"):
        assert (await api.client.get(f"/v1/runs?{same}&after={cursor}")).status_code == 200


async def test_a_run_keeps_to_its_page_while_it_goes_on_and_says_at_its_end_what_it_cost(
    api: Api, sql: psycopg.Connection
) -> None:
    play = api.player.play(await api.post(metadata={"ticket": "T-1"}))
    await play.start()
    before = await updates(api, sql)
    await play.plan("t1")
    await play.start_task("t1")
    await play.finish_task("t1")
    await play.synthesize()
    total, hot = [now - then for now, then in zip(await updates(api, sql), before, strict=True)]
    running = sql.execute("SELECT cost_usd FROM runs").fetchone()
    await play.succeed()

    assert total == hot == 4
    assert (running, sql.execute("SELECT cost_usd FROM runs").fetchone()) == ((None,), (Decimal(0),))


async def updates(api: Api, sql: psycopg.Connection) -> tuple[int, int]:
    """Updates of rows of runs so far, and how many of them have touched no index."""
    async with AsyncExitStack() as stack:  # Each session counts for itself until it says so.
        for _ in range(SESSIONS):
            connection = await stack.enter_async_context(api.runtime.database.transaction())
            await connection.execute(text("SELECT pg_stat_force_next_flush()"))
    return sql.execute(
        "SELECT n_tup_upd, n_tup_hot_upd FROM pg_stat_user_tables WHERE relname = 'runs'"
    ).fetchone() or (0, 0)


async def test_the_levels_of_plans_are_there_for_those_who_ask(api: Api) -> None:
    play = await api.played()
    await play.start()
    assert await levels(api, "include=levels") == [None]
    ways = {"north": (), "south": (), "sum": ("north", "south"), "memo": ("sum",), "table": ("south",)}
    tasks = [
        Task(id=name, title=name, instruction="Do it.", worker="writer", depends_on=on) for name, on in ways.items()
    ]
    plan = validated(Plan(goal="the goal", tasks=tuple(tasks)), ["writer"], 100)

    await play.record(Entry(PlanCreated.of(plan)))
    await play.start_task("north")
    await play.finish_task("north")
    await play.start_task("south")

    expected = [{"succeeded": 1, "running": 1}, {"pending": 2}, {"pending": 1}]
    assert await levels(api, "include=levels") == [expected]
    assert await levels(api, "include=objective,levels,result") == [expected]
    assert await levels(api, "") == [None]
    assert (await api.client.get("/v1/runs?include=tasks")).status_code == 422


async def levels(api: Api, query: str) -> list[Any]:
    return [run["levels"] for run in (await api.get(f"/v1/runs?{query}"))["data"]]
