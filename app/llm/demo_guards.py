"""How the demo model finds arguments by which a function raises: it reads the conditions before each `raise`.

That works where a function begins with such conditions on its own parameters, in plain comparisons. Nothing is
executed: the conditions are worked out here, over a few values that their constants suggest.
"""

import ast
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice, product
from typing import Any, NamedTuple

MOST_TRIES = 4_000
MOST_VALUES = 12
MOST_GUARDS = 20
MOST_CHARACTERS = 200
MOST_NUMBER = 10**15
USUAL: tuple[Any, ...] = (None, 0, 1, -1, "", "x", [])
_TYPES: Mapping[str, type] = {each.__name__: each for each in (bool, dict, float, int, list, set, str, tuple)}
_MANY = (dict, frozenset, list, set, tuple)
_COMPARED: Mapping[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
    ast.In: lambda one, other: one in other,
    ast.NotIn: lambda one, other: one not in other,
}


class _Unknown(Exception):
    """A value that cannot be told from the text."""


class Guard(NamedTuple):
    """A condition at the beginning of a function, and what is raised where it holds."""

    condition: ast.expr
    raised: ast.Raise


def guards_of(body: Sequence[ast.stmt]) -> Iterator[Guard]:
    """The conditions that a function begins with."""
    for node in body:
        match node:
            case ast.Expr(value=ast.Constant()):
                continue
            case ast.If(test=condition, body=[ast.Raise() as raised], orelse=[]):
                yield Guard(condition, raised)
            case _:
                return


@dataclass(frozen=True)
class Search:
    """Where arguments are looked for."""

    body: Sequence[ast.stmt]
    """What the function does."""
    names: Mapping[str, bool]
    """Its parameters, and whether each must be given; of a dataclass, its fields."""
    constants: Mapping[str, Any]
    """What its module calls by names, and says at once."""
    fields: bool = False
    """Whether the names are those of attributes of `self`."""

    def arguments_for(self, line: int) -> dict[str, Any] | None:
        """Values by which the `raise` of a line is reached; None where no rule finds any."""
        guards = list(guards_of(self.body))
        at = next((index for index, guard in enumerate(guards) if guard.raised.lineno == line), None)
        if at is None or at >= MOST_GUARDS:
            return None
        guards = guards[: at + 1]
        read = {self._name_of(node) for guard in guards for node in ast.walk(guard.condition)}
        names = [name for name, needed in self.names.items() if needed or name in read]
        for values in islice(product(*(self._values(name, guards) for name in names)), MOST_TRIES):
            given = dict(zip(names, values, strict=True))
            try:
                held = [bool(self._worked_out(guard.condition, given)) for guard in guards]
            except (_Unknown, TypeError, ValueError, RecursionError):
                continue
            if held == [False] * at + [True]:
                return given
        return None

    def _values(self, name: str, guards: Sequence[Guard]) -> list[Any]:
        """What a name is tried with: values around the constants that it is compared with, then the usual ones."""
        suggested: list[Any] = []
        for guard in guards:
            nodes = [*ast.walk(guard.condition)]
            if any(self._name_of(node) == name for node in nodes):
                read = {node.id for node in nodes if isinstance(node, ast.Name)}
                constants = [node.value for node in nodes if isinstance(node, ast.Constant)]
                constants += [each for called in sorted(read & self.constants.keys()) for each in self._one_of(called)]
                suggested += [value for each in constants for value in _around(each, has_length="len" in read)]
        unlike = {repr(value): value for value in (*suggested, *USUAL) if _is_plain(value)}
        return list(unlike.values())[:MOST_VALUES]

    def _one_of(self, constant: str) -> list[Any]:
        """A constant, or the first thing in it."""
        value = self.constants[constant]
        return [*islice(value, 1)] if isinstance(value, _MANY) else [value]

    def _name_of(self, node: ast.AST) -> str | None:
        match node:
            case ast.Attribute(value=ast.Name(id="self"), attr=name) if self.fields:
                return name
            case ast.Name(id=name) if not self.fields:
                return name
            case _:
                return None

    def _worked_out(self, node: ast.expr, given: Mapping[str, Any]) -> Any:
        """The value of an expression. Raises `_Unknown`."""

        def value(inner: ast.expr) -> Any:
            return self._worked_out(inner, given)

        if (name := self._name_of(node)) in given:
            return given[str(name)]
        match node:
            case ast.Name(id=constant) if constant in self.constants:
                return self.constants[constant]
            case ast.Constant(value=constant):
                return constant
            case ast.Tuple(elts=parts) | ast.List(elts=parts) | ast.Set(elts=parts):
                return [value(each) for each in parts]
            case ast.UnaryOp(op=ast.Not(), operand=inner):
                return not value(inner)
            case ast.UnaryOp(op=ast.USub(), operand=inner):
                return -value(inner)
            case ast.BoolOp(op=op, values=parts):
                found = (bool(value(each)) for each in parts)
                return all(found) if isinstance(op, ast.And) else any(found)
            case ast.Compare(left=left, ops=ops, comparators=comparators):
                sides = [value(each) for each in (left, *comparators)]
                pairs = zip(ops, sides, sides[1:], strict=False)
                return all(_COMPARED[type(op)](one, other) for op, one, other in pairs)
            case ast.Call(func=ast.Name(id="len"), args=[inner], keywords=[]):
                return len(value(inner))
            case ast.Call(func=ast.Name(id="isinstance"), args=[inner, ast.Name(id=kind)]) if kind in _TYPES:
                return isinstance(value(inner), _TYPES[kind])
            case _:
                raise _Unknown


def _around(constant: Any, *, has_length: bool) -> list[Any]:
    if has_length and isinstance(constant, int) and 0 <= constant < MOST_CHARACTERS:
        return ["x" * constant, "x" * (constant + 1), "x" * max(constant - 1, 0)]
    if isinstance(constant, int | float) and not isinstance(constant, bool):
        return [constant, constant - 1, constant + 1]
    return [f"{constant}x", constant] if isinstance(constant, str) else [constant]


def _is_plain(value: Any) -> bool:
    """Whether a value can be written into a test as Python writes it."""
    if isinstance(value, int | float):
        return abs(value) < MOST_NUMBER
    return value is None or value == [] or (isinstance(value, str) and len(value) < MOST_CHARACTERS)


def constants_of(tree: ast.Module) -> dict[str, Any]:
    """What a module gives names to and says at once: numbers, texts, and lists and tables of such."""
    found: dict[str, Any] = {}
    for node in tree.body:
        match node:
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=value)
                | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value)
            ):
                with suppress(ValueError, TypeError, RecursionError, MemoryError, SyntaxError):
                    found[name] = ast.literal_eval(value)
            case _:
                continue
    return found
