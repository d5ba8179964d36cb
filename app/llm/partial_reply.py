"""A reply in the making: what a server sent, put together into content blocks of the types that the rest rests on.

State hangs on the `index` of an event, since not every server closes a block before it opens the next. Texts are
cleaned when they are whole: a character may arrive in two halves. This is the one border at which everything of a
reply gets its type, is cleaned and is bounded; behind it nobody looks again.
"""

import json
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from app.domain.conversation import Block
from app.domain.quoting import CHARACTERS_PER_TOKEN
from app.domain.text import clean, clean_text
from app.llm.counts import Counts
from app.llm.wire import MalformedReply, TooLarge, check_document

LARGEST_CONTENT = 4 * 1024 * 1024
"""Characters of a reply, thinking and tool inputs included."""
MOST_BLOCKS = 500
MOST_CALLS = 64
MOST_VALUES = 20_000
"""Values in all blocks together, keys included: each is looked at when it is cleaned, stored and sent back."""
NAME_CHARACTERS = 200
"""Of ids, names, stop reasons: longer ones are none."""

_FIELDS = {
    "text_delta": ("text", "text"),
    "thinking_delta": ("thinking", "thinking"),
    "signature_delta": ("signature", "signature"),
    "input_json_delta": ("partial_json", "input"),
}
"""By type of a delta: the field that carries the piece, and the field of the block that it adds to."""
_TEXTS = {"text": ("text",), "thinking": ("thinking", "signature")}
"""Fields that are texts, by type of a block."""
_NAMES = {"tool_use": ("id", "name"), "server_tool_use": ("id", "name"), "mcp_tool_use": ("id", "name")}
"""Fields that others look for and find blocks by."""

_MALFORMED = (KeyError, TypeError, AttributeError, ValueError, RecursionError)

UNREADABLE_INPUT = "INVALID_JSON"
"""The one field of a tool call's input that was cut or malformed: no tool takes it, and the model can see why."""


class PartialReply:
    """What has arrived of one reply. Its methods raise `MalformedReply` and `TooLarge`."""

    def __init__(self) -> None:
        self.model: str | None = None
        self.stop_reason: str | None = None
        self.ended = False
        """Whether the provider has said that nothing more follows."""
        self.counts = Counts()
        self.characters = 0
        """How much the model has written, thinking and tool inputs included."""
        self._blocks: dict[int, Block] = {}
        self._opened = 0
        self._calls = 0
        self._pieces: defaultdict[tuple[int, str], list[str]] = defaultdict(list)

    @property
    def tokens(self) -> int:
        """About how many tokens that must have been."""
        return -(-self.characters // CHARACTERS_PER_TOKEN)

    def take_message(self, message: dict[str, Any]) -> None:
        """Take a whole reply."""
        try:
            self._start(message)
            for index, block in enumerate(message["content"]):
                self._open(index, block)
                self._grow(len(json.dumps(block.get("input") or block.get("text") or block.get("thinking") or "")))
            self._stop(message["stop_reason"])
            self.ended = True
        except _MALFORMED as error:
            raise MalformedReply(_fault(error)) from error

    def take_event(self, event: dict[str, Any]) -> str:
        """Take one event of a stream and return the visible text that it adds, not cleaned; others add nothing."""
        try:
            return self._take(event)
        except _MALFORMED as error:
            raise MalformedReply(_fault(error)) from error

    def content(self) -> list[Block]:
        """The finished blocks, as the provider would have sent them in one piece, without blank texts.

        A blank text says nothing, and providers refuse to take it back. To be called once, at the end.
        """
        try:
            self._fill_in()
            blocks = [self._blocks[index] for index in sorted(self._blocks)]
            _count_values(blocks)
            checked = [_checked(clean(block)) for block in blocks]
        except _MALFORMED as error:
            raise MalformedReply(_fault(error)) from error
        ids = [block["id"] for block in checked if block["type"] == "tool_use"]
        if len(ids) != len(set(ids)):
            raise MalformedReply("The reply has two tool calls of one id.")
        return [block for block in checked if block["type"] != "text" or block["text"].strip()]

    def _take(self, event: dict[str, Any]) -> str:
        match event["type"]:
            case "content_block_delta":
                return self._extend(event["index"], event["delta"])
            case "content_block_start":
                self._open(event["index"], event["content_block"])
            case "message_start":
                self._start(event["message"], early=True)
            case "message_delta":
                self._stop(event["delta"].get("stop_reason") or self.stop_reason)
                self.counts.take(event.get("usage"))
            case "message_stop":
                self.ended = True
        return ""

    def _start(self, message: dict[str, Any], *, early: bool = False) -> None:
        self.model = _name(message["model"]) if isinstance(message.get("model"), str) else None
        self.counts.take(message.get("usage"), early=early)

    def _stop(self, reason: Any) -> None:
        self.stop_reason = None if reason is None else _name(reason)

    def _open(self, index: int, block: Block) -> None:
        self._opened += 1
        self._calls += block["type"] == "tool_use"
        if self._opened > MOST_BLOCKS or self._calls > MOST_CALLS:
            raise TooLarge(f"The reply has more than {MOST_CALLS} tool calls or {MOST_BLOCKS} blocks.")
        self._blocks[index] = block

    def _grow(self, characters: int) -> None:
        self.characters += characters
        if self.characters > LARGEST_CONTENT:
            raise TooLarge(f"The reply has more than {LARGEST_CONTENT} characters.")

    def _extend(self, index: int, delta: dict[str, Any]) -> str:
        if delta["type"] == "citations_delta":
            block = self._blocks[index]
            if not block.get("citations"):
                block["citations"] = []
            block["citations"].append(delta["citation"])
            return ""
        if delta["type"] not in _FIELDS:
            return ""
        source, target = _FIELDS[delta["type"]]
        piece: str = delta[source]
        self._pieces[index, target].append(piece)
        self._grow(len(piece))
        return piece if target == "text" else ""

    def _fill_in(self) -> None:
        for (index, field), pieces in self._pieces.items():
            block, joined = self._blocks[index], "".join(pieces)
            block[field] = _input_of(joined, block) if field == "input" else (block.get(field) or "") + joined


def _input_of(written: str, block: Block) -> Any:
    """The input of a tool call from the JSON that was streamed for it."""
    if not written:
        return block.get("input", {})
    check_document(written)
    try:
        return json.loads(written)
    except ValueError:
        return {UNREADABLE_INPUT: written}


def _count_values(blocks: list[Block]) -> None:
    """Make sure that there are not too many values, without a look at more than the bound."""
    count, waiting = 0, list[Iterable[Any]]([blocks])
    while waiting:
        for value in waiting.pop():
            count += 1
            if count > MOST_VALUES:
                raise TooLarge(f"The reply has more than {MOST_VALUES} values.")
            if isinstance(value, dict):
                count += len(value)
                waiting.append(value.values())
            elif isinstance(value, list):
                waiting.append(value)


def _checked(block: Block) -> Block:
    """A cleaned block in which everything that others rest on has its type."""
    kind = block["type"] = _name(block["type"])
    for field in _TEXTS.get(kind, ()):
        block[field] = "" if block.get(field) is None else _text(block[field])
    for field in _NAMES.get(kind, ()):
        block[field] = _name(block[field])
    if block.get("tool_use_id") is not None:
        block["tool_use_id"] = _name(block["tool_use_id"])
    if kind == "tool_use":
        given = block.setdefault("input", {})
        if not isinstance(given, dict):
            block["input"] = {UNREADABLE_INPUT: json.dumps(given)}
    return block


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("a text that is none")
    return value


def _name(value: Any) -> str:
    name = clean_text(_text(value))
    if not 0 < len(name) <= NAME_CHARACTERS:
        raise ValueError("a name that is empty or too long")
    return name


def _fault(error: Exception) -> str:
    return f"The reply does not have the expected form: {type(error).__name__}."
