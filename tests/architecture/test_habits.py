import re
from pathlib import Path

from tests.support.postgres import ROOT

TESTS = sorted((ROOT / "tests").rglob("*.py"))
MOCK = re.compile(r"^\s*(from|import)\s+(unittest\.mock|unittest\s+import\s+mock|mock)\b|\bmocker\b", re.MULTILINE)
SLEEP = re.compile(r"\b(asyncio|time|anyio)\.sleep\((?!0\))")
BROAD_CATCH = re.compile(r"^\s*except(\s+\(?(Base)?Exception\)?(\s+as\s+\w+)?)?:", re.MULTILINE)
BROAD_CATCHES_ALLOWED = 3
"""Around one call of a tool, around one run, and in threads of foreign functions, which hand over what they raise."""


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


def others(pattern: re.Pattern[str]) -> list[str]:
    """The test files besides this one in which the pattern occurs."""
    return [name_of(path) for path in TESTS if path != Path(__file__) and pattern.search(path.read_text())]


def test_fakes_are_implementations_and_never_mocks() -> None:
    assert others(MOCK) == []


def test_no_test_waits_by_sleeping_unless_the_line_says_why() -> None:
    unexplained = [
        f"{name_of(path)}:{number}"
        for path in TESTS
        for number, line in enumerate(path.read_text().splitlines(), start=1)
        if SLEEP.search(line) and "#" not in line
    ]

    assert unexplained == []


def test_errors_are_caught_broadly_in_three_places_alone() -> None:
    caught = [
        f"{name_of(path)}: {found[0].strip()}"
        for path in (ROOT / "app").rglob("*.py")
        for found in BROAD_CATCH.finditer(path.read_text())
    ]

    assert len(caught) <= BROAD_CATCHES_ALLOWED, caught
