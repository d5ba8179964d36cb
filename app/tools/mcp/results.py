"""What a call of a server's tool brought, as something that can be shown to a model."""

import asyncio
import json
from collections.abc import Collection, Mapping
from typing import Any

from app.domain.errors import ToolError
from app.domain.text import clean_text, shorten
from app.tools.mcp.listing import ListedTool
from app.tools.mcp.masking import masked

ERROR_CHARACTERS = 2_000


async def shown_result(tool: ListedTool, result: Mapping[str, Any], *, limit: int, secrets: Collection[str]) -> Any:
    """Text or a JSON value. Raises `ToolError` for an error of the tool's, or a result that breaks its own schema."""
    blocks = [block for block in result.get("content") or () if isinstance(block, Mapping)]
    structured = result.get("structuredContent")
    if result.get("isError"):
        said = "\n\n".join(map(_described, blocks)) or json.dumps(structured, ensure_ascii=False)
        raise ToolError(shorten(masked(said, secrets), ERROR_CHARACTERS)[0], "tool_failed")
    if tool.output is not None:
        _check(tool, structured)
    if structured is not None:
        others = [_described(block) for block in blocks if block.get("type") != "text"]
        return masked([structured, *others] if others else structured, secrets)
    text = masked("\n\n".join(map(_described, blocks)), secrets)
    if len(text) > limit and text.lstrip()[:1] in ("{", "["):
        return await asyncio.to_thread(_json_or_text, text)
    return text


def _check(tool: ListedTool, structured: object) -> None:
    assert tool.output is not None
    problems = ["there is none"] if structured is None else tool.output.problems(structured)
    if problems:
        said = "; ".join(problems)
        raise ToolError(f"the result does not fit the schema that the server itself declares: {said}", "tool_failed")


def _json_or_text(text: str) -> Any:
    """The JSON value that a long text is, so that it is told when it is cut."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _described(block: Mapping[str, Any]) -> str:
    """A block of content as text."""
    match block.get("type"):
        case "text":
            return clean_text(str(block.get("text", "")))
        case "image" | "audio" as kind:
            return f"({kind}, {_kind_of(block)}, {_size(block.get('data'))}, which cannot be shown)"
        case "resource_link":
            return f"(a link to a resource: {_short(block.get('uri'))}, {_kind_of(block)})"
        case "resource":
            return _resource(block.get("resource"))
        case kind:
            return f"(content of the type {_short(kind)}, which cannot be shown)"


def _resource(resource: object) -> str:
    if not isinstance(resource, Mapping):
        return "(a resource, which cannot be shown)"
    head = f"(a resource: {_short(resource.get('uri'))}, {_kind_of(resource)}"
    if isinstance(resource.get("text"), str):
        return f"{head})\n{clean_text(resource['text'])}"
    return f"{head}, {_size(resource.get('blob'))}, which cannot be shown)"


def _kind_of(block: Mapping[str, Any]) -> str:
    return _short(block.get("mimeType") or "of no known type")


def _size(encoded: object) -> str:
    """The size of what is written as base64."""
    return f"{len(encoded) * 3 // 4:,} bytes" if isinstance(encoded, str) else "of no known size"


def _short(said: object) -> str:
    return shorten(clean_text(str(said)), 200)[0]
