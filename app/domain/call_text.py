"""Tool calls that a model, or the server that should have parsed them, wrote as text: they are no result."""

import json
import re
from collections.abc import Collection
from typing import Any

LONGEST_CALL = 20_000
"""Characters of a text that is looked at as one call in JSON."""

_MARKUP = re.compile(
    r"^[ \t]*(?:```\w*\n)?(?:<(?:antml:)?(?:invoke|tool_calls?|function_calls?|tool_use|tool_code)\b[^<>\n]{0,200}>"
    r"|<function=|\[TOOL_CALLS\]|<[|\uff5c]tool)",
    re.MULTILINE,
)
"""The opening of a call at the start of a line, in the forms that models are trained on."""
_ENDINGS = (">", "]", "}", "```")
_NAME_FIELDS = ("name", "tool", "tool_name", "function", "action")
_FIELDS = {*_NAME_FIELDS, "id", "type", "arguments", "parameters", "input", "args", "action_input", "tool_calls"}


def is_call_text(text: str, tools: Collection[str]) -> bool:
    """Whether `text` is, or ends in, a call in a usual spelling: markup, or JSON that names one of `tools`."""
    text = text.strip()
    if text.startswith(("{", "[")) and not text.startswith("[TOOL_CALLS]"):
        return len(text) <= LONGEST_CALL and _is_call(_value(text), tools)
    return text.endswith(_ENDINGS) and _MARKUP.search(text) is not None


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _is_call(value: Any, tools: Collection[str]) -> bool:
    if isinstance(value, list):
        return bool(value) and all(_is_call(item, tools) for item in value)
    if not isinstance(value, dict) or not value.keys() <= _FIELDS:
        return False
    if "tool_calls" in value:
        return _is_call(value["tool_calls"], tools)
    named = next((value[field] for field in _NAME_FIELDS if field in value), None)
    return _is_call(named, tools) if isinstance(named, dict) else isinstance(named, str) and named in tools
