"""What tests are written for: the functions of a source, its small classes with their methods, and the methods of
its large ones.

A class is small up to 60 lines. What needs no tests of its own is named with the reason: private functions and classes
(their names begin with `_`) are tested through those that use them; so are dunder methods of large classes, but for
those that raise an exception themselves; and what has no body (`pass`, `...`, a docstring, `raise NotImplementedError`
alone) or, of classes, no methods, has nothing to be tested. Overloads are declarations, and no functions at all. What
is defined within a function is a part of it. Several definitions of one name, such as a property and its setter, are
one.
"""

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from app.domain.python_code.raising import Raised, raised_in
from app.domain.python_code.syntax import FunctionNode, called, last_name_of, last_part, name_of
from app.domain.python_functions import first_line, inner_statements

SMALL_CLASS_LINES = 60

PRIVATE = "private: tested through what uses it"
DUNDER = "a dunder method that raises nothing itself: tested through its class"
NO_BODY = "nothing to be tested: it has no body"
NO_METHODS = "nothing to be tested: it has no methods with a body"


@dataclass(frozen=True, slots=True)
class Unit:
    """What tests are written for together. Lines count from 1."""

    name: str
    """With the classes around it, as `Ledger.add`."""
    kind: Literal["function", "method", "class"]
    first: int
    last: int
    raises: tuple[Raised, ...] = ()
    """The exceptions that its text raises, each of which needs a test."""
    untestable: str = ""
    """Why no tests are to be written for it; empty where they are."""

    @property
    def owner(self) -> str:
        """The class that a method belongs to, with those around it."""
        return self.name.rpartition(".")[0]

    @property
    def last_name(self) -> str:
        return last_part(self.name)

    @property
    def is_dunder(self) -> bool:
        return is_dunder(self.last_name)


class _Place(NamedTuple):
    node: ast.stmt
    within: str = ""
    is_private: bool = False


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of the names of a module, for telling exceptions."""

    bases: Mapping[str, Sequence[str]]
    names: frozenset[str]


def units_of(tree: ast.Module, known: Known) -> tuple[Unit, ...]:
    """What there is to be tested in a module, in its order, and what is not."""
    units: dict[str, Unit] = {}
    waiting = [_Place(node) for node in reversed(tree.body)]
    while waiting:
        place = waiting.pop()
        match place.node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() as node:
                if not _is_overload(node):
                    _add(units, _function(node, place, known))
            case ast.ClassDef() as node if _is_whole(node, place):
                _add(units, _class(node, place, known))
            case ast.ClassDef() as node:
                inside = (f"{place.within}{node.name}.", place.is_private or is_private(node.name))
                waiting += [_Place(each, *inside) for each in reversed(node.body)]
            case node:
                waiting += [place._replace(node=each) for each in reversed([*inner_statements(node)])]
    return tuple(units.values())


def is_private(name: str) -> bool:
    """Whether a name is not for others."""
    return name.startswith("_") and not is_dunder(name)


def is_dunder(name: str) -> bool:
    """Whether a name is one that Python itself knows."""
    return len(name) > 4 and name.startswith("__") and name.endswith("__")


def _add(units: dict[str, Unit], unit: Unit) -> None:
    """Several definitions of one name are one unit, from the first to the last of them."""
    if (other := units.get(unit.name)) is None:
        units[unit.name] = unit
        return
    raises = {each.last: each for each in (*unit.raises, *other.raises)}
    units[unit.name] = Unit(
        unit.name,
        unit.kind,
        min(other.first, unit.first),
        max(other.last, unit.last),
        tuple(sorted(raises.values(), key=lambda each: each.line)),
        unit.untestable and other.untestable,
    )


def _function(node: FunctionNode, place: _Place, known: Known) -> Unit:
    raises = () if has_no_body(node) else tuple(raised_in(node.body, known.bases, known.names - _own_names(node)))
    return Unit(
        f"{place.within}{node.name}",
        "method" if place.within else "function",
        first_line(node),
        node.end_lineno or node.lineno,
        raises,
        _why_not(node, place, raises),
    )


def _why_not(node: FunctionNode, place: _Place, raises: Sequence[Raised]) -> str:
    if place.is_private or is_private(node.name):
        return PRIVATE
    if has_no_body(node):
        return NO_BODY
    return DUNDER if place.within and is_dunder(node.name) and not raises else ""


def _is_whole(node: ast.ClassDef, place: _Place) -> bool:
    """Whether a class is one unit: a small one, or one that has nothing to be tested."""
    small = (node.end_lineno or node.lineno) - first_line(node) < SMALL_CLASS_LINES
    return small or not any(not has_no_body(each) for each in methods_of(node))


def _class(node: ast.ClassDef, place: _Place, known: Known) -> Unit:
    bodies = [each for each in methods_of(node) if not has_no_body(each)]
    raised: dict[str, Raised] = {}
    for each in bodies:
        for one in raised_in(each.body, known.bases, known.names - _own_names(each)):
            raised.setdefault(one.last, one)
    why = PRIVATE if place.is_private or is_private(node.name) else "" if bodies else NO_METHODS
    last = node.end_lineno or node.lineno
    return Unit(f"{place.within}{node.name}", "class", first_line(node), last, tuple(raised.values()), why)


def methods_of(node: ast.ClassDef) -> Iterator[FunctionNode]:
    """The methods of a class, and of those within it."""
    waiting: list[ast.stmt] = [*reversed(node.body)]
    while waiting:
        match waiting.pop():
            case ast.FunctionDef() | ast.AsyncFunctionDef() as each:
                if not _is_overload(each):
                    yield each
            case ast.ClassDef(body=body):
                waiting += reversed(body)
            case other:
                waiting += reversed([*inner_statements(other)])


def has_no_body(node: FunctionNode) -> bool:
    """Whether a function does nothing, or says that somebody else has to."""
    return all(_does_nothing(each) for each in node.body)


def _does_nothing(node: ast.stmt) -> bool:
    match node:
        case ast.Pass() | ast.Expr(value=ast.Constant()):
            return True
        case ast.Raise(exc=raised):
            return raised is not None and name_of(called(raised)) == "NotImplementedError"
        case _:
            return False


def _is_overload(node: FunctionNode) -> bool:
    return any(last_name_of(each) == "overload" for each in node.decorator_list)


def _own_names(node: FunctionNode) -> frozenset[str]:
    """Names that the function takes for its own: its parameters."""
    given = node.args
    every = [*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg]
    return frozenset(each.arg for each in every if each is not None)
