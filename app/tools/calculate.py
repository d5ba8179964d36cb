"""The tool `calculate`: arithmetic whose every value is bounded, so that no expression can take long or grow large."""

import ast
import math
import operator
from collections.abc import Callable
from typing import Any

from pydantic import Field
from simpleeval import (  # type: ignore[import-untyped]
    FeatureNotAvailable,
    FunctionNotDefined,
    InvalidExpression,
    NameNotDefined,
    OperatorNotDefined,
    SimpleEval,
)

from app.domain.errors import ToolError
from app.tools.tool import Arguments, Tool, ToolContext

BITS_ALLOWED = 10_000
"""Of an integer: about 3,000 digits, which Python still prints."""
DIGITS_ROUNDED = 300

Number = int | float


class Calculate(Arguments):
    """What to work out."""

    expression: str = Field(
        min_length=1,
        max_length=4_000,
        description="One expression, for instance round(1200 * (1 + 0.035) ** 10, 2). Powers are **, not ^.",
    )


class _TooLarge(Exception):
    """A value would go beyond the bounds."""


def _power(base: Number, exponent: Number) -> Any:
    # Checked before it is carried out: the result of an integer power can be larger than the memory.
    if isinstance(base, int) and isinstance(exponent, int) and abs(base) > 1:
        _refuse_beyond(base.bit_length() * exponent)
    return base**exponent


def _product(left: Number, right: Number) -> Number:
    if isinstance(left, int) and isinstance(right, int):
        _refuse_beyond(left.bit_length() + right.bit_length() - 1)
    return left * right


def _rounded(number: Number, digits: int = 0) -> Number:
    if abs(digits) > DIGITS_ROUNDED:  # rounding an integer to -n digits computes 10**n
        raise _TooLarge
    return round(number, digits) if digits else round(number)


def _sum(*numbers: Number) -> Number:
    return sum(numbers)


def _refuse_beyond(bits: int) -> None:
    if bits > BITS_ALLOWED:
        raise _TooLarge


_OPERATORS: dict[type[ast.AST], Callable[..., Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: _product,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: _power,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
}
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "abs": abs, "ceil": math.ceil, "cos": math.cos, "exp": math.exp, "floor": math.floor, "log": math.log,
    "log10": math.log10, "max": max, "min": min, "round": _rounded, "sin": math.sin, "sqrt": math.sqrt, "sum": _sum,
    "tan": math.tan,
}  # fmt: skip
_NAMES = {"pi": math.pi, "e": math.e}
_SYNTAX = frozenset({ast.BinOp, ast.UnaryOp, ast.Call, ast.Constant, ast.Name})


class _Arithmetic(SimpleEval):  # type: ignore[misc]
    """simpleeval without everything that is no arithmetic, and with a check of every value on the way."""

    def __init__(self) -> None:
        super().__init__(operators=_OPERATORS, functions=_FUNCTIONS, names=_NAMES)
        self.nodes: dict[type[ast.AST], Callable[[Any], Any]] = {node: self.nodes[node] for node in _SYNTAX}

    def _eval(self, node: ast.AST) -> Any:
        value = super()._eval(node)
        if type(value) is int:
            _refuse_beyond(value.bit_length())
        elif type(value) is not float:
            raise FeatureNotAvailable("only real numbers can be calculated with")
        elif not math.isfinite(value):
            raise _TooLarge
        return value


def calculated(expression: str) -> Number:
    """The value of `expression`; raises `ToolError`."""
    try:
        value: Number = _Arithmetic().eval(expression, _parsed(expression))
    except ToolError:
        raise
    except (_TooLarge, OverflowError):
        raise _refused("a number on the way is too large") from None
    except RecursionError:
        raise _refused("it is nested too deeply; add long lists with sum(a, b, …)") from None
    except OperatorNotDefined:
        raise _refused("the operators are + - * / // % ** (powers are **, not ^)") from None
    except (FunctionNotDefined, NameNotDefined):
        raise _refused(f"the names are {', '.join(sorted([*_FUNCTIONS, *_NAMES]))}") from None
    except (InvalidExpression, ArithmeticError, ValueError, TypeError) as error:
        raise _refused(str(error)) from None
    return value


def _parsed(expression: str) -> ast.expr:
    try:
        return ast.parse(expression.strip(), mode="eval").body
    except (RecursionError, MemoryError):  # what the parser raises when its own stack is full
        raise _refused("it is nested too deeply; add long lists with sum(a, b, …)") from None
    except (SyntaxError, ValueError):
        raise _refused("it is not one arithmetic expression; write numbers plainly, like 1234.5") from None


def _refused(reason: str) -> ToolError:
    return ToolError(f"the expression cannot be calculated: {reason}", "calculation_failed")


async def _run(arguments: Calculate, context: ToolContext) -> str:
    return str(calculated(arguments.expression))


CALCULATE = Tool(
    name="calculate",
    description=(
        "Works out one arithmetic expression exactly as written and returns the number. Operators: + - * / // % ** and "
        f"parentheses. Functions: {', '.join(sorted(_FUNCTIONS))} (log is natural, or log(x, base); angles are in "
        "radians). Constants: pi, e. No variables, units, percent signs, comparisons or text; integers up to 3,000 "
        "digits. Use it for every calculation that matters; for sums over a data file use query_data."
    ),
    arguments=Calculate,
    effect="read",
    run=_run,
    timeout_s=5,
)
