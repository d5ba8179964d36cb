"""Bytes of a response into events or one JSON value, bounded while they are read.

What is read is what came, not what was asked for: servers answer a request for a stream with a whole reply, and the
other way round, under any content type. A JSON body begins with a bracket, and a stream never does.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator
from typing import Any, NamedTuple

from pydantic_core import from_json

CHUNK = 16 * 1024
"""Bytes of a response that are read at once, at most."""
LARGEST_RESPONSE = 32 * 1024 * 1024
"""Bytes of a response. A stream spends some hundred bytes on every few letters."""
LARGEST_DOCUMENT = 2 * 1024 * 1024
"""Bytes of one JSON document: a whole reply, an event, or the input of a tool call."""
MOST_EVENTS = 200_000
MOST_CONTAINERS, MOST_SEPARATORS = 20_000, 100_000
"""Brackets and commas in one document: what takes the parser its time. Those inside of texts count too."""

_WHOLE = (b"{", b"[", b"<")
_BLANK = b" \t\r\n\xef\xbb\xbf"


class MalformedReply(Exception):
    """The provider sent something that is not a reply of the Messages API."""


class TooLarge(Exception):
    """The provider sent more than a reply may have."""


class ServerEvent(NamedTuple):
    """One event of a stream."""

    name: bytes
    data: bytes


async def bounded(chunks: AsyncIterable[bytes]) -> AsyncGenerator[bytes, None]:
    """The chunks, with a turn for others where they come without a wait. Raises `TooLarge` past the bound."""
    size = 0
    async for chunk in chunks:
        size += len(chunk)
        if size > LARGEST_RESPONSE:
            raise TooLarge(f"The reply has more than {LARGEST_RESPONSE} bytes.")
        yield chunk
        if len(chunk) >= CHUNK:  # There may be more already: no others have had a turn.
            await asyncio.sleep(0)


async def head_of(chunks: AsyncIterator[bytes]) -> bytes:
    """The beginning of a response, up to the first chunk that is not blank."""
    read = b""
    async for chunk in chunks:
        read = (read + chunk).lstrip(_BLANK)
        if read:
            break
    return read


def is_whole(head: bytes) -> bool:
    """Whether a response that begins so is one body, and no stream."""
    return head.startswith(_WHOLE)


async def start_of(chunks: AsyncIterable[bytes], limit: int) -> bytes:
    """The first bytes of a response, `limit` of them at most."""
    read, size = [], 0
    async for chunk in chunks:
        read.append(chunk[:limit])
        size += len(chunk)
        if size >= limit:
            break
    return b"".join(read)[:limit]


async def whole_of(head: bytes, chunks: AsyncIterator[bytes]) -> bytes:
    """A body that is one JSON document and begins with `head`."""
    read, size = [head], len(head)
    async for chunk in chunks:
        read.append(chunk)
        size += len(chunk)
        _check_size(size)
    return b"".join(read)


class EventDecoder:
    """Takes a stream chunk by chunk, and gives its events. Raises `TooLarge`."""

    def __init__(self) -> None:
        self._line: list[bytes] = []
        self._begun = 0
        self._half_end = b""
        self._name = b""
        self._data: list[bytes] = []
        self._size = 0
        self._count = 0

    def feed(self, chunk: bytes) -> list[ServerEvent]:
        """The events that end in this chunk."""
        if self._half_end or b"\r" in chunk:
            chunk = self._with_plain_ends(chunk)
        *ended, last = chunk.split(b"\n")
        if ended and self._line:
            ended[0] = b"".join([*self._line, ended[0]])
            self._line, self._begun = [], 0
        events = [event for line in ended if (event := self._take(line)) is not None]
        if last:
            self._line.append(last)
            self._begun += len(last)
        _check_size(self._size + self._begun)
        return events

    def finish(self) -> list[ServerEvent]:
        """The last event, which may lack the blank line behind it."""
        return self.feed(b"\n\n")

    def _with_plain_ends(self, chunk: bytes) -> bytes:
        chunk = self._half_end + chunk
        self._half_end = b"\r" if chunk.endswith(b"\r") else b""  # the other half of a line end may follow
        return chunk.removesuffix(b"\r").replace(b"\r\n", b"\n").replace(b"\r", b"\n")

    def _take(self, line: bytes) -> ServerEvent | None:
        if line:
            field, _, value = line.partition(b":")
            self._size += len(line)
            if field == b"data":
                self._data.append(value.removeprefix(b" "))
            elif field == b"event":
                self._name = value.removeprefix(b" ")
            return None
        self._count += 1
        if self._count > MOST_EVENTS:
            raise TooLarge(f"The reply came in more than {MOST_EVENTS} events.")
        event = ServerEvent(self._name, b"\n".join(self._data))
        self._name, self._data, self._size = b"", [], 0
        return event if event.data else None


def _check_size(size: int) -> None:
    if size > LARGEST_DOCUMENT:
        raise TooLarge(f"A part of the reply has more than {LARGEST_DOCUMENT} bytes.")


def check_document(text: str) -> None:
    """Make sure that parsing `text` as JSON takes little time. Raises `TooLarge`."""
    if len(text) <= MOST_CONTAINERS:
        return  # Nothing fits into it too often.
    _check_size(len(text))
    if text.count("[") + text.count("{") > MOST_CONTAINERS or text.count(",") > MOST_SEPARATORS:
        raise TooLarge("A part of the reply has too many values.")


def json_of(written: bytes) -> dict[str, Any]:
    """The JSON object in a body or an event. Raises `MalformedReply`, `TooLarge`."""
    try:
        value = _parsed(written)
    except (ValueError, RecursionError) as error:
        raise MalformedReply("The reply is not JSON.") from error
    if not isinstance(value, dict):
        raise MalformedReply("The reply is not a JSON object.")
    return value


def _parsed(written: bytes) -> Any:
    """The value of a document, by the quick parser; the other one may take what that refuses, like half a character."""
    if len(written) > MOST_CONTAINERS:
        check_document(written.decode(errors="replace"))
    try:
        return from_json(written)
    except ValueError:
        return json.loads(written.decode(errors="replace").removeprefix("\ufeff"))
