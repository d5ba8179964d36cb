"""How the demo model writes tests: by rule, of what the text of a function says about itself, and of nothing else.

It tests that a function takes its parameters, that it refuses a call with too few or too many of them, and that it
raises what its first lines say. What a function returns takes understanding, and so no such test is written. Where no
rule tells how an exception is reached, the task is escalated.
"""

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.domain.material import described_in
from app.domain.python_code.module import read_module
from app.domain.python_code.modules import Modules
from app.domain.python_code.raising import Raised, is_exception_of_python
from app.domain.python_code.survey import Survey
from app.domain.python_code.syntax import FunctionNode, called, last_name_of
from app.domain.python_code.units import Unit, methods_of
from app.domain.python_functions import SourceUnreadable, first_line, parsed
from app.llm.demo_guards import Search, constants_of
from app.llm.demo_prompts import SIGNED

_KEEPS_ITS_PARAMETERS = frozenset({
    "abstractmethod", "asynccontextmanager", "cache", "classmethod", "contextmanager", "final", "lru_cache", "override",
    "staticmethod",
})  # fmt: skip
_PROPERTIES = frozenset({"property", "cached_property", "setter", "getter", "deleter"})
_RULE = "made by rule from the text of the code; whether it does what it should, nobody has looked at."


class NoRule(Exception):
    """A test that takes understanding; the message says of what."""


@dataclass(frozen=True)
class _Subject:
    """A function or class, with what is around it."""

    unit: Unit
    given: str
    module: str
    """What its input is called in imports."""
    node: FunctionNode | ast.ClassDef
    owner: ast.ClassDef | None
    constants: Mapping[str, Any]
    """What its module gives names to."""

    @property
    def slug(self) -> str:
        return re.sub(r"\W+", "_", _in_snake_case(self.unit.name)).strip("_")

    @property
    def top(self) -> str:
        """What is imported for it."""
        return self.unit.name.partition(".")[0]


def tests_for(task: str, sources: Mapping[str, str], names: Sequence[str]) -> dict[str, Any]:
    """The data of a worker that writes tests: for what its task describes, in the sources that were read. `names` are
    those of all inputs. Raises `NoRule`."""
    wanted = [_subject(name, given, sources, names) for name, given in described_in(task)]
    if not wanted:
        raise NoRule("The task names no function as a plan template does.")
    tests = [test for subject in wanted for test in _tests_of(subject)]
    imports = [_imports_for(subject) for subject in wanted]
    every = dict.fromkeys(["import inspect", "import pytest", *(each for some in imports for each in some)])
    read = "\n".join(test["code"] for test in tests)
    return {"imports": [each for each in every if each.rpartition(" ")[2] in read], "tests": tests}


def _subject(name: str, given: str, sources: Mapping[str, str], names: Sequence[str]) -> _Subject:
    try:
        tree, module = parsed(sources[given]), read_module(sources[given])
    except (KeyError, SourceUnreadable):
        raise NoRule(f"{given} was not read as a whole.") from None
    survey = Survey(Modules({**{each: read_module("") for each in names if each.endswith(".py")}, given: module}))
    unit = survey.unit(given, name)
    found = None if unit is None else _node_of(tree, unit)
    if unit is None or found is None:
        raise NoRule(f"{given} was not read as a whole.")
    return _Subject(unit, given, survey.modules.dotted[given], *found, constants_of(tree))


def _node_of(tree: ast.Module, unit: Unit) -> tuple[FunctionNode | ast.ClassDef, ast.ClassDef | None] | None:
    kinds = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    nodes = [each for each in ast.walk(tree) if isinstance(each, kinds) and each.name == unit.last_name]
    node = next((each for each in nodes if first_line(each) == unit.first), None)
    classes = [each for each in ast.walk(tree) if isinstance(each, ast.ClassDef) and node in each.body]
    return None if node is None else (node, classes[0] if classes else None)


def _tests_of(subject: _Subject) -> Iterator[dict[str, Any]]:
    node = subject.node
    if isinstance(node, ast.ClassDef):
        yield _test(subject, "ordinary", "has_its_methods", _class_body(subject, node))
        yield _test(subject, "edge", "needs_its_object", _class_edge(subject, node))
    else:
        yield _test(subject, "ordinary", "takes_its_parameters", _ordinary(subject, node))
        yield _test(subject, "edge", "refuses_other_calls", _edge(subject, node))
    for raised in subject.unit.raises:
        what = f"raises_{_in_snake_case(raised.last)}"
        yield _test(subject, "exception", what, _raising(subject, raised), raised.name)


def _in_snake_case(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def _test(subject: _Subject, kind: str, what: str, body: Sequence[str], raises: str | None = None) -> dict[str, Any]:
    lines = [f"def test_{subject.slug}_{what}():", f'    """{SIGNED} {_RULE}"""', *(f"    {each}" for each in body)]
    code = "\n".join(lines)
    return {"function": subject.unit.name, "input": subject.given, "kind": kind, "raises": raises, "code": f"{code}\n"}


def _class_body(subject: _Subject, node: ast.ClassDef) -> list[str]:
    names = sorted({each.name for each in node.body if isinstance(each, FunctionNode)})
    return [f"assert {{{', '.join(map(repr, names))}}} <= {{*dir({subject.unit.name})}}"]


def _class_edge(subject: _Subject, node: ast.ClassDef) -> list[str]:
    """What holds of every method: it cannot be called without an object."""
    plain = [each for each in node.body if isinstance(each, FunctionNode) and not each.decorator_list]
    plain.sort(key=lambda each: each.name.startswith("_"))
    if not plain or not _parameters(plain[0])[0]:
        raise NoRule(f"{subject.unit.name} has no plain method.")
    return ["with pytest.raises(TypeError):", f"    inspect.signature({subject.unit.name}.{plain[0].name}).bind()"]


def _ordinary(subject: _Subject, node: FunctionNode) -> list[str]:
    if _is_property(node):
        return [f'assert inspect.getattr_static({subject.unit.owner}, "{node.name}") is not None']
    required, keywords, _ = _required(subject, node)
    given = [*("None" for _ in required), *(f"{name}=None" for name in keywords)]
    lines = [f"given = inspect.signature({subject.unit.name}).bind({', '.join(given)})"]
    return [*lines, f"assert list(given.arguments) == {[*required, *keywords]!r}"]


def _edge(subject: _Subject, node: FunctionNode) -> list[str]:
    """A call that Python refuses by the parameters alone; where there is none, one with nothing."""
    if _is_property(node):
        return [f"assert not callable(inspect.getattr_static({subject.unit.owner}, '{node.name}'))"]
    required, keywords, most = _required(subject, node)
    signature = f"inspect.signature({subject.unit.name})"
    if required or keywords:
        return ["with pytest.raises(TypeError):", f"    {signature}.bind()"]
    if most is not None:
        return ["with pytest.raises(TypeError):", f"    {signature}.bind({', '.join(['None'] * (most + 1))})"]
    return [f"assert {signature}.bind().args == ()"]


def _raising(subject: _Subject, raised: Raised) -> list[str]:
    whole = subject.node if isinstance(subject.node, ast.ClassDef) else subject.owner
    every = [*methods_of(subject.node)] if isinstance(subject.node, ast.ClassDef) else [subject.node]
    function = next(each for each in every if each.lineno <= raised.line <= (each.end_lineno or each.lineno))
    if isinstance(function, ast.AsyncFunctionDef) or (whole is not None and function not in whole.body):
        raise NoRule(f"{function.name} is no plain function.")
    name = subject.unit.name if isinstance(subject.node, ast.ClassDef) else subject.unit.owner
    if whole is not None and function.name == "__post_init__":
        fields = [each for each in whole.body if isinstance(each, ast.AnnAssign)]
        names = {each.target.id: each.value is None for each in fields if isinstance(each.target, ast.Name)}
        search = Search(function.body, names, subject.constants, fields=True)
        return _raised_by(name, raised, search.arguments_for(raised.line))
    is_method = whole is not None and not _decorators(function) & {"staticmethod", "classmethod"}
    names = dict(list(_given_to(function).items())[1 if is_method else 0 :])
    found = Search(function.body, names, subject.constants).arguments_for(raised.line)
    if whole is None or function.name == "__init__":
        return _raised_by(name if whole is not None else function.name, raised, found)
    if not is_method or function.name.startswith("__"):
        raise NoRule(f"{function.name} is no plain method.")
    made = f"made = object.__new__({name})  # The condition comes before anything is asked of the object."
    return [made, *_raised_by(f"made.{function.name}", raised, found)]


def _raised_by(name: str, raised: Raised, given: Mapping[str, Any] | None) -> list[str]:
    if given is None:
        raise NoRule(f"Which arguments lead to {raised.name} in line {raised.line}, no rule tells.")
    arguments = ", ".join(f"{each}={value!r}" for each, value in given.items())
    return [f"with pytest.raises({raised.name}):", f"    {name}({arguments})"]


def _imports_for(subject: _Subject) -> Iterator[str]:
    """What its tests import: itself, and the exceptions that its module knows."""
    yield f"from {subject.module} import {subject.top}"
    for raised in subject.unit.raises:
        if not (raised.name == raised.last and is_exception_of_python(raised.name)):
            yield f"from {subject.module} import {raised.name.partition('.')[0]}"


def _decorators(node: FunctionNode) -> set[str]:
    return {last_name_of(called(each)) or "?" for each in node.decorator_list}


def _is_property(node: FunctionNode) -> bool:
    return bool(_decorators(node) & _PROPERTIES)


def _parameters(node: FunctionNode) -> tuple[list[str], int]:
    """Its positional parameters, and how many of them must be given."""
    names = [each.arg for each in (*node.args.posonlyargs, *node.args.args)]
    return names, len(names) - len(node.args.defaults)


def _given_to(node: FunctionNode) -> dict[str, bool]:
    """The parameters that can be given by name, and whether each must be."""
    names, least = _parameters(node)
    keywords = zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
    given = {name: at < least for at, name in enumerate(names)}
    return given | {each.arg: default is None for each, default in keywords}


def _required(subject: _Subject, node: FunctionNode) -> tuple[list[str], list[str], int | None]:
    """The positional parameters and the keywords without which it cannot be called, and how many positional ones it
    takes; None for any number. Raises `NoRule`."""
    if unknown := _decorators(node) - _KEEPS_ITS_PARAMETERS:
        raise NoRule(f"What {', '.join(sorted(unknown))} makes of {subject.unit.name}, no rule tells.")
    names, least = _parameters(node)
    bound = 1 if "classmethod" in _decorators(node) else 0
    keywords = zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
    most = None if node.args.vararg else len(names) - bound
    return names[bound:least], [each.arg for each, default in keywords if default is None], most
