"""What the command line loads before its first line: whoever types notices a second's worth of modules."""

import subprocess
import sys
from collections.abc import Sequence

import pytest

from app.cli.lazily import loaded
from app.cli.table import COMMANDS
from tests.support.postgres import ROOT

HEAVY = {"alembic", "anthropic", "duckdb", "fastapi", "lxml", "mcp", "psycopg", "pydantic", "sqlalchemy", "structlog"}
LISTED = "import sys; from app.cli import main\ntry: main({arguments})\nexcept SystemExit: print(*sys.modules)"


def loaded_by(arguments: Sequence[str]) -> set[str]:
    """The packages that a process has loaded once it has carried out a command."""
    code = LISTED.format(arguments=list(arguments))
    ended = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    return {name.partition(".")[0] for name in ended.stdout.splitlines()[-1].split()}


@pytest.mark.parametrize("arguments", [["--help"], ["--version"]])
def test_the_list_and_the_version_load_nothing_of_a_service(arguments: list[str]) -> None:
    assert loaded_by(arguments) & (HEAVY | {"httpx2", "yaml", "asyncio"}) == set()


def test_every_command_of_the_table_is_there() -> None:
    assert {name: loaded(name).name for name in COMMANDS} == {name: name for name in COMMANDS}
