"""Each filter and each order of a list has its index, and no index has a column that changes while a run goes on."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import psycopg
import pytest

from app.store.run_lists import Listing, Place, RunFilter, page_query
from app.store.schema import migrate
from tests.support.postgres import Databases
from tests.support.run_rows import fill

AT = datetime(2026, 1, 1, tzinfo=UTC)
PLACES: dict[str, Place] = {
    "created_at": Place(AT, "run_x"),
    "finished_at": Place(AT, "run_x"),
    "cost_usd": Place(Decimal(1), "run_x"),
}


@pytest.fixture(scope="module")
def filled(databases: Databases) -> Iterator[psycopg.Connection]:
    """A database with runs of a tenant that has many, and of one that has few."""
    with databases.fresh() as url, psycopg.connect(url, autocommit=True) as connection:
        for tenant in ("many", "others"):
            fill(connection, tenant, 3_000)
        fill(connection, "few", 40, apart_s=1300)
        connection.execute("ANALYZE runs")
        connection.execute("SET enable_seqscan = off")
        yield connection


def plan_of(connection: psycopg.Connection, tenant: str, listing: Listing) -> list[dict[str, Any]]:
    """The nodes of the plan for a page of a list, from the top."""
    query, values = page_query(tenant, listing, 21)
    with psycopg.ClientCursor(connection) as cursor:
        row = cursor.execute(f"EXPLAIN (FORMAT JSON) {query}".encode(), values).fetchone()
    assert row is not None
    found, nodes = [row[0][0]["Plan"]], []
    while found:
        node = found.pop(0)
        nodes.append(node)
        found += node.get("Plans", [])
    return nodes


def indexes(nodes: list[dict[str, Any]]) -> set[str]:
    return {node["Index Name"] for node in nodes if "Index Name" in node}


def kinds(nodes: list[dict[str, Any]]) -> set[str]:
    return {node["Node Type"] for node in nodes}


@pytest.mark.parametrize(
    ("which", "sort", "index"),
    [
        (RunFilter(), "created_at", "runs_tenant_idx"),
        (RunFilter(created_after=AT, created_before=datetime.now(UTC)), "created_at", "runs_tenant_idx"),
        (RunFilter(statuses=("failed",)), "created_at", "runs_by_status_idx"),
        (RunFilter(team="rare"), "created_at", "runs_by_team_idx"),
        (RunFilter(stop_reason="gaps"), "created_at", "runs_by_stop_reason_idx"),
        (RunFilter(), "finished_at", "runs_by_finish_idx"),
        (RunFilter(finished_after=AT, finished_before=datetime.now(UTC)), "finished_at", "runs_by_finish_idx"),
        (RunFilter(), "cost_usd", "runs_by_cost_idx"),
        (RunFilter(cost_usd_min=Decimal("0.1"), cost_usd_max=Decimal("0.9")), "cost_usd", "runs_by_cost_idx"),
    ],
)
@pytest.mark.parametrize("order", ["desc", "asc"])
@pytest.mark.parametrize("is_deep", [False, True])
def test_a_filter_with_its_own_order_reads_the_page_and_nothing_else(
    filled: psycopg.Connection, which: RunFilter, sort: Any, index: str, order: Any, is_deep: bool
) -> None:
    listing = Listing(which, sort, order, PLACES[sort] if is_deep else None)

    filled.execute("SET enable_bitmapscan = off")
    nodes = plan_of(filled, "many", listing)
    filled.execute("RESET enable_bitmapscan")

    assert (indexes(nodes), kinds(nodes)) == ({index}, {"Limit", "Index Scan"})
    assert not [node for node in nodes if "Filter" in node]
    assert not is_deep or f"ROW({sort}, id)" in nodes[-1]["Index Cond"]


@pytest.mark.parametrize(
    ("which", "index"),
    [
        (RunFilter(labels={"ticket": ("T-77",)}), "runs_by_label_idx"),
        (RunFilter(labels={"ticket": ("T-77", 77)}), "runs_by_label_idx"),
        (RunFilter(stop_reason="provider_auth"), "runs_by_stop_reason_idx"),
        (RunFilter(team="rare"), "runs_by_team_idx"),
        (RunFilter(statuses=("cancelled",)), "runs_by_status_idx"),
        (RunFilter(cost_usd_min=Decimal("0.3995")), "runs_by_cost_idx"),
        (RunFilter(finished_after=datetime.now(UTC)), "runs_by_finish_idx"),
    ],
)
@pytest.mark.parametrize("sort", ["created_at", "finished_at", "cost_usd"])
def test_what_few_runs_have_is_looked_up_whatever_the_order(
    filled: psycopg.Connection, which: RunFilter, index: str, sort: Any
) -> None:
    assert index in indexes(plan_of(filled, "many", Listing(which, sort)))


@pytest.mark.parametrize("sort", ["created_at", "finished_at", "cost_usd"])
def test_a_label_that_most_runs_have_is_met_on_the_way(filled: psycopg.Connection, sort: Any) -> None:
    nodes = plan_of(filled, "many", Listing(RunFilter(labels={"env": ("prod",)}), sort))

    assert "runs_by_label_idx" not in indexes(nodes)
    assert "Sort" not in kinds(nodes)


def test_a_tenant_with_few_runs_reads_none_of_those_that_have_many(filled: psycopg.Connection) -> None:
    for which in (RunFilter(), RunFilter(labels={"env": ("prod",)}), RunFilter(statuses=("succeeded",))):
        for sort in PLACES:
            query, values = page_query("few", Listing(which, sort), 21)  # type: ignore[arg-type]
            with psycopg.ClientCursor(filled) as cursor:
                row = cursor.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {query}".encode(), values).fetchone()
            assert row is not None
            told = json.dumps(row[0])
            nodes = [row[0][0]["Plan"]]
            while nodes:
                node = nodes.pop()
                nodes += node.get("Plans", [])
                assert node.get("Rows Removed by Filter", 0) <= 40, told
                assert node["Actual Rows"] <= 40, told


def test_what_an_earlier_release_ends_says_what_it_cost(sql: psycopg.Connection) -> None:
    fill(sql, "old", 1)
    sql.execute(
        "UPDATE runs SET status = 'queued', stop_reason = NULL, finished_at = NULL, started_at = NULL, cost_usd = NULL"
    )

    usage = '{"cost_usd": "1.25"}'
    sql.execute("UPDATE runs SET status = 'failed', stop_reason = 'gaps', finished_at = now(), usage = %s", [usage])

    assert sql.execute("SELECT cost_usd FROM runs").fetchone() == (Decimal("1.25"),)


def test_runs_that_had_ended_before_say_what_they_cost_as_well(empty_url: str) -> None:
    migrate(empty_url, "0019")
    with psycopg.connect(empty_url, autocommit=True) as connection:
        fill(connection, "old", 5)
        connection.execute("ALTER TABLE runs DISABLE TRIGGER note_cost")
        connection.execute("UPDATE runs SET cost_usd = NULL")
        connection.execute("ALTER TABLE runs ENABLE TRIGGER note_cost")

        migrate(empty_url)

        filled = "SELECT count(*) FROM runs WHERE cost_usd = CAST(usage ->> 'cost_usd' AS numeric)"
        assert connection.execute(filled).fetchone() == (5,)


def test_early_runs_are_found_by_their_end_without_a_look_at_those_that_came_later(filled: psycopg.Connection) -> None:
    row = filled.execute("SELECT created_at FROM runs WHERE tenant = 'many' ORDER BY id OFFSET 1500 LIMIT 1").fetchone()
    assert row is not None
    query, values = page_query("many", Listing(RunFilter(created_before=row[0]), "finished_at"), 21)

    with psycopg.ClientCursor(filled) as cursor:
        told = cursor.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {query}".encode(), values).fetchone()

    assert told is not None
    [scan] = told[0][0]["Plan"]["Plans"]
    assert (scan["Index Name"], scan.get("Rows Removed by Filter", 0)) == ("runs_by_finish_idx", 0)
    assert "created_at <" in scan["Index Cond"]
