"""A written test, read: its syntax tree, and what it takes from elsewhere."""

import ast
import builtins
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from app.domain.errors import ChargehandError
from app.domain.python_code.compiling import compile_fault
from app.domain.python_code.fixtures import FIXTURES_OF_PYTEST, fixtures_asked
from app.domain.python_code.module import Import, Module, imports_in, module_of
from app.domain.python_code.modules import Modules, Symbol
from app.domain.python_code.survey import plain
from app.domain.python_code.syntax import FunctionNode, name_bound_by
from app.domain.python_code.units import Unit
from app.domain.python_functions import SourceUnreadable, parsed

_BUILTINS = frozenset(dir(builtins))


class DraftUnreadable(ChargehandError):
    """A piece of code that is no single test, or no import; the message says why."""


@dataclass(frozen=True)
class Draft:
    """A written test with the imports beside it."""

    node: FunctionNode | ast.ClassDef
    module: Module
    """What it says together with the imports."""
    bound: frozenset[str]
    """Every name that is bound in it, at whatever place."""

    @classmethod
    def of(cls, code: str, imports: Sequence[ast.stmt]) -> "Draft":
        """Raises `DraftUnreadable`."""
        node = read_test(code)
        futures = (ast.unparse(each) for each in imports if is_future(each))
        if fault := compile_fault(plain(code), *futures):
            raise DraftUnreadable(fault)
        tree = ast.Module(body=[*imports, node], type_ignores=[])
        module = module_of(tree)
        return cls(node, module, frozenset([*module.imports, *_names_bound(ast.walk(tree))]))

    @property
    def tests(self) -> list[FunctionNode]:
        """The test functions in it."""
        if not isinstance(self.node, ast.ClassDef):
            return [self.node]
        methods = [each for each in self.node.body if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)]
        return [each for each in methods if each.name.startswith("test")]

    @property
    def nameless(self) -> str:
        """Its syntax, whatever it is called."""
        return ast.dump(self.node).replace(f"name={self.node.name!r}", "", 1)

    def names_of(self, name: str) -> set[str]:
        """What it calls what bears this name where that comes from."""
        return {local for local, sources in self.module.imports.items() if any(each.name == name for each in sources)}

    @property
    def unbound(self) -> list[str]:
        """Names that it reads, and that nothing in it binds."""
        read = {chain for chain in self.module.chains if "." not in chain}
        unknown = read - self.bound - _BUILTINS
        return sorted(name for name in unknown if not name.startswith("__"))

    def fixtures(self) -> Iterator[tuple[FunctionNode, str]]:
        """The fixtures that its tests ask for, but for those of their own class."""
        within = self.node if isinstance(self.node, ast.ClassDef) else None
        for test in self.tests:
            yield from ((test, name) for name in fixtures_asked(test, within))

    def is_about(self, unit: Unit, given: str, modules: Modules) -> bool:
        """Whether it reads what it is said to test: where that is a method, of its class or of what a fixture gives."""
        meant = self._meant_in(modules)
        if unit.kind != "method":
            return Symbol(given, unit.name) in meant or (unit.kind == "class" and self._has_fixture)
        has_class = Symbol(given, unit.owner) in meant or self._has_fixture
        return has_class and (unit.is_dunder or unit.last_name in self.module.attributes)

    def rebound(self, unit: Unit, given: str, modules: Modules) -> list[str]:
        """Names of what it is said to test that it gives another meaning."""
        subject = {Symbol(given, unit.name), Symbol(given, unit.owner)}
        inside = (node for test in self.tests for each in (*test.body, test.args) for node in ast.walk(each))
        names = (name for name in self.module.imports if not subject.isdisjoint(modules.meant_in(self.module, name)))
        return sorted({*names} & {*_names_bound(inside)})

    def _meant_in(self, modules: Modules) -> set[Symbol]:
        """What its names stand for, with what that is within."""
        meant = (symbol for chain in self.module.chains for symbol in modules.meant_in(self.module, chain))
        return {part for symbol in meant for part in symbol.with_outer}

    @cached_property
    def _has_fixture(self) -> bool:
        return any(name not in FIXTURES_OF_PYTEST for _, name in self.fixtures())


def read_test(code: str) -> FunctionNode | ast.ClassDef:
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
    if is_future(node) and (fault := compile_fault(ast.unparse(node))):
        raise DraftUnreadable(fault)
    return node, [*imports_in(node)]


def is_future(node: ast.stmt) -> bool:
    """Whether it is an import that changes how Python reads the code below it."""
    return isinstance(node, ast.ImportFrom) and node.module == "__future__"


def _names_bound(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """Names that are bound otherwise than by an import."""
    for node in nodes:
        if isinstance(node, FunctionNode | ast.ClassDef):
            yield node.name
        elif name := name_bound_by(node):
            yield name
