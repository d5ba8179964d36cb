"""Every reason that the code gives for the end of a run has its meaning in the table that clients read."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import app.domain.policy as policy
from app.domain.codes import STOP_REASONS
from app.domain.failures import codes_with
from app.domain.policy import planning
from app.domain.policy.reduced import why_shortened

FILES = sorted(Path(next(iter(policy.__path__))).glob("*.py"))
ENDINGS = ("fail", "end_partially", "run_out")
"""Functions that end a run, whose second argument is the reason."""

FINDERS = (why_shortened.__name__, planning._reason_in_flaws.__name__)
"""Functions that find one."""

OF_PLANNING = {*planning._ENDS.values(), *planning._FLAWS_THAT_END}


def reasons_in(tree: ast.AST) -> Iterator[str]:
    """The reasons that are written in calls: of functions that end a run, and of its last events."""
    for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
        name = call.func.id if isinstance(call.func, ast.Name) else ""
        told = [each.value for each in call.keywords if each.arg == "stop_reason"]
        for part in [*told, *(call.args[1:2] if name in ENDINGS else [])]:
            yield from constants_in(part)


def constants_in(value: ast.expr) -> Iterator[str]:
    """The texts that an expression may come to, without those that it only compares."""
    if isinstance(value, ast.IfExp):
        yield from (*constants_in(value.body), *constants_in(value.orelse))
    elif isinstance(value, ast.Constant) and isinstance(value.value, str):
        yield value.value


def returned_in(function: ast.FunctionDef) -> Iterator[str]:
    """What a function that finds a reason may return."""
    for node in ast.walk(function):
        if isinstance(node, ast.Return) and node.value is not None:
            yield from constants_in(node.value)


def written() -> set[str]:
    found: set[str] = set()
    for file in FILES:
        tree = ast.parse(file.read_text())
        found |= {*reasons_in(tree)}
        functions = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))
        found |= {reason for each in functions if each.name in FINDERS for reason in returned_in(each)}
    return found


def test_the_reasons_written_in_the_code_are_found() -> None:
    assert {"completed", "review_failed", "gaps", "deadline_exceeded", "plan_rejected", "planned"} <= written()


@pytest.mark.parametrize(
    "reason", sorted(written() | {*planning._ENDS.values(), *planning._FLAWS_THAT_END} | codes_with("end"))
)
def test_every_reason_for_which_a_run_ends_is_in_the_table(reason: str) -> None:
    assert reason in STOP_REASONS
