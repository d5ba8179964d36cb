"""Migrating while others use the database, or migrate as well."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from shutil import copytree, ignore_patterns

import psycopg
import pytest

from app.store import schema
from app.store.migrating import MIGRATION_LOCK, SchemaBusy, Wait
from app.store.schema import MIGRATIONS, NEWEST, REVISIONS, Schema, check_schema, migrate, pending
from tests.support.waiting import until

BEFORE = REVISIONS[-2]
NEVER_LONG = 60.0
INDEX = "runs_by_objective_idx"
MAKES_AN_INDEX = f'''
from app.store.concurrent_indexes import create_index_concurrently

revision = "9999"
down_revision = "{NEWEST}"


def upgrade() -> None:
    create_index_concurrently("{INDEX}", "runs", ["tenant", "objective"])
'''


@pytest.fixture
def other(empty_url: str) -> Iterator[psycopg.Connection]:
    """Somebody else who uses the database, in a transaction."""
    with psycopg.connect(empty_url, application_name="nightly report") as connection:
        yield connection


@pytest.fixture
def threads() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(12) as threads:
        yield threads


@pytest.fixture
def with_one_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A release with one revision more, which makes an index concurrently."""
    copytree(MIGRATIONS, tmp_path / "migrations", ignore=ignore_patterns("__pycache__"))
    (tmp_path / "migrations/versions/9999_one_more.py").write_text(MAKES_AN_INDEX)
    monkeypatch.setattr(schema, "MIGRATIONS", tmp_path / "migrations")
    monkeypatch.setattr(schema, "REVISIONS", (*REVISIONS, "9999"))
    monkeypatch.setattr(schema, "NEWEST", "9999")


def holding(url: str, other: psycopg.Connection, statement: str) -> None:
    """Have the other one hold something, in the schema of the revision before."""
    migrate(url, BEFORE)
    other.execute(statement.encode())


def validity(url: str) -> list[tuple[bool]]:
    """Of the index, if it is there."""
    with psycopg.connect(url) as connection:
        query = "SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass(%s)"
        return connection.execute(query, [INDEX]).fetchall()


async def test_ten_may_migrate_at_once_and_say_for_whom_they_wait(
    empty_url: str, other: psycopg.Connection, threads: ThreadPoolExecutor
) -> None:
    holding(empty_url, other, "SELECT count(*) FROM runs")
    told: list[list[str]] = [[] for _ in range(10)]

    waiting = [threads.submit(migrate, empty_url, wait=Wait(NEVER_LONG, lines.append)) for lines in told]
    await until(lambda: all(told))
    other.commit()

    assert [each.result() for each in waiting] == [Schema(NEWEST)] * 10
    pid = other.info.backend_pid
    said = [line for lines in told for line in lines]
    assert any(
        line.startswith(f"Waiting for a lock that others hold: pid {pid} (nightly report, for ") for line in said
    )
    first = [line for line in said if line.startswith("Another process migrates, and goes first: pid ")]
    assert len(first) >= 9
    assert all("(chargehand migrate, for " in line for line in first)
    assert "count(*)" not in str(said)


def test_who_waits_in_vain_is_told_for_whom_and_what_to_do(empty_url: str, other: psycopg.Connection) -> None:
    holding(empty_url, other, "SELECT count(*) FROM runs")
    told: list[str] = []

    with pytest.raises(SchemaBusy) as busy:
        migrate(empty_url, wait=Wait(0.5, told.append))

    assert len(told) == 1
    assert f"for 0.5 s, the last of them pid {other.info.backend_pid} (nightly report, for" in str(busy.value)
    assert pending(empty_url) == (Schema(BEFORE), (NEWEST,))
    other.commit()
    assert migrate(empty_url) == check_schema(empty_url)


def test_who_waits_for_another_process_in_vain_is_told_so(empty_url: str, other: psycopg.Connection) -> None:
    holding(empty_url, other, f"SELECT pg_advisory_lock({MIGRATION_LOCK})")

    with pytest.raises(SchemaBusy, match=r"has been migrating for longer than 0\.5 s: pid \d+ \(nightly"):
        migrate(empty_url, wait=Wait(0.5, print))


async def test_a_newer_release_may_have_migrated_meanwhile(
    empty_url: str, other: psycopg.Connection, threads: ThreadPoolExecutor
) -> None:
    holding(empty_url, other, f"SELECT pg_advisory_xact_lock({MIGRATION_LOCK})")
    told: list[str] = []
    waiting = threads.submit(migrate, empty_url, wait=Wait(NEVER_LONG, told.append))
    await until(lambda: bool(told))

    other.execute("UPDATE chargehand_version SET version_num = '9998'")
    other.commit()

    assert waiting.result() == Schema("9998")


@pytest.mark.usefixtures("with_one_more")
async def test_an_index_is_made_beside_those_who_write(
    empty_url: str, other: psycopg.Connection, threads: ThreadPoolExecutor
) -> None:
    migrate(empty_url, NEWEST)
    other.execute("LOCK TABLE runs IN ROW EXCLUSIVE MODE")
    told: list[str] = []
    waiting = threads.submit(migrate, empty_url, wait=Wait(NEVER_LONG, told.append))
    await until(lambda: bool(told))

    with psycopg.connect(empty_url) as writer:
        writer.execute("LOCK TABLE runs IN ROW EXCLUSIVE MODE NOWAIT")
    other.commit()

    assert waiting.result() == Schema("9999")
    assert validity(empty_url) == [(True,)]


@pytest.mark.usefixtures("with_one_more")
def test_an_index_that_was_broken_off_is_made_anew(empty_url: str, other: psycopg.Connection) -> None:
    migrate(empty_url, NEWEST)
    other.execute("LOCK TABLE runs IN ROW EXCLUSIVE MODE")
    with pytest.raises(SchemaBusy):
        migrate(empty_url, wait=Wait(0.5, print))
    assert validity(empty_url) == [(False,)]
    other.commit()

    assert migrate(empty_url) == Schema("9999")

    assert validity(empty_url) == [(True,)]
