"""The table of what tests cover: every function and class of the sources, and what has become of it."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from app.domain.makers.markdown import code_in_cell, plain
from app.domain.makers.room import TESTS_LIST_BYTES, TESTS_TABLE_BYTES, bytes_of_text, fitting
from app.domain.python_code.survey import Survey
from app.domain.python_code.units import Unit
from app.domain.results import Problem
from app.domain.text import shorten

PATCH = "tests.patch"
REASON_CHARACTERS = 300
_NOT_ASKED = "no task was about it"
_SAID = {"before": "tested before", "written": "tests written", "not": "not tested", "needs none": "needs none"}
"""What is said of each thing that may have become of a function."""


Failure = tuple[str, Problem | None] | str
Failed = Mapping[tuple[str, str], Failure]
"""Functions, with their inputs, whose task delivered nothing: that task, and why. Of tests that were left out, why."""


class Made(NamedTuple):
    """A test file that was made."""

    path: str
    name: str
    """Its name as an artifact."""
    given: str
    """The input that it tests."""
    text: str
    counts: Mapping[str, int]
    """How many tests of each function are in it."""


def table_of(
    survey: Survey,
    made: Sequence[Made],
    failed: Failed,
    handed_over: Collection[str],
) -> str:
    """The table as Markdown. `handed_over` are the names of the artifacts."""
    rows = [
        (given, unit, *_become(survey, given, unit, made, failed.get((unit.name, given))))
        for given, module in survey.sources.items()
        for unit in module.units
    ]
    counts = {status: sum(row[2] == status for row in rows) for status in _SAID}
    parts = [
        "# What the tests cover",
        "Nobody has run the tests that were written: they were read by code alone. "
        f"Tested before: {counts['before']}. Tests written: {counts['written']}. Not tested: {counts['not']}. "
        f"Needs no tests: {counts['needs none']}.",
        *_table(
            ("source", "function or class", "lines", "tests", "where, or why not"), map(_told, rows), TESTS_TABLE_BYTES
        ),
    ]
    if made:
        files = ((code_in_cell(each.path), _file(each, handed_over), str(sum(each.counts.values()))) for each in made)
        parts += ["## Files", *_table(("path", "file", "tests"), files, TESTS_LIST_BYTES)]
    return "\n\n".join(parts) + "\n"


def _become(survey: Survey, given: str, unit: Unit, made: Sequence[Made], failure: Failure | None) -> tuple[str, str]:
    """What has become of a function: its status, and where its tests are or why there are none."""
    if files := [each for each in made if each.given == given and unit.name in each.counts]:
        return "written", ", ".join(f"{code_in_cell(each.path)} ({each.counts[unit.name]})" for each in files)
    if where := survey.tested_in(given, unit):
        return "before", ", ".join(map(code_in_cell, where))
    if unit.untestable:
        return "needs none", unit.untestable
    if failure is None:
        return "not", _NOT_ASKED
    if isinstance(failure, str):
        return "not", plain(shorten(failure, REASON_CHARACTERS)[0])
    task, problem = failure
    if problem is None:
        return "not", f"task {task}, its result holds no tests"
    return "not", f"task {task}, {problem.code}: {plain(shorten(problem.message, REASON_CHARACTERS)[0])}"


def _told(row: tuple[str, Unit, str, str]) -> tuple[str, ...]:
    given, unit, status, where = row
    return code_in_cell(given), code_in_cell(unit.name), f"{unit.first}-{unit.last}", _SAID[status], where


def _file(made: Made, handed_over: Collection[str]) -> str:
    if made.name in handed_over:
        return code_in_cell(made.name)
    if PATCH in handed_over:
        return f"in {code_in_cell(PATCH)} alone: there is no room for it beside the others"
    return (
        "not handed over: there is no room for it, and none for a patch of all files; the tests are in the tasks' data"
    )


def _table(head: Sequence[str], rows: Iterable[Sequence[str]], room: int) -> list[str]:
    """As many rows as have room, and how many more there are."""
    told = [_row(each) for each in rows]
    kept = fitting((bytes_of_text(row) + 1 for row in told), room)
    more = [f"{len(told) - kept} more rows have no room here."] if kept < len(told) else []
    return ["\n".join([_row(head), _row(["---"] * len(head)), *told[:kept]]), *more]


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
