"""What the real Messages API refuses with 400, checked by the stub so that a lenient server hides no bug of ours."""

from collections.abc import Iterator, Mapping
from typing import Any

_FIELDS = {
    "max_tokens", "messages", "model", "cache_control", "container", "diagnostics", "inference_geo", "metadata",
    "output_config", "service_tier", "speed", "stop_sequences", "stream", "system", "thinking", "tool_choice", "tools",
}  # fmt: skip
_SAMPLING = {"temperature", "top_p", "top_k"}
_UNSUPPORTED_IN_SCHEMAS = {
    "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength", "maxItems",
}  # fmt: skip
_CACHEABLE_BLOCKS = 4
_THOUGHTS = {"thinking", "redacted_thinking"}


def refusal_of(body: Any) -> str | None:
    """Why the API would refuse this request; None when it would not."""
    if not isinstance(body, dict):
        return "body: a JSON object is required"
    return next(_refusals(body), None)


def _refusals(body: dict[str, Any]) -> Iterator[str]:
    yield from _of_fields(body)
    yield from _of_messages(body["messages"])
    yield from _of_tools(body)
    if schema := (body.get("output_config") or {}).get("format", {}).get("schema"):
        yield from _of_schema(schema, "output_config.format.schema")
    if sum(1 for block in _blocks(body) if "cache_control" in block) > _CACHEABLE_BLOCKS:
        yield f"a maximum of {_CACHEABLE_BLOCKS} blocks with cache_control may be provided"


def _of_fields(body: dict[str, Any]) -> Iterator[str]:
    for name in ("model", "max_tokens", "messages"):
        if name not in body:
            yield f"{name}: Field required"
    for name in sorted(body.keys() & _SAMPLING):
        yield f"{name}: sampling parameters are not supported by this model"
    for name in sorted(body.keys() - _FIELDS - _SAMPLING):
        yield f"{name}: Extra inputs are not permitted"
    if not isinstance(body["max_tokens"], int) or body["max_tokens"] < 1:
        yield "max_tokens: must be greater than or equal to 1"
    if (body.get("tool_choice") or {}).get("type") in ("any", "tool"):
        yield "tool_choice: forced tool use is not supported by this model"
    if (body.get("thinking") or {}).get("type") == "enabled":
        yield "thinking.type: enabled is not supported by this model"


def _of_messages(messages: Any) -> Iterator[str]:
    if not messages:
        yield "messages: at least one message is required"
        return
    if messages[0]["role"] != "user":
        yield "messages.0: the first message must use the user role"
    for index, message in enumerate(messages):
        if message["role"] not in ("user", "assistant"):
            yield f"messages.{index}.role: unknown role"
        if not message["content"]:
            yield f"messages.{index}: messages must have non-empty content"
        yield from _of_blocks(_listed(message["content"]), f"messages.{index}")
        yield from _of_tool_results(messages, index)
    yield from _of_last_blocks(messages)
    last = _listed(messages[-1]["content"])
    if messages[-1]["role"] == "assistant" and not any(block["type"] == "server_tool_use" for block in last):
        yield "This model does not support assistant message prefill. The conversation must end with a user message."


def _of_blocks(blocks: list[dict[str, Any]], at: str) -> Iterator[str]:
    for index, block in enumerate(blocks):
        if block["type"] == "text" and not block["text"].strip():
            yield f"{at}.content.{index}: text content blocks must contain non-whitespace text"
        if block["type"] == "thinking" and "cache_control" in block:
            yield f"{at}.content.{index}: thinking blocks cannot have cache_control"
        if block["type"] == "tool_use" and not isinstance(block.get("input"), dict):
            yield f"{at}.content.{index}.input: Input should be a valid dictionary"


def _of_last_blocks(messages: Any) -> Iterator[str]:
    for index, message in enumerate(messages):
        if message["role"] == "assistant" and _listed(message["content"])[-1]["type"] in _THOUGHTS:
            yield f"messages.{index}: the final block in an assistant message cannot be `thinking`"


def _of_tool_results(messages: list[dict[str, Any]], index: int) -> Iterator[str]:
    """Every call is answered in the very next message, and every answer has its call."""
    message = messages[index]
    if message["role"] == "assistant":
        following = messages[index + 1]["content"] if index + 1 < len(messages) else []
        for lost in _ids(message["content"], "tool_use", "id") - _ids(following, "tool_result", "tool_use_id"):
            yield f"messages.{index}: `tool_use` ids were found without `tool_result` blocks immediately after: {lost}"
        return
    asked = _ids(messages[index - 1]["content"], "tool_use", "id") if index else set()
    for orphan in _ids(message["content"], "tool_result", "tool_use_id") - asked:
        yield f"messages.{index}: unexpected `tool_use_id` found in `tool_result` blocks: {orphan}"
    kinds = [block["type"] == "tool_result" for block in _listed(message["content"])]
    if kinds != sorted(kinds, reverse=True):
        yield f"messages.{index}: tool_result blocks must come first"


def _of_tools(body: dict[str, Any]) -> Iterator[str]:
    names = [tool.get("name") for tool in body.get("tools") or ()]
    if len(names) != len(set(names)):
        yield "tools: Tool names must be unique."
    for index, tool in enumerate(body.get("tools") or ()):
        if "type" not in tool and tool.get("input_schema", {}).get("type") != "object":
            yield f"tools.{index}.input_schema.type: must be object"
        if tool.get("strict"):
            yield from _of_schema(tool["input_schema"], f"tools.{index}.input_schema")


def _of_schema(schema: Mapping[str, Any], at: str) -> Iterator[str]:
    if schema.get("type") == "object" and schema.get("additionalProperties") is not False:
        yield f"{at}: For 'object' type, 'additionalProperties' must be explicitly set to false"
    for keyword in sorted(schema.keys() & _UNSUPPORTED_IN_SCHEMAS):
        yield f"{at}: property '{keyword}' is not supported"
    if schema.get("minItems", 0) > 1:
        yield f"{at}: 'minItems' values other than 0 or 1 are not supported"
    for group in ("properties", "$defs"):
        for name, part in schema.get(group, {}).items():
            yield from _of_schema(part, f"{at}.{name}")
    if isinstance(schema.get("items"), dict):
        yield from _of_schema(schema["items"], f"{at}.items")
    for part in schema.get("anyOf", ()):
        yield from _of_schema(part, f"{at}.anyOf")


def _listed(content: Any) -> list[dict[str, Any]]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content)


def _ids(content: Any, kind: str, key: str) -> set[str]:
    return {block[key] for block in _listed(content) if block["type"] == kind}


def _blocks(body: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield from _listed(body.get("system") or [])
    yield from body.get("tools") or ()
    for message in body["messages"]:
        yield from _listed(message["content"])
