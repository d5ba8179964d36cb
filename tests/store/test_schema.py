"""What is found in a database decides whether a release works with it, migrates it, or leaves it alone."""

import re
from collections.abc import Callable, Iterator
from uuid import uuid4

import psycopg
import pytest
from alembic.script import ScriptDirectory

from app.store.all_tables import metadata
from app.store.preflight import check_server
from app.store.schema import (
    MIGRATIONS,
    NEWEST,
    REVISIONS,
    TABLES,
    DatabaseUnusable,
    Schema,
    check_schema,
    migrate,
)
from tests.support.postgres import Databases
from tests.support.urls import with_parameters, with_user

Change = Callable[[str], None]


def run(url: str, *statements: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement.encode())


def test_the_revisions_are_those_that_alembic_knows() -> None:
    script = ScriptDirectory(str(MIGRATIONS))

    assert tuple(reversed([each.revision for each in script.walk_revisions()])) == REVISIONS
    assert {*metadata.tables} <= {*TABLES}


def test_what_commits_and_renewals_change_stands_in_no_index_of_runs(sql: psycopg.Connection) -> None:
    changing = {"owner", "owner_epoch", "lease_until", "last_seq", "idle_claims", "progress", "usage", "timing"}

    definitions = sql.execute("SELECT indexdef FROM pg_indexes WHERE tablename = 'runs'").fetchall()

    assert len(definitions) == 16
    assert not changing & {word for (definition,) in definitions for word in re.findall(r"\w+", definition)}


def test_a_schema_of_the_first_releases_is_taken_over_and_may_be_gone_back_to(empty_url: str) -> None:
    migrate(empty_url, "0002")
    run(empty_url, "ALTER TABLE chargehand_version RENAME TO alembic_version")
    with pytest.raises(DatabaseUnusable, match="at revision 0002, older than"):
        check_schema(empty_url)

    assert migrate(empty_url) == check_schema(empty_url) == Schema(NEWEST)

    with psycopg.connect(empty_url) as connection:
        assert connection.execute("SELECT version_num FROM alembic_version").fetchall() == [("0002",)]


def test_a_newer_schema_is_left_alone_and_worked_with(database_url: str) -> None:
    run(database_url, "UPDATE chargehand_version SET version_num = '0999'")

    assert migrate(database_url) == check_schema(database_url) == Schema("0999")
    assert check_schema(database_url).is_newer


@pytest.mark.parametrize("check", [migrate, check_schema])
def test_a_newer_schema_that_says_so_needs_a_newer_release(database_url: str, check: Callable[[str], Schema]) -> None:
    run(database_url, "UPDATE chargehand_version SET version_num = '0999'")
    run(database_url, "COMMENT ON TABLE chargehand_version IS 'needs 0998'")

    with pytest.raises(DatabaseUnusable, match=r"revision 0998.*run a newer release"):
        check(database_url)


def test_another_program_may_keep_its_revisions_beside_ours(empty_url: str) -> None:
    run(empty_url, "CREATE TABLE alembic_version (version_num text)", "INSERT INTO alembic_version VALUES ('9f3c')")
    with pytest.raises(DatabaseUnusable, match="no schema yet"):
        check_schema(empty_url)

    assert migrate(empty_url) == Schema(NEWEST)

    with psycopg.connect(empty_url) as connection:
        assert connection.execute("SELECT version_num FROM alembic_version").fetchall() == [("9f3c",)]


@pytest.mark.parametrize("name", ["runs", "tasks", "procrastinate_jobs"])
def test_a_table_of_another_program_is_named_and_left_alone(empty_url: str, name: str) -> None:
    run(empty_url, f"CREATE TABLE {name} (theirs text)")

    with pytest.raises(DatabaseUnusable, match=f"a table {name} that is another program's"):
        migrate(empty_url)

    with psycopg.connect(empty_url) as connection:
        assert connection.execute(f"SELECT * FROM {name}".encode()).description[0].name == "theirs"  # type: ignore[index]


@pytest.fixture
def weak_role(databases: Databases) -> Iterator[str]:
    """A role that owns nothing."""
    name = f"weak_{uuid4().hex}"
    run(databases.server_url, f"CREATE ROLE {name} LOGIN")
    yield name
    run(databases.server_url, f"DROP ROLE {name}")


def test_a_role_that_may_not_make_tables_is_told_so_in_one_line(empty_url: str, weak_role: str) -> None:
    with pytest.raises(DatabaseUnusable, match="may not make the schema: permission denied") as refused:
        migrate(with_user(empty_url, weak_role))

    assert "\n" not in str(refused.value)


def test_a_role_that_may_not_write_is_told_so_in_one_line(database_url: str, weak_role: str) -> None:
    with pytest.raises(DatabaseUnusable, match="permission denied"):
        check_schema(with_user(database_url, weak_role))


@pytest.mark.parametrize("parameters", ["", "target_session_attrs=any"])
def test_a_server_that_takes_no_writes_is_refused(database_url: str, parameters: str) -> None:
    name = psycopg.conninfo.conninfo_to_dict(database_url)["dbname"]
    run(database_url, f"ALTER DATABASE {name} SET default_transaction_read_only = on")

    with pytest.raises(DatabaseUnusable, match=r"read-only|takes no writes"):
        check_server(with_parameters(database_url, parameters))
