"""What lists cost where a tenant has 200,000 runs, and what their indexes cost those who write."""

import asyncio
import statistics
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import psycopg
from sqlalchemy.dialects.postgresql.base import PGDialect
from sqlalchemy.schema import CreateIndex
from uuid_utils.compat import uuid7

from app.domain.job import Job, Limits
from app.domain.retries import Patience
from app.domain.team import Team
from app.store.acceptance import NewRun, accept
from app.store.database import Database
from app.store.embedded import LOCAL_SETTINGS, embedded_postgres
from app.store.ownership import Claimant, claim_if_free
from app.store.run_indexes import LIST_INDEXES
from app.store.run_lists import Listing, Place, RunFilter, page_of_runs, page_query
from app.store.schema import migrate
from app.store.teams import StoredTeam, put_team, team_named
from benchmarks.bench import percentile
from benchmarks.reference_job import TEAM
from tests.support.run_rows import fill

RUNS = 200_000
LOOKS = 200
PAGE = 21
WRITES = 400
TURNS = 6

NOW = datetime.now(UTC)
FILTERS: dict[str, RunFilter] = {
    "none": RunFilter(),
    "status, most": RunFilter(statuses=("succeeded",)),
    "status, 1 in 1,000": RunFilter(statuses=("cancelled",)),
    "two statuses, 1 in 33": RunFilter(statuses=("failed", "partial")),
    "team, most": RunFilter(team="general"),
    "team, 1 in 500": RunFilter(team="rare"),
    "stop reason, most": RunFilter(stop_reason="completed"),
    "stop reason, 1 in 2,000": RunFilter(stop_reason="provider_auth"),
    "metadata, one run": RunFilter(labels={"ticket": ("T-77",)}),
    "metadata, 1 in 200": RunFilter(labels={"customer": ("c7",)}),
    "metadata, 1 in 10": RunFilter(labels={"env": ("test",)}),
    "metadata, most": RunFilter(labels={"env": ("prod",)}),
    "metadata, none": RunFilter(labels={"ticket": ("X",)}),
    "created, an hour a week ago": RunFilter(
        created_after=NOW - timedelta(days=7, hours=1), created_before=NOW - timedelta(days=7)
    ),
    "created, before half of all": RunFilter(created_before=NOW - timedelta(days=15)),
    "finished, an hour a week ago": RunFilter(
        finished_after=NOW - timedelta(days=7, hours=1), finished_before=NOW - timedelta(days=7)
    ),
    "cost, the dearest 20": RunFilter(cost_usd_min=Decimal("0.9972")),
    "cost, half of all": RunFilter(cost_usd_min=Decimal("0.5")),
    "status 1 in 50, and metadata 1 in 10": RunFilter(statuses=("failed",), labels={"env": ("test",)}),
}
"""What is asked for, by how many runs have it."""


@dataclass(frozen=True, slots=True)
class Looked:
    """What a list took."""

    name: str
    sort: str
    tenant: str
    median_ms: float
    p99_ms: float
    nodes: str
    """How Postgres has found the page."""


@dataclass(frozen=True, slots=True)
class Wrote:
    """What accepting and beginning a run took."""

    with_ms: float
    without_ms: float
    with_bytes: float
    without_bytes: float


def measure() -> tuple[list[Looked], Wrote, float]:
    """The latency of every filter in every order, the cost of writing, and the seconds that the indexes took."""
    with (
        tempfile.TemporaryDirectory() as home,
        embedded_postgres(Path(home), settings={**LOCAL_SETTINGS, "max_wal_size": "8GB"}, erase=True) as url,
    ):
        migrate(url)
        with psycopg.connect(url, autocommit=True) as connection:
            _drop(connection)
            fill(connection, "default", RUNS)
            fill(connection, "few", 50, apart_s=13.0 * RUNS / 50)
            connection.execute("VACUUM ANALYZE runs")
            begun = time.perf_counter()
            _make(connection)
            took_s = time.perf_counter() - begun
            connection.execute("VACUUM ANALYZE runs")
        return asyncio.run(_looks(url)), asyncio.run(_writes(url)), took_s


def _drop(connection: psycopg.Connection) -> None:
    for index in LIST_INDEXES:
        connection.execute(f"DROP INDEX IF EXISTS {index.name}".encode())


def _make(connection: psycopg.Connection) -> None:
    for index in LIST_INDEXES:
        made = CreateIndex(index).compile(dialect=PGDialect())  # type: ignore[no-untyped-call]
        connection.execute(str(made).encode())
    connection.execute("ANALYZE runs")


async def _looks(url: str) -> list[Looked]:
    database = Database(url, pool=5)
    found = []
    with psycopg.connect(url, autocommit=True, cursor_factory=psycopg.ClientCursor) as connection:
        for name, which in FILTERS.items():
            for sort in ("created_at", "finished_at", "cost_usd"):
                tenants = ("default", "few") if name in ("none", "metadata, most", "status, most") else ("default",)
                for tenant in tenants:
                    listing = Listing(which, sort)  # type: ignore[arg-type]
                    times = await _times(database, tenant, listing)
                    nodes = _nodes(connection, tenant, listing)
                    found.append(Looked(name, sort, tenant, percentile(times, 0.5), percentile(times, 0.99), nodes))
        middle = Listing(sort="cost_usd", after=Place(Decimal("0.5"), "run_x"))
        times = await _times(database, "default", middle)
        nodes = _nodes(connection, "default", middle)
        found.append(
            Looked(
                "none, a page in the middle",
                "cost_usd",
                "default",
                percentile(times, 0.5),
                percentile(times, 0.99),
                nodes,
            )
        )
    await database.close()
    return found


async def _times(database: Database, tenant: str, listing: Listing) -> Sequence[float]:
    """Milliseconds of each look; a list that takes long is looked at less often."""
    times: list[float] = []
    while len(times) < LOOKS and sum(times) < 10_000:
        begun = time.perf_counter()
        await page_of_runs(database, tenant, listing, limit=PAGE)
        times.append((time.perf_counter() - begun) * 1000)
    return times[1:]


def _nodes(connection: psycopg.Connection, tenant: str, listing: Listing) -> str:
    query, values = page_query(tenant, listing, PAGE)
    row = connection.execute(f"EXPLAIN (FORMAT JSON) {query}".encode(), values).fetchone()
    assert row is not None
    told, nodes = [], [row[0][0]["Plan"]]
    while nodes:
        node = nodes.pop(0)
        nodes += node.get("Plans", [])
        told.append(f"{node['Node Type']} {node.get('Index Name', '')}".strip())
    return " < ".join(each for each in told if each != "Limit")


async def _writes(url: str) -> Wrote:
    """Accept runs with labels, and begin them, with the indexes of lists and without, in turn."""
    database = Database(url, pool=5)
    await put_team(database, "default", Team.model_validate(TEAM))
    team = await team_named(database, "default", Team.model_validate(TEAM).name)
    assert team is not None
    spent: dict[bool, list[tuple[float, float]]] = {True: [], False: []}
    with psycopg.connect(url, autocommit=True) as connection:
        for turn in range(TURNS):
            has = turn % 4 in (0, 3)
            _drop(connection)
            if has:
                _make(connection)
            connection.execute("CHECKPOINT")
            await _write(database, team, 20)
            before = _log_bytes(connection)
            times = await _write(database, team, WRITES)
            spent[has].append((statistics.median(times), (_log_bytes(connection) - before) / WRITES))
    await database.close()
    with_, without = ([statistics.mean(column) for column in zip(*spent[has], strict=True)] for has in (True, False))
    return Wrote(with_[0], without[0], with_[1], without[1])


async def _write(database: Database, team: StoredTeam, count: int) -> list[float]:
    times = []
    for n in range(count):
        job = Job(objective="Find out.", metadata={"ticket": f"T-{n}", "customer": f"c{n % 200}", "env": "prod"})
        new = NewRun(f"run_{uuid7().hex}", job, team, Limits())
        begun = time.perf_counter()
        await accept(database, "default", new)
        await claim_if_free(database, new.run_id, Claimant("bench", 600, Patience(), {}))
        times.append((time.perf_counter() - begun) * 1000)
    return times


def _log_bytes(connection: psycopg.Connection) -> float:
    row = connection.execute("SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn").fetchone()
    assert row is not None
    return float(row[0])
