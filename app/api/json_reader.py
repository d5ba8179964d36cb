"""JSON read piece by piece while it arrives, so that no body holds the loop however large it is.

Long texts are taken out and decoded as their pieces come. What is left, the skeleton, is small: it has short texts
alone, and bounded numbers of values and of bytes between texts, and is parsed in one go. A place in it is told as the
place in the whole.
"""

import codecs
import json
import math
import re
import secrets
from collections.abc import Iterable
from typing import Any, NoReturn

from app.domain.text import clean_text

VALUES_ALLOWED = 20_000
"""Items of arrays and members of objects that a body may have in all: each may be wrong in a way of its own."""
BARE_BYTES_ALLOWED = 2 * 1024 * 1024
"""Bytes outside of texts that a body may have: numbers, punctuation, and the spaces that make it look nice."""
SHORT_BYTES = 128
"""Texts up to this length stay in the skeleton."""
PIECE_BYTES = 32 * 1024
"""How much is read at a time, without letting others have their turn."""
LITERAL_CHARACTERS = 400
"""Digits that a number may be written with."""
NAME_SHOWN = 100
_ESCAPE_BYTES = 6


class NotJson(Exception):
    """The text is not JSON; the message is a sentence for clients."""


class TooManyValues(Exception):
    """There are more than `VALUES_ALLOWED` values, or more than `BARE_BYTES_ALLOWED` outside of texts."""


class JsonReader:
    """Takes the bytes of a JSON text in any pieces, and has its value in the end.

    Text is cleaned on the way. A number that cannot be kept as it is written is infinite in the value.
    """

    def __init__(self) -> None:
        self._skeleton: list[bytes] = []
        self._texts: dict[str, str] = {}
        self._taken: dict[str, int] = {}
        """Characters as which each long text was written."""
        self._mark = secrets.token_hex(8)
        self._rest = b""
        self._text: _LongText | None = None
        """The text that is open; its bytes are in `_open` while it is short."""
        self._open: list[bytes] | None = None
        self._open_bytes = 0
        self._values = self._bare_bytes = 0
        self._strings = 0

    def take(self, piece: bytes) -> None:
        """Read on. Raises `TooManyValues` and `NotJson`."""
        data, self._rest = self._rest + piece, b""
        masked = _masked(data)
        begun = masked.rfind(b"\\", max(len(masked) - _ESCAPE_BYTES, 0))
        if begun >= 0:  # The escape may go on in the next piece.
            self._rest = data[begun:]
            data, masked = data[:begun], masked[:begun]
        self._read(data, masked)

    def value(self) -> Any:
        """The value of all that was taken. Raises `NotJson`."""
        self._read(self._rest, _masked(self._rest))
        if self._open is not None:
            self._skeleton += [b'"', *self._open]
        try:
            skeleton = b"".join(self._skeleton).decode("utf-8-sig")
            value = json.loads(
                skeleton,
                parse_constant=_no_constant,
                parse_int=_whole_number,
                parse_float=_number,
                object_pairs_hook=_members,
            )
        except json.JSONDecodeError as error:
            raise NotJson(self._sentence(error, skeleton)) from None
        except UnicodeDecodeError:
            raise NotJson("The body is not UTF-8.") from None
        except RecursionError:
            raise NotJson("The body is nested too deeply to be read.") from None
        return value

    def finished(self, value: Any) -> Any:
        """`value` with long texts in their places and every text cleaned; to be asked once its depth is known.

        Raises `NotJson` for names that only now turn out to be the same.
        """
        match value:
            case str():
                return self._texts.get(value) or clean_text(value)
            case dict():
                names = (self._texts.get(name) or clean_text(name) for name in value)
                return _members((name, self.finished(item)) for name, item in zip(names, value.values(), strict=True))
            case list():
                return [self.finished(item) for item in value]
            case _:
                return value

    def _read(self, data: bytes, masked: bytes) -> None:
        """Read `data`, in which quotes are where `masked` has them."""
        place = 0
        while (quote := masked.find(b'"', place)) >= 0:
            self._grow(data[place:quote])
            self._turn()
            place = quote + 1
        self._grow(data[place:])

    def _grow(self, part: bytes) -> None:
        if self._text is not None:
            self._text.take(part)
        elif self._open is not None:
            self._open.append(part)
            self._open_bytes += len(part)
            if self._open_bytes > SHORT_BYTES:
                self._text = _LongText()
                self._text.take(b"".join(self._open))
        else:
            self._skeleton.append(part)
            self._bare_bytes += len(part)
            self._values += part.count(b",") + part.count(b"[") + part.count(b"{")
            if self._values > VALUES_ALLOWED or self._bare_bytes > BARE_BYTES_ALLOWED:
                raise TooManyValues

    def _turn(self) -> None:
        """A text begins or ends."""
        if self._open is None:
            self._open, self._open_bytes = [], 0
            self._strings += 1
            if self._strings > 2 * VALUES_ALLOWED + 1:  # A name and a value each.
                raise TooManyValues
            return
        if self._text is None:
            self._skeleton += [b'"', *self._open, b'"']
        else:
            token = f"{self._mark}{len(self._texts)}"
            self._texts[token] = self._text.ended()
            self._taken[token] = self._text.characters
            self._skeleton.append(b'"%b"' % token.encode())
        self._open, self._text = None, None

    def _sentence(self, error: json.JSONDecodeError, skeleton: str) -> str:
        """What is wrong and where; lines are those of the whole, since no text of JSON holds a line end."""
        column = error.colno
        line = skeleton[error.pos - column + 1 : error.pos]
        # One pass: there may be very many texts, and a very long line.
        mark = self._mark
        column += sum(self._taken[token] - len(token) for token in re.findall(rf"{mark}\d+", line))
        return f"The body is not JSON: {_reason(error)}, at line {error.lineno}, column {column}."


class _LongText:
    """The text between two quotes, decoded as it comes."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._pieces: list[str] = []
        self.characters = 0
        """As it is written, escapes included."""
        self._high = ""
        """The first half of a surrogate pair whose second half may follow."""

    def take(self, part: bytes) -> None:
        """Read on; an escape is whole or not in `part` at all. Raises `NotJson`."""
        try:
            written = self._decoder.decode(part)
            decoded: str = json.loads(f'"{written}"')
        except UnicodeDecodeError:
            raise NotJson("The body is not UTF-8.") from None
        except json.JSONDecodeError as error:
            raise NotJson(f"The body is not JSON: {_reason(error)} in a text.") from None
        self.characters += len(written)
        text = self._high + decoded
        self._high = text[-1:] if "\ud800" <= text[-1:] <= "\udbff" else ""
        self._pieces.append(clean_text(text.removesuffix(self._high)))

    def ended(self) -> str:
        """The whole text."""
        self.take(b"")
        if self._decoder.getstate()[0]:
            raise NotJson("The body is not UTF-8.")
        return "".join([*self._pieces, clean_text(self._high)])


def _masked(data: bytes) -> bytes:
    """As many bytes, in which each quote begins or ends a text, and each backslash an escape of something else."""
    return data.replace(b"\\\\", b"__").replace(b'\\"', b"__")


def _reason(error: json.JSONDecodeError) -> str:
    """The parser's words as a part of a sentence."""
    reason = error.msg.partition(" at")[0].removesuffix(":")
    return reason[:1].lower() + reason[1:].replace("\\", "backslash ")


def _no_constant(_: str) -> NoReturn:
    raise NotJson("The body is not JSON: NaN and Infinity are no numbers there.")


def _whole_number(literal: str) -> float:
    number = int(literal) if len(literal) <= 20 else math.inf
    return number if -(2**63) <= number < 2**63 else math.inf


def _number(literal: str) -> float:
    if len(literal) > LITERAL_CHARACTERS:
        return math.inf
    number = float(literal)
    vanished = number == 0 and literal.lower().partition("e")[0].strip("-0.") != ""
    return math.inf if vanished or math.isinf(number) else number


def _members(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    members: dict[str, Any] = {}
    for name, value in pairs:
        if name in members:
            raise NotJson(f"The body names a field twice in one object: {clean_text(name)[:NAME_SHOWN]}")
        members[name] = value
    return members
