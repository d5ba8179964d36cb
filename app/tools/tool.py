"""The port to the world: what a tool is, and how a call of one is checked, bounded and answered.

A call never raises into the worker's loop: whatever goes wrong becomes a result that the model can read.
"""

import asyncio
import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, Protocol

import structlog
from pydantic import BaseModel, ConfigDict, ValidationError

from app.domain.conversation import ToolSpec
from app.domain.crew import Means, Reach
from app.domain.errors import ToolError, ToolInputInvalid, place_of
from app.domain.events import Effect
from app.domain.job import JobInput
from app.domain.text import DEEPEST, clean_text, shorten
from app.tools.foreign_schema import ForeignSchema
from app.tools.showing import Shown

log = structlog.get_logger(__name__)

EMPTY = "(the tool returned nothing)"
LARGEST_EXACT = 2**53
"""Up to here a float is the integer that it looks like."""
JSON_CUT = "(JSON, cut in the middle: do not parse)\n"
MOST_VALUES = 20_000
"""JSON values that the input of a call may hold: each is looked at, and a model can write half a million in a reply."""


class Arguments(BaseModel):
    """Base of a tool's input: strict types, no unknown fields."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")


@dataclass(frozen=True, slots=True)
class ToolContext:
    """What a call may know of the job it serves."""

    inputs: Sequence[JobInput]
    key: str
    """Idempotency key: the same string whenever this very call is repeated."""


OriginState = Literal["connecting", "ready", "down"]
"""Whether a server is there: nobody knows yet, it is, or it is not."""


class Origin(Protocol):
    """The server that a tool comes from."""

    @property
    def name(self) -> str:
        """Its name, as the operator gave it."""

    @property
    def state(self) -> OriginState:
        """Whether it is there."""


@dataclass(frozen=True, slots=True)
class Tool:
    """A typed function that a worker may call."""

    name: str
    description: str
    arguments: type[Arguments] | ForeignSchema
    """What it takes: a type of ours, or what a server says, whose tool is given the JSON object."""
    effect: Effect
    run: Callable[[Any, ToolContext], Any] | None = None
    """Takes the checked arguments; returns text or a JSON value, or raises `ToolError`. None: the provider runs it.

    A coroutine function must not block. A plain function may: it runs in a thread, which goes on when the call is given
    up.
    """
    reads: Reach | None = None
    """What its calls bring in, if it is one of the things that plans must tell apart."""
    server: Mapping[str, Any] | None = None
    """How a provider-run tool is declared in the request."""
    timeout_s: float = 30
    output_limit: int = 20_000
    """Characters of output that the model sees."""
    package: str | None = None
    """The installed package that brings it, with its version; None for a tool of the service."""
    origin: Origin | None = None
    """The server that it comes from; None for a tool of this process."""

    @property
    def means(self) -> Means:
        """The tool as plans go by it."""
        return Means(self.effect, self.reads)

    @property
    def spec(self) -> ToolSpec:
        """The tool as it is offered to a model."""
        server = dict(self.server) if self.server is not None else None
        return ToolSpec(self.name, self.description, self.input_schema, server)

    @property
    def input_schema(self) -> dict[str, Any]:
        """JSON schema of what it takes."""
        taken = self.arguments
        return dict(taken.shown) if isinstance(taken, ForeignSchema) else _schema(taken)


@lru_cache(maxsize=256)
def _schema(arguments: type[Arguments]) -> dict[str, Any]:
    """The JSON schema of a tool's input; making one costs more than a model call does."""
    return arguments.model_json_schema()


@dataclass(frozen=True, slots=True)
class ToolAnswer:
    """What the model is shown: an output, or an error it can act on."""

    text: str
    omitted: int = 0
    """Characters left out of the middle of the output."""
    error_code: str | None = None


async def call(tools: Mapping[str, Tool], name: str, arguments: Any, context: ToolContext) -> ToolAnswer:
    """Run one call of one of `tools` (by name) and answer it, whatever happens."""
    try:
        tool = _named(tools, name)
        checked = _checked(tool, arguments)
        return await _answer_within_limits(tool, checked, context)
    except ToolError as error:
        text, omitted = shorten(clean_text(str(error)), 2_000)
        return ToolAnswer(text, omitted, error.code)


def _named(tools: Mapping[str, Tool], name: str) -> Tool:
    tool = tools.get(name)
    if tool is None or tool.run is None:
        offered = ", ".join(sorted(tools)) or "none"
        raise ToolInputInvalid(f"there is no tool {name!r}; your tools are: {offered}", "tool_call_invalid")
    return tool


def _checked(tool: Tool, arguments: Any) -> Arguments | dict[str, Any]:
    if excess := _excess_in(arguments):
        raise ToolInputInvalid(f"the input of {tool.name} has {excess}", "tool_call_invalid")
    if isinstance(tool.arguments, ForeignSchema):
        return _checked_by(tool.arguments, tool.name, arguments)
    try:
        return tool.arguments.model_validate(_with_whole_numbers(arguments))
    except ValidationError as error:
        problems = "; ".join(
            f"{'.'.join(str(part) for part in item['loc']) or 'input'}: {item['msg']}"
            for item in error.errors(include_url=False, include_input=False, include_context=False)
        )
        raise ToolInputInvalid(f"the input of {tool.name} is not valid: {problems}", "tool_call_invalid") from None


def _checked_by(schema: ForeignSchema, name: str, arguments: Any) -> dict[str, Any]:
    checked = _with_whole_numbers(arguments)
    problems = schema.problems(checked) if isinstance(checked, dict) else ["input: it must be an object"]
    if problems:
        raise ToolInputInvalid(f"the input of {name} is not valid: {'; '.join(problems)}", "tool_call_invalid")
    known: dict[str, Any] = checked
    return known


def _excess_in(arguments: Any) -> str | None:
    """What there is too much of in a JSON value to look at all of it. It looks no further than it must."""
    count, level = 1, [arguments]
    for _ in range(DEEPEST):
        inner: list[Any] = []
        for value in level:
            if isinstance(value, list | dict):
                count += len(value)
                if count > MOST_VALUES:
                    return f"more than {MOST_VALUES} values"
                inner.extend(value.values() if isinstance(value, dict) else value)
        if not inner:
            return None
        level = inner
    return f"more than {DEEPEST} levels"


def _with_whole_numbers(arguments: Any) -> Any:
    """2.0 is an integer to JSON Schema, and some models write it so; to a strict type it is none."""
    match arguments:
        case float() if arguments.is_integer() and abs(arguments) <= LARGEST_EXACT:
            return int(arguments)
        case dict():
            return {name: _with_whole_numbers(value) for name, value in arguments.items()}
        case list():
            return [_with_whole_numbers(value) for value in arguments]
        case _:
            return arguments


async def _answer_within_limits(tool: Tool, checked: Arguments | dict[str, Any], context: ToolContext) -> ToolAnswer:
    assert tool.run is not None
    deadline = asyncio.timeout(tool.timeout_s)
    try:
        async with deadline:
            if inspect.iscoroutinefunction(tool.run):
                output = tool.run(checked, context)
            else:
                output = await asyncio.to_thread(tool.run, checked, context)
            if inspect.isawaitable(output):
                output = await output
        return _shown(output, tool.output_limit)
    except (ToolError, GeneratorExit):
        raise
    except asyncio.CancelledError:
        if (task := asyncio.current_task()) and task.cancelling():
            raise
        # Nobody cancelled us: something the tool waited for was.
        raise ToolError(f"{tool.name} was interrupted from within", "tool_failed") from None
    except BaseException as error:  # A tool is foreign code: its faults are results, and what ends it ends nobody else.
        if deadline.expired():
            raise ToolError(f"{tool.name} did not finish within {tool.timeout_s:g} s", "tool_timeout") from None
        log.error("tool failed", tool=tool.name, error=type(error).__name__, where=place_of(error))
        raise ToolError(f"{tool.name} failed: {type(error).__name__}: {error}", "tool_failed") from None


def _looks_like_json(text: str) -> bool:
    """Whether a text begins and ends as JSON that somebody may want to parse."""
    ends = text[:100].lstrip()[:1] + text[-100:].rstrip()[-1:]
    return ends in ("{}", "[]")


def _shown(output: Any, limit: int) -> ToolAnswer:
    """`output` as text within `limit` characters, whatever it is."""
    if isinstance(output, str):
        shown, omitted = shorten(str.__str__(output), limit)
        if omitted and _looks_like_json(output):
            shown, omitted = shorten(str.__str__(output), limit - len(JSON_CUT))
            shown = JSON_CUT + shown
        return ToolAnswer(clean_text(shown) if shown.strip() else EMPTY, omitted)
    value = Shown(limit).value(output)
    if value is None or isinstance(value, str):
        return ToolAnswer(*shorten(value or EMPTY, limit))
    text = json.dumps(value, ensure_ascii=False)
    if len(text) <= limit:
        return ToolAnswer(text)
    shown, omitted = shorten(text, limit - len(JSON_CUT))
    return ToolAnswer(JSON_CUT + shown, omitted)
