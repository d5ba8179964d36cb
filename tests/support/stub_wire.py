"""Answers as the bytes of the Messages API: one JSON body, or server-sent events."""

import json
from collections.abc import Iterator
from typing import Any

from tests.support.stub_answers import Answer, Block

_STATUS_OF_ERRORS = {
    "invalid_request_error": 400, "authentication_error": 401, "billing_error": 402, "permission_error": 403,
    "not_found_error": 404, "request_too_large": 413, "rate_limit_error": 429, "api_error": 500,
    "timeout_error": 504, "overloaded_error": 529,
}  # fmt: skip
_CHARACTERS_PER_TOKEN = 4


def status_of(kind: str) -> int:
    """The HTTP status that an error of this type has outside a stream."""
    return _STATUS_OF_ERRORS.get(kind, 500)


def error_body(error: Any, request_id: str) -> dict[str, Any]:
    """The body of an error response or of an error event."""
    return {"type": "error", "error": dict(error), "request_id": request_id}


def message(answer: Answer, body: dict[str, Any], number: int) -> dict[str, Any]:
    """The answer as a whole message."""
    return {
        "id": f"msg_{number:06}",
        "type": "message",
        "role": "assistant",
        "model": answer.model or body["model"],
        "content": list(answer.content),
        "stop_reason": answer.stop_reason,
        "stop_sequence": None,
        "usage": dict(answer.usage) if answer.usage is not None else _reckoned(answer, body),
    }


def events(answer: Answer, body: dict[str, Any], number: int, request_id: str) -> Iterator[bytes]:
    """The answer as server-sent events, one item each."""
    whole = message(answer, body, number)
    usage = whole["usage"]
    started = dict(answer.start_usage) if answer.start_usage is not None else {**usage, "output_tokens": 1}
    yield _event({"type": "message_start", "message": {**whole, "content": [], "stop_reason": None, "usage": started}})
    for index, block in enumerate(answer.content):
        cut_json = answer.partial_json if index == len(answer.content) - 1 else None
        yield from _block_events(index, block, answer.pieces, cut_json)
    if answer.error is not None:
        yield _event(error_body(answer.error, request_id))
        return
    delta = {"stop_reason": answer.stop_reason, "stop_sequence": None}
    yield _event({"type": "message_delta", "delta": delta, "usage": usage})
    yield _event({"type": "message_stop"})


def _block_events(index: int, block: Block, pieces: int, cut_json: str | None) -> Iterator[bytes]:
    start, deltas = _taken_apart(block, pieces, cut_json)
    yield _event({"type": "content_block_start", "index": index, "content_block": start})
    if index == 0:
        yield _event({"type": "ping"})
    for delta in deltas:
        yield _event({"type": "content_block_delta", "index": index, "delta": delta})
    if cut_json is None:
        yield _event({"type": "content_block_stop", "index": index})


def _taken_apart(block: Block, pieces: int, cut_json: str | None) -> tuple[Block, list[Block]]:
    """How a block opens in a stream, and the deltas that complete it."""
    match block["type"]:
        case "text":
            start = {**block, "text": ""}
            if citations := block.get("citations"):
                start["citations"] = []
            deltas = [{"type": "text_delta", "text": piece} for piece in _pieces(block["text"], pieces)]
            return start, [*deltas, *({"type": "citations_delta", "citation": one} for one in citations or ())]
        case "thinking":
            deltas = [{"type": "thinking_delta", "thinking": piece} for piece in _pieces(block["thinking"], pieces)]
            deltas.append({"type": "signature_delta", "signature": block["signature"]})
            return {**block, "thinking": "", "signature": ""}, deltas
        case "tool_use" | "server_tool_use":
            written = json.dumps(block["input"]) if cut_json is None else cut_json
            deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in ("", *_pieces(written, pieces))]
            return {**block, "input": {}}, deltas
        case _:
            return block, []


def _pieces(written: str, pieces: int) -> list[str]:
    size = max(-(-len(written) // pieces), 1)
    return [written[at : at + size] for at in range(0, len(written), size)]


def _event(payload: dict[str, Any]) -> bytes:
    return f"event: {payload['type']}\ndata: {json.dumps(payload)}\n\n".encode()


def _reckoned(answer: Answer, body: dict[str, Any]) -> dict[str, Any]:
    written = len(json.dumps(list(answer.content)))
    return {
        "input_tokens": max(len(json.dumps(body["messages"])) // _CHARACTERS_PER_TOKEN, 1),
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0,
        "output_tokens": max(written // _CHARACTERS_PER_TOKEN, 1),
    }
