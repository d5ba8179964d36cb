"""What the stub provider can answer: replies, refusals and faults, as values that also travel as JSON."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

Block = dict[str, Any]

_ids = count(1)


@dataclass(frozen=True, slots=True)
class Answer:
    """One scripted answer. The fields after `headers` make it late, broken or both."""

    content: Sequence[Block] = ()
    stop_reason: str | None = "end_turn"
    usage: Mapping[str, Any] | None = None
    """Replaces the usage that the stub reckons from the sizes of request and answer."""
    start_usage: Mapping[str, Any] | None = None
    """Replaces the usage in `message_start` of a stream."""
    model: str | None = None
    status: int = 200
    error: Mapping[str, Any] | None = None
    """The error body: sent with `status`, or as an error event when the status is 200."""
    headers: Mapping[str, str] = field(default_factory=dict)
    delay_s: float = 0
    latch: str | None = None
    """Held back, after the request was logged, until `release` is called with this name."""
    stall_after_events: int | None = None
    """A stream goes silent after so many events, until its latch is released."""
    pieces: int = 3
    """Deltas that each text is streamed in."""
    partial_json: str | None = None
    """Characters to stream as the input of the last tool call: JSON cut in the middle."""
    cut_after_bytes: int | None = None
    cut_after_events: int | None = None
    cut_cleanly: bool = False
    """Whether a cut body ends like a complete one, or its connection is torn down."""
    reset: bool = False
    """Reset the connection instead of answering."""
    streams: bool | None = None
    """Whether the answer is a stream, whatever was asked for; None does as asked."""
    raw_stream: str | None = None
    """Bytes of the stream, verbatim, for the habits of other servers."""
    raw_body: str | None = None
    """Body of the response, verbatim."""


def text(written: str, **more: Any) -> Answer:
    """A reply of one text block."""
    return Answer(content=({"type": "text", "text": written},), **more)


def as_json(value: Any, **more: Any) -> Answer:
    """A reply whose text is `value` as JSON."""
    return text(json.dumps(value, ensure_ascii=False), **more)


def call(name: str, arguments: Mapping[str, Any] | None = None, *, call_id: str | None = None) -> Block:
    """A tool call, for `tool_calls`."""
    return {
        "type": "tool_use",
        "id": call_id or f"toolu_{next(_ids):06}",
        "name": name,
        "input": dict(arguments or {}),
    }


def tool_calls(*calls: Block, before: str = "", **more: Any) -> Answer:
    """A reply that asks for tools, with some text before them."""
    lead = ({"type": "text", "text": before},) if before else ()
    return Answer(content=(*lead, *calls), **{"stop_reason": "tool_use", **more})


def thinking(thought: str, signature: str = "c2lnbmF0dXJl") -> Block:
    """A thinking block."""
    return {"type": "thinking", "thinking": thought, "signature": signature}


def truncated(written: str, **more: Any) -> Answer:
    """A reply cut at the output cap."""
    return text(written, stop_reason="max_tokens", **more)


def truncated_call(name: str, partial_json: str, **more: Any) -> Answer:
    """A reply cut at the output cap in the middle of a tool call's input."""
    return tool_calls(call(name), stop_reason="max_tokens", partial_json=partial_json, **more)


def refusal(**more: Any) -> Answer:
    """The model declines."""
    return Answer(**{"stop_reason": "refusal", **more})


def paused(*blocks: Block, **more: Any) -> Answer:
    """A turn that the provider pauses in the middle of its own tool loop."""
    search = {
        "type": "server_tool_use",
        "id": f"srvtoolu_{next(_ids):06}",
        "name": "web_search",
        "input": {"query": "q"},
    }
    return Answer(content=blocks or (search,), **{"stop_reason": "pause_turn", **more})


def fault(status: int, kind: str, message: str, **more: Any) -> Answer:
    """An HTTP error with the provider's error body."""
    return Answer(status=status, error={"type": kind, "message": message}, **more)


def rate_limited(retry_after: str | None = None, **more: Any) -> Answer:
    """429, with a Retry-After header when one is given."""
    headers = {"retry-after": retry_after} if retry_after is not None else {}
    return fault(429, "rate_limit_error", "This request would exceed your rate limit.", **{"headers": headers, **more})


def overloaded(**more: Any) -> Answer:
    """529."""
    return fault(529, "overloaded_error", "Overloaded", **more)


def server_error(**more: Any) -> Answer:
    """500."""
    return fault(500, "api_error", "Internal server error", **more)


def prompt_too_long(**more: Any) -> Answer:
    """400: the prompt is larger than the context window."""
    message = "prompt is too long: 210000 tokens > 200000 maximum"
    return fault(400, "invalid_request_error", message, **more)


def low_credit(**more: Any) -> Answer:
    """400 whose only sign of an unpaid account is its text."""
    message = "Your credit balance is too low to access the API. Please go to Plans & Billing to purchase credits."
    return fault(400, "invalid_request_error", message, **more)


def unauthorized(**more: Any) -> Answer:
    """401."""
    return fault(401, "authentication_error", "invalid authentication", **more)


def request_too_large(**more: Any) -> Answer:
    """413."""
    return fault(413, "request_too_large", "Request exceeds the maximum size", **more)


def error_event(kind: str, *, after: str = "", message: str = "Overloaded", **more: Any) -> Answer:
    """An error inside a 200 stream, after some text. Without a stream it is the error's own HTTP status."""
    content = ({"type": "text", "text": after},) if after else ()
    return Answer(content=content, error={"type": kind, "message": message}, **more)


def cut(answer: Answer, *, events: int | None = None, after_bytes: int | None = None, cleanly: bool = False) -> Answer:
    """`answer`, broken off after so many events of a stream or bytes of the body."""
    return replace(answer, cut_after_events=events, cut_after_bytes=after_bytes, cut_cleanly=cleanly)


def reset() -> Answer:
    """The connection is reset before any answer."""
    return Answer(reset=True)


def held(answer: Answer, latch: str = "held") -> Answer:
    """`answer`, held back until the latch is released."""
    return replace(answer, latch=latch)


def delayed(answer: Answer, seconds: float) -> Answer:
    """`answer`, that much later."""
    return replace(answer, delay_s=seconds)


def smallest(schema: Mapping[str, Any], root: Mapping[str, Any] | None = None) -> Any:
    """The smallest value that fits a JSON schema: what the stub says when nothing was scripted."""
    root = root or schema
    if "$ref" in schema:
        return smallest(root["$defs"][schema["$ref"].rsplit("/", 1)[-1]], root)
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return schema["enum"][0]
    for choice in ("anyOf", "oneOf", "allOf"):
        if choice in schema:
            return smallest(schema[choice][0], root)
    kind = schema.get("type", "object")
    match kind[0] if isinstance(kind, list) else kind:
        case "object":
            properties = schema.get("properties", {})
            return {name: smallest(properties[name], root) for name in schema.get("required", ())}
        case "array":
            return [smallest(schema["items"], root) for _ in range(schema.get("minItems", 0))]
        case "string":
            return "text"
        case "boolean":
            return False
        case "null":
            return None
        case _:
            return schema.get("minimum", 0)
