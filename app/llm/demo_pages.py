"""How the demo model pages through the rows of a query and the lines of a text, and whether it has them all."""

import re
from collections.abc import Iterable, Iterator
from typing import Any

from app.llm.demo_evidence import grid_of
from app.llm.demo_grid import Grid
from app.llm.demo_prompts import ToolResults

_SHOWN = re.compile(r"(The first )?(\d{1,6}) rows?\b")
_GOES_ON = re.compile(r"^.*, lines \d+ to \d+ of \d+; continue with first_line=(\d+)\n")
_ORDERED = re.compile(r"\bORDER BY\b(?!.*\b(?:LIMIT|OFFSET)\b)", re.IGNORECASE | re.DOTALL)

LINES_ASKED = 500


def pages_left(answers: ToolResults, queries: Iterable[str]) -> list[str]:
    """The next page of each query that has more rows than were shown. One without an order has no pages."""
    nexts = ((sql, _paged(answers, sql)) for sql in queries if _ORDERED.search(sql))
    return [_page(sql, len(grid.rows)) for sql, grid in nexts if grid is not None and grid.rows and not grid.complete]


def paged(answers: ToolResults, queries: Iterable[str]) -> list[Grid]:
    """The table of each query that did not fail, its pages together; `complete` says whether that is every row."""
    return [grid for sql in queries if (grid := _paged(answers, sql)) is not None]


def _paged(answers: ToolResults, sql: str) -> Grid | None:
    said = {call["input"].get("sql"): output for call, output, failed in answers if not failed}
    if sql not in said:
        return None
    whole = Grid(grid_of(said[sql]).header, ())
    for grid, more in _pages(said, sql):
        whole = Grid(whole.header, (*whole.rows, *grid.rows), complete=not more)
    return whole


def _pages(said: dict[str, str], sql: str) -> Iterator[tuple[Grid, bool]]:
    """Each page that was shown, and whether there is more than was read of it."""
    page, rows = sql, 0
    while page in said:
        grid, shown = grid_of(said[page]), _SHOWN.match(said[page])
        told = int(shown[2]) if shown else 0
        more = shown is None or bool(shown[1]) or told != len(grid.rows)
        yield grid, more
        rows += len(grid.rows)
        if not more or told != len(grid.rows) or not grid.rows:
            return
        page = _page(sql, rows)


def _page(sql: str, offset: int) -> str:
    """The query from a row on. Without a LIMIT the tool itself says whether there are more."""
    return f"{sql} OFFSET {offset}"


def texts_left(answers: ToolResults) -> list[tuple[str, dict[str, Any]]]:
    """The calls that go on reading where texts were shown in part."""
    return [reading(name, line) for name, line in unread(answers).items()]


def reading(name: str, line: int) -> tuple[str, dict[str, Any]]:
    """The call that reads a text from a line on."""
    return "read_input", {"action": "read", "name": name, "first_line": line, "line_count": LINES_ASKED}


def goes_on_at(output: str) -> int | None:
    """The first line that was not shown of a text; None where all of it was."""
    goes_on = _GOES_ON.match(output)
    return int(goes_on[1]) if goes_on else None


def unread(answers: ToolResults) -> dict[str, int]:
    """The texts that were read in part, each with its first line that was not shown."""
    left: dict[str, int] = {}
    for call, output, failed in answers:
        name = call["input"].get("name")
        if call["name"] == "read_input" and call["input"].get("action") == "read" and name and not failed:
            left.pop(name, None)
            if line := goes_on_at(output):
                left[name] = line
    return left
