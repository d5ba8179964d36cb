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
RUN_LOCK = (ROOT / "requirements-run.lock").read_text()
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
PACKAGE = re.compile(r"^([a-z0-9._-]+)==.*?(?=^[a-z]|\Z)", re.MULTILINE | re.DOTALL)


def names_of(requirements: list[str]) -> set[str]:
    return {re.split(r"[\[<>=;~! ]", each, maxsplit=1)[0].lower() for each in requirements}


def locked(lock: str) -> dict[str, list[str]]:
    """The lines of each package, without those that say for whom it is there."""
    listed = {package[1]: package[0].splitlines() for package in PACKAGE.finditer(lock)}
    return {name: [line for line in lines if "#" not in line] for name, lines in listed.items()}


@pytest.mark.parametrize(
    "arguments", [["openapi", "--check"], ["team", "schema", "--check"], ["states", "README.md", "--check"]]
)
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
    extras = [name for extra in PROJECT["optional-dependencies"].values() for name in extra]

    assert names_of(PROJECT["dependencies"] + extras) <= locked(LOCK).keys()


def test_the_image_takes_what_runs_the_service_as_it_is_locked_and_nothing_else() -> None:
    whole, image = locked(LOCK), locked(RUN_LOCK)
    extras = PROJECT["optional-dependencies"]
    needed = names_of(PROJECT["dependencies"] + extras["build"])

    assert needed <= image.keys()
    assert image.items() <= whole.items()
    assert image.keys() & (names_of(extras["dev"] + extras["embedded"]) - needed) == set()


@pytest.mark.parametrize("lock", [LOCK, RUN_LOCK], ids=["whole", "run"])
def test_every_locked_package_has_a_hash_and_none_names_a_host(lock: str) -> None:
    assert [name for name, lines in locked(lock).items() if not any("--hash=sha256:" in line for line in lines)] == []
    assert locked(lock)
    assert re.findall(r"https?://|--(?:extra-)?index-url|--find-links", lock) == []
