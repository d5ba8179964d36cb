"""Bytes that are written as base64 in any of its usual spellings: with line ends, for URLs, or as a data URL."""

import base64
import binascii

_FOR_URLS = str.maketrans("-_", "+/")


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
        raise NotBase64 from None
