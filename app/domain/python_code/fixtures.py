"""Fixtures: which a test asks for by its parameters, and which it may ask for where it will be.

There are those of pytest, those of the `conftest.py` files above the test, and those of its class. A name that tests
ask for and that none of the files of tests makes is one of a plug-in.
"""

import ast
from collections.abc import Iterator, Sequence

from app.domain.python_code.syntax import FunctionNode, called, last_name_of, name_of

FIXTURES_OF_PYTEST = frozenset({
    "cache", "capfd", "capfdbinary", "caplog", "capsys", "capsysbinary", "doctest_namespace", "monkeypatch", "pytester",
    "pytestconfig", "record_property", "recwarn", "request", "subtests", "testdir", "tmp_path", "tmp_path_factory",
    "tmpdir", "tmpdir_factory",
})  # fmt: skip
_GIVES_ARGUMENTS = frozenset({"patch", "object", "given", "dict", "multiple"})
"""Decorators that hand over arguments of their own."""


def fixtures_asked(test: FunctionNode, within: ast.ClassDef | None) -> list[str]:
    """The fixtures that a test, or a fixture, asks for. None where a decorator hands over arguments of its own."""
    marks = [*test.decorator_list, *(within.decorator_list if within else ())]
    if any(part in _GIVES_ARGUMENTS for each in marks for part in (name_of(called(each)) or "").split(".")):
        return []
    given = [*test.args.posonlyargs, *test.args.args]
    keywords = zip(test.args.kwonlyargs, test.args.kw_defaults, strict=True)
    wanted = [each.arg for each in given[1 if within else 0 : len(given) - len(test.args.defaults)]]
    wanted += [each.arg for each, default in keywords if default is None]
    listed = _parameters_listed(marks) | (set(fixtures_made(within.body)) if within else set())
    return [name for name in wanted if name not in listed]


def fixtures_made(body: Sequence[ast.stmt]) -> Iterator[str]:
    """The names of the fixtures among some statements."""
    for node in body:
        if isinstance(node, FunctionNode) and (mark := mark_of_fixture(node)):
            given = mark.keywords if isinstance(mark, ast.Call) else []
            names = (each.value.value for each in given if each.arg == "name" and isinstance(each.value, ast.Constant))
            yield str(next(names, node.name))


def mark_of_fixture(node: FunctionNode) -> ast.expr | None:
    """The decorator that makes a function a fixture."""
    return next((each for each in node.decorator_list if last_name_of(called(each)).endswith("fixture")), None)


def asked_anywhere(body: Sequence[ast.stmt]) -> Iterator[str]:
    """The fixtures that the tests and fixtures of a file ask for, but for those of their own class."""
    for node in body:
        within = node if isinstance(node, ast.ClassDef) else None
        for each in within.body if within else [node]:
            if isinstance(each, FunctionNode) and _is_called_by_pytest(each):
                yield from fixtures_asked(each, within)


def _is_called_by_pytest(node: FunctionNode) -> bool:
    return node.name.startswith("test") or mark_of_fixture(node) is not None


def _parameters_listed(marks: Sequence[ast.expr]) -> set[str]:
    """The names that `parametrize` gives."""
    found: set[str] = set()
    for call in marks:
        if isinstance(call, ast.Call) and last_name_of(call.func) == "parametrize":
            named = [each.value for each in call.keywords if each.arg == "argnames"]
            first = (call.args or named or [ast.Tuple(elts=[])])[0]
            parts = first.elts if isinstance(first, ast.List | ast.Tuple) else [first]
            texts = [each.value for each in parts if isinstance(each, ast.Constant) and isinstance(each.value, str)]
            found |= {name.strip() for text in texts for name in text.split(",")}
    return found
