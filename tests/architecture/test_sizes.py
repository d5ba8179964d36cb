import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.postgres import ROOT

MODULE_LINES = 300
FUNCTION_LINES = 70
PARAMETERS = 6

MODULES = sorted((ROOT / "app").rglob("*.py"))
Function = ast.FunctionDef | ast.AsyncFunctionDef


def name_of(module: Path) -> str:
    return str(module.relative_to(ROOT))


def functions(module: Path) -> Iterator[Function]:
    tree = ast.parse(module.read_text())
    return (node for node in ast.walk(tree) if isinstance(node, Function))


def parameters(function: Function) -> int:
    named = function.args.posonlyargs + function.args.args + function.args.kwonlyargs
    return len([each for each in named if each.arg not in {"self", "cls"}])


@pytest.mark.parametrize("module", MODULES, ids=name_of)
def test_a_module_is_short(module: Path) -> None:
    assert len(module.read_text().splitlines()) <= MODULE_LINES


@pytest.mark.parametrize("module", MODULES, ids=name_of)
def test_functions_are_short_and_take_few_parameters(module: Path) -> None:
    long = [each.name for each in functions(module) if (each.end_lineno or 0) - each.lineno >= FUNCTION_LINES]
    wide = [each.name for each in functions(module) if parameters(each) > PARAMETERS]

    assert (long, wide) == ([], [])


@pytest.mark.parametrize("module", MODULES, ids=name_of)
def test_a_module_opens_with_what_it_is(module: Path) -> None:
    tree = ast.parse(module.read_text())

    assert not tree.body or ast.get_docstring(tree)
