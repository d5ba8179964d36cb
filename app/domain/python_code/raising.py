"""Which exceptions a piece of code raises itself, as far as its text says.

Counted is `raise X` and `raise X(…)` where X names an exception, unless the same code catches it. Not counted are a
bare `raise` and one of a caught exception (they pass on what others raise), exceptions that are made by a call or held
in a variable, `assert`, what the functions raise that it calls, and functions defined within it.
"""

import ast
import builtins
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

from app.domain.python_code.syntax import Scope, TryNode, called, last_name_of, last_part, name_of
from app.domain.python_functions import inner_statements

_Guards = tuple["_Guards", Sequence[tuple[str, bool]]] | None
"""What is caught around a statement, from the inside out: exceptions, and whether they are raised again."""
_EVERYTHING = "BaseException"
_MOST_BASES = 50
_MOST_RAISES = 100
"""Statements of one function that are looked at: each may be caught by any of those around it."""


class Raised(NamedTuple):
    """An exception that is raised."""

    name: str
    """As it is written there: `ValueError`, `errors.Refused`."""
    line: int

    @property
    def last(self) -> str:
        """The class alone."""
        return last_part(self.name)


def raised_in(nodes: Sequence[ast.stmt], bases: Mapping[str, Sequence[str]], names: frozenset[str]) -> list[Raised]:
    """What some statements raise, each exception once, in their order.

    `bases` are those of the classes that are known, `names` are the names by which exceptions are known that
    are not: what a module imports.
    """
    found: dict[str, Raised] = {}
    raises = ((node, guards) for node, guards in _statements(nodes) if isinstance(node, ast.Raise))
    for node, guards in islice(raises, _MOST_RAISES):
        raised = _named(node, bases, names)
        if raised is not None and not _is_caught(_kinds_of(raised.last, bases), guards):
            found.setdefault(raised.last, raised)
    return sorted(found.values(), key=lambda each: each.line)


def _kinds_of(name: str, bases: Mapping[str, Sequence[str]]) -> set[str]:
    """An exception and what it is a kind of, by the classes that are known and those of Python."""
    waiting, kinds = [name], set[str]()
    while waiting and len(kinds) < _MOST_BASES:
        each = waiting.pop()
        if each not in kinds:
            kinds.add(each)
            waiting += bases.get(each, ()) or _bases_in_python(each)
    if not kinds & _BEYOND:  # Where it comes from is not known: nearly all are kinds of this.
        kinds.add("Exception")
    return kinds | {_EVERYTHING}


_BEYOND = frozenset({"BaseException", "SystemExit", "KeyboardInterrupt", "GeneratorExit", "BaseExceptionGroup"})
"""What `except Exception` does not catch."""


def is_exception_of_python(name: str) -> bool:
    """Whether it is a name of one that every module knows."""
    known = getattr(builtins, name, None)
    return isinstance(known, type) and issubclass(known, BaseException)


def _bases_in_python(name: str) -> list[str]:
    return [each.__name__ for each in getattr(builtins, name).__bases__] if is_exception_of_python(name) else []


def _named(node: ast.Raise, bases: Mapping[str, Sequence[str]], names: frozenset[str]) -> Raised | None:
    name = name_of(called(node.exc)) if node.exc else None
    if name is None:
        return None
    first, last = name.partition(".")[0], last_part(name)
    is_class = last in bases or (name == last and is_exception_of_python(name))
    is_imported = first in names and last[:1].isupper()
    return Raised(name, node.lineno) if is_class or is_imported else None


def _is_caught(kinds: set[str], guards: _Guards) -> bool:
    """Whether an exception of these kinds ends within what is around it: the first handler that fits decides."""
    while guards is not None:
        guards, caught = guards
        if next((again for each, again in caught if each in kinds), True) is False:
            return True
    return False


def _statements(nodes: Sequence[ast.stmt]) -> Iterator[tuple[ast.stmt, _Guards]]:
    """The statements and those within them, but for functions and classes that are defined there."""
    waiting: list[tuple[ast.stmt, _Guards]] = [(node, None) for node in reversed(nodes)]
    while waiting:
        node, guards = waiting.pop()
        yield node, guards
        if isinstance(node, Scope):
            continue
        if isinstance(node, TryNode):
            waiting += [(each, guards) for each in _beside(node)]
            guards = (guards, _caught_by(node))
            waiting += [(each, guards) for each in reversed(node.body)]
        else:
            if isinstance(node, ast.With | ast.AsyncWith):
                guards = (guards, _suppressed(node))
            waiting += [(each, guards) for each in reversed([*inner_statements(node)])]


def _beside(node: TryNode) -> list[ast.stmt]:
    """The statements of a `try` whose exceptions it does not catch itself."""
    handled = [each for handler in node.handlers for each in handler.body]
    return [*reversed(node.finalbody), *reversed(node.orelse), *reversed(handled)]


def _caught_by(node: TryNode) -> list[tuple[str, bool]]:
    handlers = [(handler, _raises_again(handler)) for handler in node.handlers]
    return [(name, again) for handler, again in handlers for name in _types(handler.type)]


def _types(node: ast.expr | None) -> list[str]:
    if node is None:
        return [_EVERYTHING]
    each = node.elts if isinstance(node, ast.Tuple) else [node]
    return [name for part in each if (name := last_name_of(part))]


def _raises_again(handler: ast.ExceptHandler) -> bool:
    waiting = [*handler.body]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Raise) and (node.exc is None or name_of(node.exc) == handler.name):
            return True
        if not isinstance(node, Scope):
            waiting += inner_statements(node)
    return False


def _suppressed(node: ast.With | ast.AsyncWith) -> list[tuple[str, bool]]:
    calls = [item.context_expr for item in node.items if isinstance(item.context_expr, ast.Call)]
    return [
        (name, False)
        for call in calls
        if last_name_of(call.func) == "suppress"
        for argument in call.args
        for name in _types(argument)
    ]
