"""What went to and fro in a span, in the words of OpenTelemetry's GenAI conventions, for whoever asks for it.

It comes from the log, in which nothing looks like a credential any more. Each text is shortened, and of a long
conversation the middle is left out: collectors refuse what is too large, and with it all that is sent beside it.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from app.domain.contents import Content
from app.domain.conversation import Block
from app.domain.otlp import Attribute
from app.domain.span_values import Span
from app.domain.text import shorten

TEXT_CHARACTERS = 4_000
"""What is shown of each text."""
MESSAGES_CHARACTERS = 40_000
"""What is shown of all messages of a request, as JSON."""
_JSON = "application/json"
_TEXT = "text/plain"

_Part = dict[str, Any]


def content_of(span: Span, content: Content | None) -> Mapping[str, Attribute]:
    """Attributes with the content of a span; that of a model call is given beside it."""
    told = span["attributes"]
    shown: dict[str, Attribute] = {}
    if told.get("error_message"):
        shown["chargehand.error_message"] = _short(told["error_message"])
    match span["kind"]:
        case "llm" if content is not None:
            shown |= _of_call(content, told.get("stop_reason"))
        case "tool":
            shown |= _of_tool(told)
        case "task" | "attempt":
            shown["chargehand.title"] = _short(span["name"])
    return shown


def _of_tool(told: Mapping[str, Any]) -> dict[str, Attribute]:
    given, brought = _short(_json(told.get("input"))), told.get("output")
    shown: dict[str, Attribute] = {
        "gen_ai.tool.call.arguments": given,
        "input.value": given,
        "input.mime_type": _JSON,
    }
    if brought is not None:
        shown |= {"gen_ai.tool.call.result": _short(brought), "output.value": _short(brought)}
        shown["output.mime_type"] = _TEXT
    return shown


def _of_call(content: Content, stop_reason: str | None) -> dict[str, Attribute]:
    request, reply = content["request"], content["reply"]
    sent = _within_room([_message(each["role"], each["content"]) for each in request["messages"]])
    shown: dict[str, Attribute] = {
        "gen_ai.input.messages": sent,
        "input.value": sent,
        "input.mime_type": _JSON,
    }
    if request["system"]:
        shown["gen_ai.system_instructions"] = _json([{"type": "text", "content": _short(request["system"])}])
    if reply is not None:
        said = _json([_message("assistant", reply) | {"finish_reason": stop_reason}])
        shown |= {"gen_ai.output.messages": said, "output.value": said, "output.mime_type": _JSON}
    return shown


def _within_room(messages: Sequence[_Part]) -> str:
    """The messages as JSON: the first, and as many of the last as there is room for."""
    first, rest = [_json(each) for each in messages[:1]], [_json(each) for each in messages[1:]]
    room, kept = MESSAGES_CHARACTERS - sum(map(len, first)), list[str]()
    for text in reversed(rest):
        room -= len(text)
        if room < 0:
            break
        kept.insert(0, text)
    left_out = len(rest) - len(kept)
    if left_out:
        notice = {"type": "text", "text": f"[… {left_out} messages omitted …]"}
        kept.insert(0, _json(_message("user", [notice])))
    return f"[{','.join([*first, *kept])}]"


def _message(role: str, blocks: Iterable[Block]) -> _Part:
    return {"role": role, "parts": [_part(block) for block in blocks]}


def _part(block: Block) -> _Part:
    """A content block of the Messages API as the conventions have it."""
    match block.get("type"):
        case "text":
            return {"type": "text", "content": _short(str(block.get("text", "")))}
        case "thinking":
            return {"type": "reasoning", "content": _short(str(block.get("thinking", "")))}
        case "tool_use" | "server_tool_use":
            arguments = _json(block.get("input"))
            shown = block.get("input") if len(arguments) <= TEXT_CHARACTERS else _short(arguments)
            return {"type": "tool_call", "id": block.get("id"), "name": block.get("name"), "arguments": shown}
        case kind if kind is not None and str(kind).endswith("tool_result"):
            brought = block.get("content")
            text = brought if isinstance(brought, str) else _json(brought)
            return {"type": "tool_call_response", "id": block.get("tool_use_id"), "response": _short(text)}
        case kind:
            return {"type": str(kind), "content": _short(_json(block))}


def _short(text: str) -> str:
    return shorten(text, TEXT_CHARACTERS)[0]


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)
