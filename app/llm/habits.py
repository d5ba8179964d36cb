"""What a server does not take, learnt from its refusals, so that it is asked again without, and not refused next time.

Servers that speak the Messages API know different parts of it. A refused request costs nothing, so the client leaves
out what the refusal names, one thing at a time and each once, and remembers for the model what was answered in the end.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from app.domain.conversation import ToolSpec
from app.llm.model import Request
from app.llm.refusals import ProviderRefused
from app.llm.tool_names import on_the_wire, wire_name

FEWEST_TOKENS = 256
"""A cap below this is none: no reply fits it."""

Part = Literal["output_config", "cache_control", "tools of the provider", "stream"]
"""What a request may go without."""

_STATUSES = {200, 400, 404, 415, 422, 501}
_CAP = re.compile(
    r"max_?(?:completion_|output_)?tokens|max(?:imum)? (?:output |new |completion )?tokens", re.IGNORECASE
)
_ROOM = re.compile(r"\b\d{1,9} ?> ?(?P<window>\d{1,9}) ?- ?(?P<prompt>\d{1,9})\b")
_SUM = re.compile(r"\b(?P<prompt>\d{1,9}) ?\+ ?\d{1,9} ?> ?(?P<window>\d{1,9})\b")
_NUMBER = re.compile(r"(?<![\w.-])\d{1,9}(?![\w-]|\.\d)")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}\b)")
_FORMAT = re.compile(r"output_?(?:config|format)|json_schema|response_format|structured outputs?", re.IGNORECASE)
_TOOL = re.compile(r"\btools?\b", re.IGNORECASE)
_STREAM = re.compile(r"\bstream(?:ing|ed)?\b", re.IGNORECASE)

WITHOUT_TOOLS = (
    "These tools cannot be used here, whatever is said elsewhere: {names}. Do the task with what there is, and say in "
    "your report where that leaves something open. Never write as if you had used them."
)


@dataclass(frozen=True, slots=True)
class Habits:
    """How a server wants to be asked for one model."""

    most_tokens: int | None = None
    room: int | None = None
    """What this one prompt leaves for the reply; never remembered."""
    without: frozenset[Part] = frozenset()
    thinks_aloud: bool = False
    """Whether its texts begin with reasoning that no tag opens."""


def remedy(refused: ProviderRefused, body: dict[str, Any], habits: Habits) -> Habits | None:
    """Other habits under which the request may be taken; None when the refusal names nothing that can be changed."""
    if refused.status not in _STATUSES:
        return None
    text = _THOUSANDS.sub("", refused.text)
    if _CAP.search(text):
        asked: int = body["max_tokens"]
        if found := _ROOM.search(text) or _SUM.search(text):
            room = int(found["window"]) - int(found["prompt"])
            return replace(habits, room=room) if FEWEST_TOKENS <= room < asked else None
        if cap := _stated_cap(text, asked):
            return replace(habits, most_tokens=cap)
    for part in _named(text, body):
        if part not in habits.without:
            return replace(habits, without=habits.without | {part})
    return None


def _stated_cap(text: str, asked: int) -> int | None:
    """The output cap that a refusal states: the largest number below what was asked for."""
    stated = [int(found) for found in _NUMBER.findall(text)]
    return max((number for number in stated if FEWEST_TOKENS <= number < asked), default=None)


def _named(text: str, body: dict[str, Any]) -> list[Part]:
    """The parts of the request that the refusal may be about, the most certain first."""
    parts: list[Part] = []
    provided = [tool for tool in body.get("tools", ()) if "type" in tool]
    if "cache_control" in text:
        parts.append("cache_control")
    if "output_config" in body and _FORMAT.search(text):
        parts.append("output_config")
    if provided and (_TOOL.search(text) or any(tool["type"] in text or tool["name"] in text for tool in provided)):
        parts.append("tools of the provider")
    if body.get("stream") and _STREAM.search(text):
        parts.append("stream")
    return parts


def body_of(request: Request, model_id: str, habits: Habits) -> dict[str, Any]:
    """The request in the provider's terms. Equal requests have equal bytes, and what is stable comes first."""
    cached = {} if "cache_control" in habits.without else {"cache_control": {"type": "ephemeral"}}
    body: dict[str, Any] = {
        "model": model_id,
        "max_tokens": min(cap for cap in (request.max_tokens, habits.most_tokens, habits.room) if cap),
        "messages": _messages_of(request, cached),
    }
    tools, lacking = _tools_of(request.tools, habits)
    system = "\n\n".join(part for part in (request.system, lacking) if part)
    if system:
        body["system"] = [{"type": "text", "text": system, **cached}]
    if tools:
        body["tools"] = tools
    if request.output_schema is not None and "output_config" not in habits.without:
        body["output_config"] = {"format": {"type": "json_schema", "schema": request.output_schema}}
    return body | {"stream": "stream" not in habits.without}


def left_out(request: Request, habits: Habits) -> tuple[str, ...]:
    """What `request` goes without, in words for the trace."""
    lacks: list[str] = []
    if habits.most_tokens and habits.most_tokens < request.max_tokens:
        lacks.append(f"max_tokens above {habits.most_tokens}")
    if request.output_schema is not None and "output_config" in habits.without:
        lacks.append("output_config")
    if "tools of the provider" in habits.without:
        lacks += [f"tool {tool.name}" for tool in request.tools if tool.server is not None]
    return tuple(lacks)


def _messages_of(request: Request, cached: dict[str, Any]) -> list[dict[str, Any]]:
    """The conversation, with a cache breakpoint at the end of our last words once it goes to and fro.

    The model's own turns are never touched: they must come back as they were sent.
    """
    sent = [
        {"role": message.role, "content": on_the_wire(message.content, request.tools)} for message in request.messages
    ]
    if len(sent) > 1:
        ours: Any = next(message["content"] for message in reversed(sent) if message["role"] == "user")
        ours[-1] = {**ours[-1], **cached}
    return sent


def _tools_of(tools: Sequence[ToolSpec], habits: Habits) -> tuple[list[dict[str, Any]], str]:
    """The declarations of the tools, and what to tell the model of those that are missing."""
    lacking = [tool.name for tool in tools if tool.server and "tools of the provider" in habits.without]
    declared = [_tool_of(tool) for tool in tools if tool.name not in lacking]
    return declared, WITHOUT_TOOLS.format(names=", ".join(lacking)) if lacking else ""


def _tool_of(tool: ToolSpec) -> dict[str, Any]:
    if tool.server is not None:
        return tool.server
    # Not `strict`: it refuses schemas with limits and defaults, and the tool checks its arguments anyway.
    return {"name": wire_name(tool.name), "description": tool.description, "input_schema": tool.input_schema}
