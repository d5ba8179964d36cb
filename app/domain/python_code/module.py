"""What a Python source says of itself: what is to be tested in it, the names it has, and what it refers to."""

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from app.domain.python_code.fixtures import asked_anywhere, fixtures_made
from app.domain.python_code.syntax import last_name_of, name_bound_by, name_of
from app.domain.python_code.units import Known, Unit, units_of
from app.domain.python_functions import inner_statements, parsed

PARTS = 8
"""How many parts of a dotted name are looked at."""


@dataclass(frozen=True, slots=True)
class Import:
    """A name that an import binds."""

    module: str
    """The module that is named, as it is written; empty in `from . import x`."""
    name: str | None = None
    """What is taken from it; None for the module itself, `*` for everything."""
    level: int = 0
    """The dots before the module."""
    as_root: bool = False
    """Whether the first part of the module is what is bound, as in `import a.b`."""


@dataclass(frozen=True, slots=True)
class Module:
    """A Python source, read. Names are those of its top level, wherever they are bound there."""

    units: tuple[Unit, ...]
    names: frozenset[str]
    """What it defines or imports."""
    imports: Mapping[str, tuple[Import, ...]]
    """What its names come from that are imported, within functions too."""
    stars: tuple[Import, ...]
    """The modules all of whose names it takes."""
    import_lines: tuple[tuple[int, int], ...]
    """First and last lines of the imports at its top level."""
    chains: frozenset[str]
    """Names that it reads with what follows behind dots, as `prices.parse`, each beginning of them too."""
    attributes: frozenset[str]
    """What is read behind a dot, of whatever it may be."""
    fixtures: frozenset[str]
    """The fixtures that it makes for all of its tests."""
    asked: frozenset[str]
    """The fixtures that its tests and fixtures ask for."""
    defined: frozenset[str]
    """Those of its names that it binds other than by an import, or by one as well."""
    gives_any_name: bool
    """Whether it makes up names when it is asked for them (`__getattr__`)."""


@lru_cache(maxsize=128)
def read_module(text: str) -> Module:
    """A source whose lines end with a line feed. Raises `SourceUnreadable`.

    The sources of a job are read for its plan, for each result, and for its files: what they say is kept for a while.
    """
    return module_of(parsed(text))


def module_of(tree: ast.Module) -> Module:
    """What a source says whose syntax tree this is."""
    nodes = [*ast.walk(tree)]
    imports, stars = _imports(nodes)
    bases = {each.name: _bases(each) for each in nodes if isinstance(each, ast.ClassDef)}
    defined = frozenset(_names_defined(tree.body))
    names = defined | {name for each in _top_imports(tree) for name, _ in imports_in(each) if name != "*"}
    return Module(
        units=units_of(tree, Known(bases, frozenset(imports))),
        names=names,
        imports=imports,
        stars=stars,
        import_lines=tuple((each.lineno, each.end_lineno or each.lineno) for each in _top_imports(tree)),
        chains=frozenset(_chains(nodes)),
        attributes=frozenset(each.attr for each in nodes if isinstance(each, ast.Attribute)),
        fixtures=frozenset(fixtures_made(tree.body)),
        asked=frozenset(asked_anywhere(tree.body)),
        defined=defined,
        gives_any_name="__getattr__" in names,
    )


def imports_in(node: ast.Import | ast.ImportFrom) -> Iterator[tuple[str, Import]]:
    """What an import binds, each with its name here; `*` for everything."""
    for alias in node.names:
        if isinstance(node, ast.ImportFrom):
            yield alias.asname or alias.name, Import(node.module or "", alias.name, node.level)
        elif alias.asname:
            yield alias.asname, Import(alias.name)
        else:
            yield alias.name.partition(".")[0], Import(alias.name, as_root=True)


def chain_of(node: ast.expr) -> str | None:
    """A name with what follows behind dots; None for what does not begin with a name, or is very long."""
    deep = 0
    inner = node
    while isinstance(inner, ast.Attribute) and deep < PARTS:
        inner, deep = inner.value, deep + 1
    return name_of(node) if isinstance(inner, ast.Name) else None


def _chains(nodes: Sequence[ast.AST]) -> Iterator[str]:
    for node in nodes:
        match node:
            case ast.Name(ctx=ast.Load()) | ast.Attribute(ctx=ast.Load()) if chain := chain_of(node):
                yield chain


def _imports(nodes: Sequence[ast.AST]) -> tuple[Mapping[str, tuple[Import, ...]], tuple[Import, ...]]:
    bound: dict[str, tuple[Import, ...]] = {}
    stars: list[Import] = []
    for node in nodes:
        if isinstance(node, ast.Import | ast.ImportFrom):
            for name, each in imports_in(node):
                if name == "*":
                    stars.append(each)
                else:
                    bound[name] = (*bound.get(name, ()), each)
    return bound, tuple(stars)


def _bases(node: ast.ClassDef) -> tuple[str, ...]:
    return tuple(name for each in node.bases if (name := last_name_of(each)))


def _top_imports(tree: ast.Module) -> Iterator[ast.Import | ast.ImportFrom]:
    for node in _statements(tree.body):
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node


def _statements(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a module in their order, but for what is within functions and classes."""
    waiting = [*reversed(body)]
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            waiting += reversed([*inner_statements(node)])


def _names_defined(body: Sequence[ast.stmt]) -> Iterator[str]:
    for node in _statements(body):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case _:
                yield from _names_stored(node)


def _names_stored(node: ast.stmt) -> Iterator[str]:
    """The names that a statement binds itself, without those within it."""
    waiting: list[ast.AST] = [node]
    while waiting:
        each = waiting.pop()
        if name := name_bound_by(each):
            yield name
        if not isinstance(each, ast.Lambda):
            inner = ast.iter_child_nodes(each)
            waiting += [child for child in inner if not isinstance(child, ast.stmt | ast.ExceptHandler)]
