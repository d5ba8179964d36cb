"""Functions of installed packages as tools: found by their entry points, and checked in full before anything starts.

A function says by its signature what it takes, by its docstring what it is good for, and by attributes what a call
does (`effect`) and how long it may take (`timeout_s`). It needs nothing of ours to say so.
"""

import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Annotated, Any, get_args, get_origin

from pydantic import ConfigDict, Field, create_model
from pydantic.errors import PydanticUserError

from app.domain.errors import FAULTS, ChargehandError
from app.domain.events import Effect
from app.tools.threads import Threaded
from app.tools.tool import Arguments, Tool, ToolContext

GROUP = "chargehand.tools"
"""The entry point group in which packages name their tools."""
KEY = "idempotency_key"
"""The parameter that is given the key of the call, and that no model sees."""
CALL_S = 30.0
"""Seconds of one call, where the function does not say."""
LONGEST_CALL_S = 3_600.0
DESCRIPTION_CHARACTERS = 10_000
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
_LOADING_FAILS = (ImportError, SyntaxError, NameError, OSError, RuntimeError, SystemExit, *FAULTS)
"""What an import of somebody else's module ends with."""


class PythonToolInvalid(ChargehandError):
    """An installed package brings a tool that cannot be used; the message names both and what is wrong."""


class PythonArguments(Arguments):
    """Base of such a function's input. Not strict: JSON has no dates and no sets."""

    model_config = ConfigDict(strict=False)


@cache
def installed_tools() -> tuple[Tool, ...]:
    """The tools of all installed packages, by name; looked for once in a process. Raises `PythonToolInvalid`."""
    found: dict[str, Tool] = {}
    for entry in sorted(entry_points(group=GROUP), key=lambda entry: entry.name):
        tool = tool_of(entry)
        if tool.name in found:
            raise PythonToolInvalid(f"{_told(entry)}: {found[tool.name].package} brings a tool of this name too")
        found[tool.name] = tool
    return tuple(found.values())


def tool_of(entry: EntryPoint) -> Tool:
    """The tool that an entry point names. Raises `PythonToolInvalid`."""
    try:
        function = entry.load()
    except _LOADING_FAILS as error:
        reason = " ".join(str(error).split())
        raise PythonToolInvalid(f"{_told(entry)}: cannot be loaded: {type(error).__name__}: {reason}") from error
    try:
        return _tool(entry, function)
    except ValueError as error:
        raise PythonToolInvalid(f"{_told(entry)}: {error}") from None


def _told(entry: EntryPoint) -> str:
    return f"tool {entry.name} of {_package(entry)} ({entry.value})"


def _package(entry: EntryPoint) -> str:
    return f"{entry.dist.name} {entry.dist.version}" if entry.dist else "an installed package"


def _tool(entry: EntryPoint, function: Any) -> Tool:
    """Raises `ValueError` with what is wrong."""
    if not _NAME.fullmatch(entry.name):
        raise ValueError("its name must have up to 64 lower-case letters, digits, - and _")
    if not inspect.isfunction(function):
        raise ValueError("it must be a function")
    description = inspect.getdoc(function) or ""
    if not 0 < len(description) <= DESCRIPTION_CHARACTERS:
        raise ValueError(f"its docstring, which models read, must have 1 to {DESCRIPTION_CHARACTERS} characters")
    effect: Any = getattr(function, "effect", None)
    if effect not in get_args(Effect):
        raise ValueError(f"its attribute effect must say what a call does: {', '.join(get_args(Effect))}")
    timeout_s = getattr(function, "timeout_s", CALL_S)
    if not isinstance(timeout_s, int | float) or not 0 < timeout_s <= LONGEST_CALL_S:
        raise ValueError(f"its attribute timeout_s must be a number of seconds, up to {LONGEST_CALL_S:g}")
    parameters = _parameters(function)
    names = {f"argument_{number}": name for number, name in enumerate(parameters) if name != KEY}
    return Tool(
        name=entry.name,
        description=description,
        arguments=_arguments(entry.name, {field: parameters[name] for field, name in names.items()}),
        effect=effect,
        run=_run(entry.name, function, names, takes_key=KEY in parameters),
        timeout_s=timeout_s,
        package=_package(entry),
    )


def _parameters(function: Callable[..., Any]) -> Mapping[str, inspect.Parameter]:
    try:
        parameters = inspect.signature(function, eval_str=True).parameters
    except (NameError, SyntaxError, TypeError, AttributeError) as error:
        raise ValueError(f"the types of its arguments cannot be read: {error}") from None
    for name, parameter in parameters.items():
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise ValueError(f"its argument {name} must be one that can be given by name")
        if parameter.annotation is parameter.empty:
            raise ValueError(f"its argument {name} has no type")
    return parameters


def _arguments(name: str, parameters: Mapping[str, inspect.Parameter]) -> type[Arguments]:
    """The model of a function's input. Its fields have names of ours: a parameter may be called `schema` or `copy`."""
    fields: Any = {field: _field(parameter) for field, parameter in parameters.items()}
    try:
        model = create_model(name, __base__=PythonArguments, **fields)
        model.model_json_schema()
    except (PydanticUserError, TypeError) as error:
        raise ValueError(f"its arguments have no JSON form: {' '.join(str(error).split())}") from None
    return model


def _field(parameter: inspect.Parameter) -> tuple[Any, Any]:
    default = ... if parameter.default is parameter.empty else parameter.default
    described: Any = {"description": text} if (text := " ".join(_texts_beside(parameter.annotation))) else {}
    return parameter.annotation, Field(default, alias=parameter.name, **described)


def _texts_beside(annotation: Any) -> Iterator[str]:
    """Plain texts in `Annotated`: what an argument means."""
    if get_origin(annotation) is Annotated:
        yield from (each for each in get_args(annotation)[1:] if isinstance(each, str))


def _run(
    name: str, function: Callable[..., Any], names: Mapping[str, str], *, takes_key: bool
) -> Callable[[Any, ToolContext], Any]:
    threaded = None if inspect.iscoroutinefunction(function) else Threaded(name, function)

    async def run(arguments: Arguments, context: ToolContext) -> Any:
        given = {parameter: getattr(arguments, field) for field, parameter in names.items()}
        if takes_key:
            given[KEY] = context.key
        output = function(**given) if threaded is None else await threaded.call(given)
        return await output if inspect.isawaitable(output) else output

    return run
