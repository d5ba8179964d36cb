"""A reply in the making: the events of a stream, put together into content blocks.

State hangs on the `index` of an event, since not every server closes a block before it opens the next. Texts are
cleaned when they are whole: a character may arrive in two halves.
"""

import json
from collections import defaultdict
from typing import Any

from app.domain.conversation import Block
from app.domain.text import clean, clean_text

_FIELDS = {
    "text_delta": ("text", "text"),
    "thinking_delta": ("thinking", "thinking"),
    "signature_delta": ("signature", "signature"),
    "input_json_delta": ("partial_json", "input"),
}
"""By type of a delta: the field that carries the piece, and the field of the block that it adds to."""

_MALFORMED = (KeyError, TypeError, AttributeError, ValueError, RecursionError)

UNREADABLE_INPUT = "INVALID_JSON"
"""The one field of a tool call's input that was cut or malformed: no tool takes it, and the model can see why."""


class MalformedReply(Exception):
    """The provider sent something that is not a reply of the Messages API."""


class Draft:
    """What has arrived of one reply. Its methods raise `MalformedReply`."""

    def __init__(self) -> None:
        self.model: str | None = None
        self.stop_reason: str | None = None
        self.counts: dict[str, Any] = {}
        """The provider's own usage; empty until it has said anything."""
        self.characters = 0
        """How much the model has written, thinking and tool inputs included."""
        self._blocks: dict[int, Block] = {}
        self._pieces: defaultdict[tuple[int, str], list[str]] = defaultdict(list)

    def take_message(self, message: dict[str, Any]) -> None:
        """Take a whole reply."""
        try:
            self._start(message)
            self._blocks = dict(enumerate(message["content"]))
            self.stop_reason = message["stop_reason"]
        except _MALFORMED as error:
            raise MalformedReply(_fault(error)) from error

    def take_event(self, event: dict[str, Any]) -> str:
        """Take one event of a stream and return the visible text that it adds; unknown events are passed over."""
        try:
            return self._take(event)
        except _MALFORMED as error:
            raise MalformedReply(_fault(error)) from error

    def content(self) -> list[Block]:
        """The finished blocks, as the provider would have sent them in one piece, without empty texts.

        An empty text says nothing, and providers refuse to take it back. To be called once, at the end.
        """
        try:
            self._fill_in()
            ordered = [self._blocks[index] for index in sorted(self._blocks)]
            return [clean(block) for block in ordered if block["type"] != "text" or block["text"]]
        except _MALFORMED as error:
            raise MalformedReply(_fault(error)) from error

    def _take(self, event: dict[str, Any]) -> str:
        match event["type"]:
            case "content_block_delta":
                return self._extend(event["index"], event["delta"])
            case "content_block_start":
                self._blocks[event["index"]] = event["content_block"]
            case "message_start":
                self._start(event["message"])
            case "message_delta":
                self.stop_reason = event["delta"].get("stop_reason") or self.stop_reason
                self._count(event.get("usage"))
        return ""

    def _fill_in(self) -> None:
        for (index, field), pieces in self._pieces.items():
            block, joined = self._blocks[index], "".join(pieces)
            block[field] = _input_of(joined, block) if field == "input" else block.get(field, "") + joined
        for block in self._blocks.values():
            if block["type"] == "tool_use":
                _check_call(block)

    def _start(self, message: dict[str, Any]) -> None:
        self.model = message.get("model")
        self._count(message.get("usage"))

    def _count(self, usage: dict[str, Any] | None) -> None:
        """Later counts replace earlier ones; a zero never does, since some servers send it for "see elsewhere"."""
        for name, count in (usage or {}).items():
            if isinstance(count, int | dict) and (count or name not in self.counts):
                self.counts[name] = count

    def _extend(self, index: int, delta: dict[str, Any]) -> str:
        if delta["type"] == "citations_delta":
            block = self._blocks[index]
            block["citations"] = [*(block.get("citations") or ()), delta["citation"]]
            return ""
        if delta["type"] not in _FIELDS:
            return ""
        source, target = _FIELDS[delta["type"]]
        piece: str = delta[source]
        self._pieces[index, target].append(piece)
        self.characters += len(piece)
        return clean_text(piece) if target == "text" else ""


def _input_of(written: str, block: Block) -> Any:
    """The input of a tool call from the JSON that was streamed for it."""
    if not written:
        return block.get("input", {})
    try:
        return json.loads(written)
    except ValueError:
        return {UNREADABLE_INPUT: written}


def _check_call(block: Block) -> None:
    """Make sure that a tool call can be carried out, answered and sent back: it has an id, a name and an object."""
    if not (isinstance(block["id"], str) and isinstance(block["name"], str)):
        raise TypeError("a tool call without id or name")
    given = block.setdefault("input", {})
    if not isinstance(given, dict):
        block["input"] = {UNREADABLE_INPUT: json.dumps(given)}


def _fault(error: Exception) -> str:
    return f"The reply does not have the expected form: {type(error).__name__}."
