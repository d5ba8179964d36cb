"""What a test asserts, as far as its syntax tells.

A test asserts by `assert` of something that it has computed, by `pytest.raises` and `pytest.warns`, by the `assert…`
methods of `unittest` and of mocks, and by functions called `assert_…`. What cannot fail asserts nothing: constants,
something compared with itself, a tuple with a message in it, or what is named and not called, be it that it is no
`None` or that it can be called. Nor does what is never carried out, or whose failure is caught.
"""

import ast
import builtins
from collections.abc import Collection, Iterator, Sequence

from app.domain.python_code.syntax import FunctionNode, Scope, last_name_of, last_part, name_bound_by, name_of

_RAISING = frozenset({"raises", "assertRaises", "assertRaisesRegex"})
_WARNING = frozenset({"warns", "deprecated_call", "assertWarns", "assertWarnsRegex", "assertLogs", "assertNoLogs"})
_LEAVING = ast.Return | ast.Raise | ast.Continue | ast.Break
_ASSERTIONS = frozenset({"Exception", "BaseException", "AssertionError"})
_COMPUTING = ast.Call | ast.Attribute | ast.Subscript | ast.BinOp | ast.Compare | ast.UnaryOp
_IMPLICIT = (
    ast.For | ast.AsyncFor | ast.comprehension | ast.FormattedValue | ast.Starred | ast.Tuple | ast.With | ast.AsyncWith
)
"""Where Python calls methods with names of its own."""
_SAME = ast.Eq | ast.Is | ast.LtE | ast.GtE


def asserts(test: FunctionNode, bound: Collection[str]) -> bool:
    """Whether it holds anything against what it has computed. `bound` are the names that it binds and imports."""
    nodes = (node for node in ast.walk(test) if not isinstance(node, ast.ExceptHandler))  # What was caught is there.
    made = {name for node in nodes if (name := name_bound_by(node))}
    return any(_asserts(node, bound, made) for node in _nodes_of(test))


def exceptions_expected(test: FunctionNode, of: Collection[str], *, implicitly: bool) -> Iterator[str]:
    """The exceptions that it expects of a call, and does not raise itself: the class alone, without its module.

    `of` are the names under which what is tested is called; where there are none, every call will do. `implicitly` lets
    Python make the call: in a loop, a formatted string, an unpacking, or at the end of a `with`, which may be left by a
    raise.
    """
    for node in _nodes_of(test):
        if isinstance(node, ast.With | ast.AsyncWith):
            calls = [item.context_expr for item in node.items if isinstance(item.context_expr, ast.Call)]
            within = [inner for each in node.body for inner in ast.walk(each)]
            computing = _COMPUTING | _IMPLICIT if implicitly else _COMPUTING
            computes = any(isinstance(each, computing) for each in within) and (not of or _calls(within, of))
            left = [each for each in node.body if not (implicitly and isinstance(each, ast.With | ast.AsyncWith))]
            if computes and not any(isinstance(inner, ast.Raise) for each in left for inner in ast.walk(each)):
                yield from (name for each in calls if (name := _exception_of(each)))
        elif isinstance(node, ast.Call) and len(node.args) > 1 and (name := _exception_of(node)):
            given = [each for argument in node.args[1:] for each in ast.walk(argument)]
            if not of or _names_in(given) & {*of}:
                yield name


def _nodes_of(test: FunctionNode) -> Iterator[ast.AST]:
    """What is carried out when it is, but for what is defined in it, and for what fails without a word."""
    waiting: list[ast.AST] = [*_carried_out(test.body)]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Scope):
            continue
        yield node
        unheard = _unheard_in(node)
        for name, value in ast.iter_fields(node):
            if name in unheard:
                continue
            if isinstance(value, list):
                waiting += _carried_out(value)
            elif isinstance(value, ast.AST):
                waiting.append(value)


def _unheard_in(node: ast.AST) -> Collection[str]:
    """The fields of what is never carried out in it, or would fail without a word."""
    match node:
        case ast.If(test=ast.Constant(value=condition)) | ast.While(test=ast.Constant(value=condition)):
            return () if condition else ("body",)
        case ast.With() | ast.AsyncWith() if _hides(node):
            return ("body", "items")
        case ast.Try(handlers=handlers) | ast.TryStar(handlers=handlers) if any(map(_keeps_quiet, handlers)):
            return ("body",)
        case _:
            return ()


def _carried_out(block: Sequence[ast.AST]) -> Iterator[ast.AST]:
    """The statements of a block up to one behind which nothing comes."""
    for node in block:
        if isinstance(node, ast.AST):
            yield node
        if isinstance(node, _LEAVING):
            return


def _hides(node: ast.With | ast.AsyncWith) -> bool:
    """Whether a failed assertion within would be what is wanted there, or ends there."""
    calls = [item.context_expr for item in node.items if isinstance(item.context_expr, ast.Call)]
    quiet = [each for each in calls if last_name_of(each.func) in _RAISING | {"suppress"}]
    caught = [name for call in quiet for each in call.args for name in _elements(each)]
    asserted = any(isinstance(inner, ast.Assert) for each in node.body for inner in ast.walk(each))
    return asserted and any(last_name_of(each) in _ASSERTIONS for each in caught)


def _elements(node: ast.expr) -> list[ast.expr]:
    return node.elts if isinstance(node, ast.Tuple) else [node]


def _keeps_quiet(handler: ast.ExceptHandler) -> bool:
    """Whether a failed assertion would end there, and nobody would hear of it."""
    catches = handler.type is None or any(last_name_of(each) in _ASSERTIONS for each in _elements(handler.type))
    within = [node for each in handler.body for node in ast.walk(each)]
    tells = any(isinstance(node, ast.Raise | ast.Assert) for node in within) or "fail" in _names_in(within)
    return catches and not tells


def _calls(nodes: Sequence[ast.AST], of: Collection[str]) -> bool:
    called = [node.func for node in nodes if isinstance(node, ast.Call)]
    return bool(_names_in(called) & {*of})


def _names_in(nodes: Sequence[ast.AST]) -> set[str]:
    names = {node.id for node in nodes if isinstance(node, ast.Name)}
    return names | {node.attr for node in nodes if isinstance(node, ast.Attribute)}


def _asserts(node: ast.AST, bound: Collection[str], made: Collection[str]) -> bool:
    match node:
        case ast.Assert(test=ast.Tuple()):
            return False
        case ast.Assert(test=ast.Name(id=name)):
            return name in made
        case ast.Assert(test=condition):
            return not _is_certain(condition, bound) and not _is_of_bare_name(condition, made)
        case ast.Call(func=function, args=args, keywords=keywords):
            name = last_part(name_of(function) or _attribute(function))
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
        case ast.BoolOp(op=ast.Or(), values=values):
            return any(_is_certain(each, bound) and not _is_false(each) for each in values)
        case ast.BoolOp(op=ast.And(), values=values):
            return all(_is_certain(each, bound) for each in values)
        case ast.List(elts=[_, *_]) | ast.Set() | ast.Tuple(elts=[_, *_]) | ast.Dict(keys=[_, *_]):
            return True
        case ast.Lambda() | ast.GeneratorExp():
            return True
        case ast.Compare(left=left, ops=[op], comparators=[right]) if isinstance(op, _SAME):
            return not _is_computed(condition, bound) or ast.dump(left) == ast.dump(right)
        case _:
            return not _is_computed(condition, bound)


def _is_false(value: ast.expr) -> bool:
    """Whether it is a constant that decides nothing beside others."""
    match value:
        case ast.Constant(value=constant):
            return not constant
        case ast.List(elts=[]) | ast.Tuple(elts=[]) | ast.Dict(keys=[]):
            return True
        case _:
            return False


def _is_of_bare_name(condition: ast.expr, made: Collection[str]) -> bool:
    """Whether it says of something imported that it is there, or what kind of thing it is."""
    match condition:
        case ast.Compare(left=ast.Name(id=name), ops=[ast.Is() | ast.IsNot() | ast.NotEq()], comparators=[other]):
            return name not in made and isinstance(other, ast.Constant) and other.value is None
        case ast.Call(func=ast.Name(id="callable" | "isinstance" | "hasattr" | "bool"), args=[ast.Name(id=name), *_]):
            return name not in made
        case _:
            return False


def _is_computed(value: ast.expr, bound: Collection[str]) -> bool:
    """Whether it reads anything that Python does not have by itself."""
    names = (each.id for each in ast.walk(value) if isinstance(each, ast.Name))
    return any(name in bound or not hasattr(builtins, name) for name in names)


def _exception_of(call: ast.Call) -> str | None:
    """The one exception that a call expects; None for any other call."""
    name = last_name_of(call.func)
    if name not in _RAISING:
        return None
    expected = (
        call.args[0]
        if call.args
        else next((each.value for each in call.keywords if each.arg in ("expected_exception", "exception")), None)
    )
    return last_name_of(expected) or None
