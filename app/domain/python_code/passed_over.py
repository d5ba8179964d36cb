"""Whether pytest carries a written test out, as far as its syntax tells."""

import ast
from collections.abc import Iterator, Mapping, Sequence

from app.domain.python_code.fixtures import mark_of_fixture
from app.domain.python_code.module import Import
from app.domain.python_code.syntax import FunctionNode, Scope, called, last_name_of, last_part, name_of

_SKIP = "skip"
"""Other things are called so too: it counts where it comes from one of these."""
_TEST_TOOLS = frozenset({"pytest", "unittest"})
_SKIPPING = frozenset({"xfail", "skipTest", "expectedFailure", "importorskip"})
_SKIPS = ("SkipTest", "skip.Exception", "xfail.Exception")


def skips(test: FunctionNode | ast.ClassDef, imports: Mapping[str, Sequence[Import]]) -> bool:
    """Whether it says that it is not to be carried out, or may fail. `imports` are what its names come from."""
    marks = [*test.decorator_list, *(_marks_within(test) if isinstance(test, ast.ClassDef) else ())]
    calls = [node.func for node in ast.walk(test) if isinstance(node, ast.Call)]
    raised = [node.exc for node in ast.walk(test) if isinstance(node, ast.Raise) and node.exc]
    return (
        any(map(_always_skips, marks))
        or any(_is_skip(each, imports) for each in (*map(called, marks), *calls))
        or any((name_of(called(each)) or "").endswith(_SKIPS) for each in raised)
    )


def why_no_test(test: FunctionNode | ast.ClassDef) -> str | None:
    """Why pytest finds no test in it, although it is called like one."""
    if isinstance(test, ast.ClassDef):
        methods = {each.name for each in test.body if isinstance(each, ast.FunctionDef)}
        if not methods.isdisjoint({"__init__", "__new__"}):
            return "a class that has an __init__ or a __new__"
        return "a class with a __test__ of its own" if [*_assigned(test.body, "__test__")] else None
    if mark_of_fixture(test):
        return "a fixture"
    return (
        "a test that has a yield" if any(isinstance(each, ast.Yield | ast.YieldFrom) for each in _own(test)) else None
    )


def _is_skip(node: ast.expr, imports: Mapping[str, Sequence[Import]]) -> bool:
    name = name_of(node) or ""
    if last_part(name) != _SKIP:
        return last_part(name) in _SKIPPING
    return any(each.module.partition(".")[0] in _TEST_TOOLS for each in imports.get(name.partition(".")[0], ()))


def _marks_within(node: ast.ClassDef) -> Iterator[ast.expr]:
    """What `pytestmark` says of a class."""
    for value in _assigned(node.body, "pytestmark"):
        yield from value.elts if isinstance(value, ast.List | ast.Tuple) else [value]


def _assigned(body: Sequence[ast.stmt], name: str) -> Iterator[ast.expr]:
    for node in body:
        match node:
            case ast.Assign(targets=targets, value=value):
                given = targets
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                given = [target]
            case _:
                continue
        if any(isinstance(each, ast.Name) and each.id == name for each in given):
            yield value


def _always_skips(mark: ast.expr) -> bool:
    """A condition that is none: `skipif` alone, or of a constant. So is `parametrize` with nothing."""
    call = mark if isinstance(mark, ast.Call) else None
    last = last_name_of(called(mark))
    given = [*call.args, *(each.value for each in call.keywords if each.arg == "condition")] if call else []
    if last == "parametrize":
        values = [*given[1:2], *(each.value for each in (call.keywords if call else ()) if each.arg == "argvalues")]
        return any(isinstance(each, ast.List | ast.Tuple | ast.Set) and not each.elts for each in values)
    if last != "skipif":
        return False
    return not given or (isinstance(given[0], ast.Constant) and bool(given[0].value))


def _own(test: FunctionNode) -> Iterator[ast.AST]:
    """What is in a test, but for what is defined in it."""
    waiting: list[ast.AST] = [*test.body]
    while waiting:
        node = waiting.pop()
        if not isinstance(node, Scope):
            yield node
            waiting += ast.iter_child_nodes(node)
