"""Whatever a tool brings back, as a JSON value that can be read and stored: text, or a placeholder for what it is.

Nothing of the value is run for it: of a type that is not known here the name alone is shown, since its `__str__` may
raise or never end. The work is bounded by what a model can be shown.
"""

import dataclasses
import math
from collections.abc import Iterator, Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from pathlib import PurePath
from typing import Any
from uuid import UUID

from pydantic import BaseModel

from app.domain.text import clean_text, shorten
from app.tools.charsets import decoded

DEEPEST = 50
DIGITS_SHOWN = 4_000
_BITS_SHOWN = 13_000
"""Of an integer; Python refuses to print more than 4,300 digits."""
_TEXTUAL = (
    date, time, timedelta, Decimal, Fraction, complex, UUID, PurePath, range,
    IPv4Address, IPv6Address, IPv4Network, IPv6Network,
)  # fmt: skip
_PICTURES = ((b"\x89PNG\r\n", "a PNG picture"), (b"\xff\xd8\xff", "a JPEG picture"), (b"GIF8", "a GIF picture"),
             (b"RIFF", "a WebP picture or a sound"), (b"BM", "a BMP picture"), (b"%PDF-", "a PDF document"),
             (b"PK\x03\x04", "a ZIP archive"), (b"\x1f\x8b", "gzip data"))  # fmt: skip
_CONTROLS = frozenset(range(32)) - {9, 10, 12, 13, 27}


class Shown:
    """Makes JSON values of anything, within `room` characters in all."""

    def __init__(self, room: int) -> None:
        self._limit = room
        self._room = room * 4
        self._around: set[int] = set()
        """What the value at hand lies within."""

    def value(self, value: Any) -> Any:
        """The value, or what stands for it."""
        self._room -= 1
        match value:
            case None | bool():
                return value
            case Enum():
                return self.value(value.value)
            case str():
                return self._text(str.__str__(value))
            case int():
                return self._whole(int(value))
            case float():
                return float(value) if math.isfinite(value) else None
            case bytes() | bytearray() | memoryview():
                return self._bytes(value)
            case datetime():
                return value.isoformat()
            case BaseModel():
                return self._within(value, dict(value.__dict__))
            case _ if isinstance(value, _TEXTUAL):
                return self._text(str(value))
            case Mapping() | list() | tuple() | set() | frozenset():
                return self._within(value, value)
            case _ if dataclasses.is_dataclass(value) and not isinstance(value, type):
                return self._within(value, {each.name: getattr(value, each.name) for each in dataclasses.fields(value)})
            case _:
                return f"(an object of type {type(value).__qualname__}, which cannot be shown)"

    def _text(self, text: str) -> str:
        shown = clean_text(shorten(text, self._limit)[0])
        self._room -= len(shown)
        return shown

    def _whole(self, number: int) -> int | str:
        if number.bit_length() > _BITS_SHOWN:
            return f"(a whole number of about {int(number.bit_length() * 0.30103) + 1:,} digits)"
        self._room -= number.bit_length() // 3
        return number

    def _bytes(self, value: bytes | bytearray | memoryview) -> str:
        size = value.nbytes if isinstance(value, memoryview) else len(value)
        # A character has four bytes at most; the end of what is cut there may be a part of one.
        start = (
            bytes(value[: self._limit * 4]) if not isinstance(value, memoryview) else value.tobytes()[: self._limit * 4]
        )
        kind = next((kind for mark, kind in _PICTURES if start.startswith(mark)), None)
        text = None if kind else _readable(start)
        if text is None:
            return f"({kind or 'binary data'}, {size:,} bytes, which cannot be shown)"
        cut = f"\n[… {size:,} bytes in all …]" if size > len(start) else ""
        return self._text(text) + cut

    def _within(self, value: Any, content: Any) -> Any:
        """What lies within a value that holds others."""
        if id(value) in self._around:
            return "(a value that lies within itself)"
        if len(self._around) >= DEEPEST:
            return f"(values nested more than {DEEPEST} levels deep)"
        self._around.add(id(value))
        try:
            if isinstance(content, Mapping):
                return self._pairs(content)
            items = [self.value(item) for item in self._while_there_is_room(content)]
            left = len(content) - len(items)
        finally:
            self._around.remove(id(value))
        if isinstance(content, set | frozenset):
            items.sort(key=str)
        return [*items, f"(and {left:,} more)"] if left else items

    def _pairs(self, content: Mapping[Any, Any]) -> dict[str, Any]:
        pairs: dict[str, Any] = {}
        for key in self._while_there_is_room(content):
            shown = self.value(key)
            name = shown if isinstance(shown, str) else str(shown)
            while name in pairs:  # two keys that look alike, such as 1 and "1": neither may be lost
                name += "'"
            pairs[name] = self.value(content[key])
        if left := len(content) - len(pairs):
            pairs[f"(and {left:,} more)"] = None
        return pairs

    def _while_there_is_room(self, items: Any) -> Iterator[Any]:
        for item in items:
            if self._room <= 0:
                return
            yield item


def _readable(content: bytes) -> str | None:
    """The bytes as text; None if they are no text in any encoding that shows what it is."""
    if content.startswith((b"\xff\xfe", b"\xfe\xff", b"\xef\xbb\xbf")):
        return decoded(content, None)
    if b"\x00" in content:
        codec = "utf-16-le" if content[1::2].count(0) > content[::2].count(0) else "utf-16-be"
        text = content.decode(codec, "replace")
        return text if "\x00" not in text and text.count("\ufffd") * 10 <= len(text) and text.isprintable() else None
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        if error.end == len(content) and error.start > len(content) - 4:
            return content[: error.start].decode()
    if any(byte in _CONTROLS for byte in content[:1_000]):
        return None
    return content.decode("cp1252", "replace")
