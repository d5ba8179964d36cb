import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.postgres import ROOT

PLANTED = [
    ("app/domain/planted.py", "import sqlalchemy", "The domain does no I/O"),
    ("app/domain/planted.py", "import asyncio", "The domain does no I/O"),
    ("app/domain/planted.py", "import app.store.tables", "Layers"),
    ("app/agents/planted.py", "import anthropic", "One file knows Anthropic"),
    ("app/agents/planted.py", "import app.store.tables", "Agents never see the store"),
    ("app/engine/planted.py", "import sqlalchemy", "SQLAlchemy stays in the store"),
    ("app/engine/planted.py", "import app.settings", "Settings are read at the entry"),
    ("app/api/planted.py", "import app.llm.model", "The API records and reads runs"),
    ("app/evaluation/planted.py", "import app.store.tables", "The harness knows the service by its API alone"),
    ("app/client/planted.py", "import app.domain.usage", "The client and the terminal know the service by its API"),
    ("app/terminal/planted.py", "import app.settings", "The client and the terminal know the service by its API"),
    ("app/planted.py", "", "Layers"),
]


def lint_imports(checkout: Path) -> subprocess.CompletedProcess[str]:
    program = Path(sys.executable).with_name("lint-imports")
    return subprocess.run(
        [program, "--no-cache", "--config", "pyproject.toml"],
        cwd=checkout,
        env={"PYTHONPATH": str(checkout), "PATH": "", "COLUMNS": "200", "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A copy of the code whose files a test may change."""
    shutil.copytree(ROOT / "app", tmp_path / "app", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def test_every_import_contract_holds() -> None:
    checked = lint_imports(ROOT)

    assert checked.returncode == 0, checked.stdout + checked.stderr


@pytest.mark.parametrize(("file", "line", "contract"), PLANTED)
def test_a_planted_violation_is_found(checkout: Path, file: str, line: str, contract: str) -> None:
    (checkout / file).write_text(f"{line}\n")

    checked = lint_imports(checkout)

    assert checked.returncode == 1, checked.stdout + checked.stderr
    assert [row for row in checked.stdout.splitlines() if row.startswith(contract) and row.endswith("BROKEN")]


AT_THE_START = """
import inspect, sys
from types import FrameType

searched, find = [], inspect.getmodule
def counted(searched_for, *options):
    if isinstance(searched_for, FrameType) and searched_for.f_code.co_filename.startswith("<frozen"):
        searched.append(searched_for)  # Such a search goes through all modules that are loaded.
    return find(searched_for, *options)
inspect.getmodule = counted

import app.api.app, app.api.server, app.engine.engine, app.runtime

print("anthropic" in sys.modules, "duckdb" in sys.modules, len(searched))
"""


def test_a_start_imports_neither_what_one_model_needs_nor_searches_all_modules_for_each_event() -> None:
    ran = subprocess.run([sys.executable, "-c", AT_THE_START], cwd=ROOT, capture_output=True, text=True, check=True)
    anthropic, duckdb, searched = ran.stdout.split()

    assert (anthropic, duckdb) == ("False", "False")
    assert int(searched) < 50
