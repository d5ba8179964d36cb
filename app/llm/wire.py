"""Bytes of a response into events or one JSON value, bounded while they are read.

What is read is what came, not what was asked for: servers answer a request for a stream with a whole reply, and the
other way round, under any content type. A JSON body begins with a bracket, and a stream never does.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from dataclasses import dataclass
from typing import Any

LARGEST_RESPONSE = 32 * 1024 * 1024
"""Bytes of a response. A stream spends some hundred bytes on every few letters."""
LARGEST_DOCUMENT = 2 * 1024 * 1024
"""Bytes of one JSON document: a whole reply, an event, or the input of a tool call."""
LARGEST_ERROR = 64 * 1024
"""Bytes that are read of an error's body."""
MOST_EVENTS = 200_000
MOST_CONTAINERS, MOST_SEPARATORS = 20_000, 100_000
"""Brackets and commas in one document: what takes the parser its time. Those inside of texts count too."""

_WHOLE = (b"{", b"[", b"<")
_BLANK = b" \t\r\n\xef\xbb\xbf"


class MalformedReply(Exception):
    """The provider sent something that is not a reply of the Messages API."""


class TooLarge(Exception):
    """The provider sent more than a reply may have."""


@dataclass(frozen=True, slots=True)
class ServerEvent:
    """One event of a stream."""

    name: str
    data: str


async def bounded(chunks: AsyncIterator[bytes]) -> AsyncGenerator[bytes, None]:
    """The chunks, with a turn for others after each. Raises `TooLarge` past the bound."""
    size = 0
    async for chunk in chunks:
        size += len(chunk)
        if size > LARGEST_RESPONSE:
            raise TooLarge(f"The reply has more than {LARGEST_RESPONSE} bytes.")
        yield chunk
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


async def start_of(chunks: AsyncIterator[bytes], limit: int) -> bytes:
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
        self._name = ""
        self._data: list[str] = []
        self._size = 0
        self._count = 0

    def feed(self, chunk: bytes) -> Iterator[ServerEvent]:
        """The events that end in this chunk."""
        chunk = self._half_end + chunk
        self._half_end = b"\r" if chunk.endswith(b"\r") else b""  # the other half of a line end may follow
        chunk = chunk.removesuffix(b"\r").replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        *ended, last = chunk.split(b"\n")
        for line in ended:
            yield from self._take(b"".join([*self._line, line]))
            self._line, self._begun = [], 0
        self._line.append(last)
        self._begun += len(last)
        _check_size(self._size + self._begun)

    def finish(self) -> Iterator[ServerEvent]:
        """The last event, which may lack the blank line behind it."""
        yield from self._take(b"".join(self._line))
        yield from self._take(b"")

    def _take(self, line: bytes) -> Iterator[ServerEvent]:
        if line:
            field, _, value = line.partition(b":")
            value = value.removeprefix(b" ")
            self._size += len(line)
            _check_size(self._size)
            if field == b"event":
                self._name = value.decode(errors="replace")
            elif field == b"data":
                self._data.append(value.decode(errors="replace"))
            return
        self._count += 1
        if self._count > MOST_EVENTS:
            raise TooLarge(f"The reply came in more than {MOST_EVENTS} events.")
        event = ServerEvent(self._name, "\n".join(self._data))
        self._name, self._data, self._size = "", [], 0
        if event.data:
            yield event


def _check_size(size: int) -> None:
    if size > LARGEST_DOCUMENT:
        raise TooLarge(f"A part of the reply has more than {LARGEST_DOCUMENT} bytes.")


def check_document(text: str) -> None:
    """Make sure that parsing `text` as JSON takes little time. Raises `TooLarge`."""
    _check_size(len(text))
    if text.count("[") + text.count("{") > MOST_CONTAINERS or text.count(",") > MOST_SEPARATORS:
        raise TooLarge("A part of the reply has too many values.")


def json_of(written: str | bytes) -> dict[str, Any]:
    """The JSON object in a body or an event. Raises `MalformedReply`, `TooLarge`."""
    text = written.decode(errors="replace") if isinstance(written, bytes) else written
    check_document(text)
    try:
        value = json.loads(text.removeprefix("\ufeff"))
    except (ValueError, RecursionError) as error:
        raise MalformedReply("The reply is not JSON.") from error
    if not isinstance(value, dict):
        raise MalformedReply("The reply is not a JSON object.")
    return value
