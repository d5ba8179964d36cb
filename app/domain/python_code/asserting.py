"""What a test asserts, as far as its syntax tells.

A test asserts by `assert` of something that it has computed, by `pytest.raises` and `pytest.warns`, by the `assert…`
methods of `unittest` and of mocks, and by functions called `assert_…`. What cannot fail asserts nothing: constants,
something compared with itself, a tuple with a message in it, or methods that are named and not called.
"""

import ast
import builtins
from collections.abc import Collection, Iterator

from app.domain.python_code.raising import name_of

_RAISING = frozenset({"raises", "assertRaises", "assertRaisesRegex"})
_WARNING = frozenset({"warns", "deprecated_call", "assertWarns", "assertWarnsRegex", "assertLogs", "assertNoLogs"})
_SKIPPING = frozenset({"skip", "xfail", "skipTest", "expectedFailure", "importorskip"})
_SAME = ast.Eq | ast.Is | ast.LtE | ast.GtE
_Scope = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda
Test = ast.FunctionDef | ast.AsyncFunctionDef


def asserts(test: Test, bound: Collection[str]) -> bool:
    """Whether it holds anything against what it has computed. `bound` are the names that it binds and imports."""
    return any(_asserts(node, bound) for node in _nodes_of(test))


def exceptions_expected(test: Test) -> Iterator[str]:
    """The exceptions that it expects of a call, and does not raise itself: the class alone, without its module."""
    for node in _nodes_of(test):
        if isinstance(node, ast.With | ast.AsyncWith):
            calls = [item.context_expr for item in node.items if isinstance(item.context_expr, ast.Call)]
            within = [inner for each in node.body for inner in ast.walk(each)]
            computes = any(isinstance(each, ast.Call | ast.Attribute | ast.Subscript) for each in within)
            computes = computes or any(isinstance(each, ast.BinOp | ast.Compare | ast.UnaryOp) for each in within)
            if computes and not any(isinstance(each, ast.Raise) for each in within):
                yield from (name for each in calls if (name := _exception_of(each)))
        elif isinstance(node, ast.Call) and len(node.args) > 1 and (name := _exception_of(node)):
            yield name


def skips(test: Test | ast.ClassDef) -> bool:
    """Whether it says that it is not to be carried out, or may fail."""
    marks = [each.func if isinstance(each, ast.Call) else each for each in test.decorator_list]
    within = [node.func for node in ast.walk(test) if isinstance(node, ast.Call)]
    return any((name_of(each) or "").rpartition(".")[2] in _SKIPPING for each in (*marks, *within))


def _nodes_of(test: Test) -> Iterator[ast.AST]:
    """What is carried out when it is, but for what is defined in it."""
    waiting: list[ast.AST] = [*test.body]
    while waiting:
        node = waiting.pop()
        if not isinstance(node, _Scope):
            yield node
            waiting += ast.iter_child_nodes(node)


def _asserts(node: ast.AST, bound: Collection[str]) -> bool:
    match node:
        case ast.Assert(test=ast.Tuple()):
            return False
        case ast.Assert(test=condition):
            return not _is_certain(condition, bound)
        case ast.Call(func=function, args=args, keywords=keywords):
            name = (name_of(function) or _attribute(function)).rpartition(".")[2]
            if name in _RAISING or name in _WARNING:
                return True
            given = [*args, *(each.value for each in keywords)]
            is_one = name.startswith("assert") and name not in ("assert", "assertion")
            return is_one and (not given or any(_is_computed(each, bound) for each in given))
        case _:
            return False


def _attribute(function: ast.expr) -> str:
    return function.attr if isinstance(function, ast.Attribute) else ""


def _is_certain(condition: ast.expr, bound: Collection[str]) -> bool:
    """Whether it holds whatever was computed."""
    match condition:
        case ast.BoolOp(op=ast.Or(), values=values) if any(
            isinstance(each, ast.Constant) and each.value for each in values
        ):
            return True
        case ast.Compare(left=left, ops=[op], comparators=[right]) if isinstance(op, _SAME):
            return not _is_computed(condition, bound) or ast.dump(left) == ast.dump(right)
        case _:
            return not _is_computed(condition, bound)


def _is_computed(value: ast.expr, bound: Collection[str]) -> bool:
    """Whether it reads anything that Python does not have by itself."""
    names = (each.id for each in ast.walk(value) if isinstance(each, ast.Name))
    return any(name in bound or not hasattr(builtins, name) for name in names)


def _exception_of(call: ast.Call) -> str | None:
    """The one exception that a call expects; None for any other call."""
    name = (name_of(call.func) or "").rpartition(".")[2]
    if name not in _RAISING:
        return None
    expected = (
        call.args[0]
        if call.args
        else next((each.value for each in call.keywords if each.arg in ("expected_exception", "exception")), None)
    )
    return (name_of(expected) or "").rpartition(".")[2] or None
