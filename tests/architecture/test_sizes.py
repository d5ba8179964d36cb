import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.support.postgres import ROOT

MODULE_LINES = 300
FUNCTION_LINES = 70
PARAMETERS = 6

MODULES = sorted((ROOT / "app").rglob("*.py"))
Function = ast.FunctionDef | ast.AsyncFunctionDef


def name_of(module: Path) -> str:
    return str(module.relative_to(ROOT))


@cache
def tree_of(module: Path) -> ast.Module:
    return ast.parse(module.read_text())


def functions(module: Path) -> Iterator[Function]:
    return (node for node in ast.walk(tree_of(module)) if isinstance(node, Function))


def parameters(function: Function) -> int:
    named = function.args.posonlyargs + function.args.args + function.args.kwonlyargs
    return len([each for each in named if each.arg not in {"self", "cls"}])


def test_modules_are_short() -> None:
    lines = {name_of(module): len(module.read_text().splitlines()) for module in MODULES}

    assert {name: count for name, count in lines.items() if count > MODULE_LINES} == {}


def test_functions_are_short_and_take_few_parameters() -> None:
    found = [(name_of(module), function) for module in MODULES for function in functions(module)]
    long = [
        (name, each.name) for name, each in found if (each.end_lineno or each.lineno) - each.lineno >= FUNCTION_LINES
    ]
    wide = [(name, each.name) for name, each in found if parameters(each) > PARAMETERS]

    assert (long, wide) == ([], [])


def test_modules_open_with_what_they_are() -> None:
    trees = {name_of(module): tree_of(module) for module in MODULES}

    assert [name for name, tree in trees.items() if tree.body and not ast.get_docstring(tree)] == []
