"""A written test, read: its syntax tree, and what it takes from elsewhere."""

import ast
import builtins
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from app.domain.errors import ChargehandError
from app.domain.python_code.asserting import Test
from app.domain.python_code.module import Import, Module, imports_in, module_of
from app.domain.python_code.modules import Modules, Symbol
from app.domain.python_code.raising import name_of
from app.domain.python_code.survey import plain
from app.domain.python_code.units import Unit
from app.domain.python_functions import SourceUnreadable, parsed

FIXTURES_OF_PYTEST = frozenset({
    "cache", "capfd", "capfdbinary", "caplog", "capsys", "capsysbinary", "doctest_namespace", "monkeypatch", "pytester",
    "pytestconfig", "record_property", "recwarn", "request", "subtests", "testdir", "tmp_path", "tmp_path_factory",
    "tmpdir", "tmpdir_factory",
})  # fmt: skip
_GIVES_ARGUMENTS = frozenset({"patch", "object", "given", "dict", "multiple"})
"""Decorators that hand over arguments of their own."""
_ITSELF = "<the tests>"


class DraftUnreadable(ChargehandError):
    """A piece of code that is no single test, or no import; the message says why."""


@dataclass(frozen=True)
class Draft:
    """A written test with the imports beside it."""

    node: Test | ast.ClassDef
    module: Module
    """What it says together with the imports."""
    bound: frozenset[str]
    """Every name that is bound in it, at whatever place."""

    @classmethod
    def of(cls, code: str, imports: Sequence[ast.stmt]) -> "Draft":
        """Raises `DraftUnreadable`."""
        node = read_test(code)
        tree = ast.Module(body=[*imports, node], type_ignores=[])
        return cls(node, module_of(tree), frozenset(_names_bound(tree)))

    @property
    def tests(self) -> list[Test]:
        """The test functions in it."""
        if not isinstance(self.node, ast.ClassDef):
            return [self.node]
        methods = [each for each in self.node.body if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)]
        return [each for each in methods if each.name.startswith("test")]

    @property
    def unbound(self) -> list[str]:
        """Names that it reads, and that nothing in it binds."""
        read = {chain for chain in self.module.chains if "." not in chain}
        unknown = read - self.bound - _known_everywhere()
        return sorted(name for name in unknown if not name.startswith("__"))

    def fixtures(self) -> Iterator[tuple[Test, str]]:
        """The fixtures that its tests ask for. None where a decorator hands over arguments of its own."""
        for test in self.tests:
            names = [name_of(_called(each)) or "" for each in (*test.decorator_list, *self.node.decorator_list)]
            if _GIVES_ARGUMENTS.isdisjoint(part for name in names for part in name.split(".")):
                given = [*test.args.posonlyargs, *test.args.args]
                first = 1 if test is not self.node else 0
                keywords = zip(test.args.kwonlyargs, test.args.kw_defaults, strict=True)
                wanted = [each.arg for each in given[first : len(given) - len(test.args.defaults)]]
                wanted += [each.arg for each, default in keywords if default is None]
                listed = _parameters_listed(test) | _parameters_listed(self.node) | self._own_functions
                yield from ((test, name) for name in wanted if name not in listed)

    @property
    def _own_functions(self) -> set[str]:
        """The functions beside the tests of a class, which may be fixtures."""
        return {each.name for each in self.node.body if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)}

    def is_about(self, unit: Unit, given: str, modules: Modules) -> bool:
        """Whether it reads what it is said to test: where that is a method, of its class or of what a fixture gives."""
        meant = self._meant_in(modules)
        if unit.kind != "method":
            return Symbol(given, unit.name) in meant or (unit.kind == "class" and self._has_fixture)
        has_class = Symbol(given, unit.owner) in meant or self._has_fixture
        return has_class and (unit.is_dunder or unit.last_name in self.module.attributes)

    def _meant_in(self, modules: Modules) -> set[Symbol]:
        """What its names stand for, with what that is within."""
        every = Modules({**modules.by_input, _ITSELF: self.module})
        found = {symbol for chain in self.module.chains for symbol in every.meant_by(_ITSELF, chain)}
        parts = [(symbol.input, symbol.name.split(".")) for symbol in found]
        return {Symbol(given, ".".join(names[:count])) for given, names in parts for count in range(1, len(names) + 1)}

    @cached_property
    def _has_fixture(self) -> bool:
        return any(name not in FIXTURES_OF_PYTEST for _, name in self.fixtures())


def read_test(code: str) -> Test | ast.ClassDef:
    """The single test function, or class of tests, that a code is. Raises `DraftUnreadable`."""
    try:
        body = parsed(plain(code)).body
    except SourceUnreadable as error:
        raise DraftUnreadable(str(error)) from None
    kinds = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    if len(body) != 1 or not isinstance(body[0], kinds):
        line = next((each.lineno for each in body if not isinstance(each, kinds)), 1)
        raise DraftUnreadable(
            f"line {line}: it must be one test function, or one class of tests, and nothing beside it: imports go into "
            "imports, and what the test needs is made in it"
        )
    node = body[0]
    if isinstance(node, ast.ClassDef):
        if not node.name.startswith("Test"):
            raise DraftUnreadable(f"line {node.lineno}: the name of a class of tests begins with Test, not {node.name}")
    elif not node.name.startswith("test_"):
        raise DraftUnreadable(f"line {node.lineno}: the name of a test begins with test_, not {node.name}")
    return node


def read_import(statement: str) -> tuple[ast.stmt, list[tuple[str, Import]]]:
    """An import, and what it binds. Raises `DraftUnreadable`."""
    try:
        body = parsed(plain(statement).strip()).body
    except SourceUnreadable as error:
        raise DraftUnreadable(str(error)) from None
    if len(body) != 1 or not isinstance(node := body[0], ast.Import | ast.ImportFrom):
        raise DraftUnreadable("it must be one import statement")
    return node, [*imports_in(node)]


def _called(node: ast.expr) -> ast.expr:
    return node.func if isinstance(node, ast.Call) else node


def _parameters_listed(node: Test | ast.ClassDef) -> set[str]:
    """The names that `parametrize` gives."""
    calls = [each for each in node.decorator_list if isinstance(each, ast.Call) and each.args]
    found: set[str] = set()
    for call in calls:
        if (name_of(call.func) or "").endswith("parametrize"):
            first = call.args[0]
            parts = first.elts if isinstance(first, ast.List | ast.Tuple) else [first]
            texts = [each.value for each in parts if isinstance(each, ast.Constant) and isinstance(each.value, str)]
            found |= {name.strip() for text in texts for name in text.split(",")}
    return found


def _known_everywhere() -> set[str]:
    return {*dir(builtins)}


def _names_bound(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
                yield name
            case ast.arg(arg=name):
                yield name
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                yield name
            case ast.MatchMapping(rest=str(name)):
                yield name
            case ast.Import() | ast.ImportFrom():
                yield from (name for name, _ in imports_in(node))
