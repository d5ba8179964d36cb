import re
import tomllib

import psycopg
import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import NullPool, create_engine, make_url

from app import cli
from app.store.schema import DatabaseUnusable, check_schema
from app.store.tables import metadata
from tests.support.postgres import ROOT

LOCK = (ROOT / "requirements.lock").read_text()


@pytest.mark.parametrize("arguments", [["openapi", "--check"], ["states", "README.md", "--check"]])
def test_what_is_generated_from_the_code_is_up_to_date(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)

    with pytest.raises(SystemExit) as end:
        cli.main(arguments)

    assert end.value.code == 0, capsys.readouterr().err


def test_the_migrations_make_exactly_the_tables_we_declare(database_url: str) -> None:
    engine = create_engine(make_url(database_url).set(drivername="postgresql+psycopg"), poolclass=NullPool)
    ours = {"include_name": lambda name, kind, _: kind != "table" or name in metadata.tables, "compare_type": True}

    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts=ours)
        assert compare_metadata(context, metadata) == []


def test_a_schema_made_by_the_migrations_passes_and_one_that_is_missing_does_not(database_url: str) -> None:
    check_schema(database_url)

    with psycopg.connect(database_url) as connection:
        connection.execute("DROP TABLE chargehand_version")
    with pytest.raises(DatabaseUnusable, match="run `chargehand migrate`"):
        check_schema(database_url)


def test_the_lock_file_holds_every_dependency() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = project["dependencies"] + [name for extra in project["optional-dependencies"].values() for name in extra]
    names = {re.split(r"[\[<>=;~! ]", each, maxsplit=1)[0].lower() for each in wanted}
    locked = set(re.findall(r"^([a-z0-9._-]+)==", LOCK, re.MULTILINE))

    assert sorted(names - locked) == []


def test_every_locked_package_has_a_hash_and_none_names_a_host() -> None:
    packages = re.findall(r"^[a-z0-9._-]+==.*?(?=^[a-z]|\Z)", LOCK, re.MULTILINE | re.DOTALL)

    assert packages
    assert [each.splitlines()[0] for each in packages if "--hash=sha256:" not in each] == []
    assert re.findall(r"https?://|--(?:extra-)?index-url|--find-links", LOCK) == []
