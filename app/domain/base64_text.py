"""Bytes that are written as base64 in any of its usual spellings: with line ends, for URLs, or as a data URL."""

import base64
import binascii
import re
from collections.abc import Iterable, Iterator

_FOR_URLS = str.maketrans("-_", "+/")
_NO_PART_OF_IT = re.compile("[^A-Za-z0-9+/]")


class NotBase64(ValueError):
    """The text is no base64."""


def bytes_of(text: str) -> bytes:
    """What the text stands for. Raises `NotBase64`."""
    encoded = "".join(text.split())
    if encoded.startswith("data:"):
        encoded = encoded.partition(",")[2]
    encoded = encoded.translate(_FOR_URLS).rstrip("=")
    try:
        return base64.b64decode(encoded + "=" * (-len(encoded) % 4), validate=True)
    except (binascii.Error, ValueError):
        raise NotBase64("it is no base64") from None


def bytes_in_pieces(pieces: Iterable[str]) -> Iterator[bytes]:
    """What a text in pieces stands for, without the head of a data URL. What does not belong to base64, like the ends
    of lines, is passed over."""
    rest = ""
    for piece in pieces:
        rest += _NO_PART_OF_IT.sub("", piece.translate(_FOR_URLS))
        whole = len(rest) // 4 * 4
        yield base64.b64decode(rest[:whole])
        rest = rest[whole:]
    if len(rest) > 1:
        yield base64.b64decode(rest + "=" * (4 - len(rest)))
