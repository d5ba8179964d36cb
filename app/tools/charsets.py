"""Bytes from outside as text, by the order in which the web looks for their encoding."""

import codecs
import re

from app.domain.charsets import codec_of

_BYTE_ORDER_MARKS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_XML_IN_TWO_BYTES = ((b"<\x00?\x00", "utf-16-le"), (b"\x00<\x00?", "utf-16-be"))
_DECLARED_IN_XML = re.compile(rb"\A\s*<\?xml[^>]{0,200}?encoding\s{0,9}=\s{0,9}[\"']([\w.:-]{1,40})")
_DECLARED_IN_HTML = re.compile(rb"<meta[^>]{0,200}charset\s{0,9}=\s{0,9}[\"']?\s{0,9}([\w.:-]{1,40})", re.IGNORECASE)
_DECLARED_WITHIN = 2_048


def decoded(body: bytes, label: str | None) -> str:
    """`body` as text by the web's order: byte order mark, the server's `label`, the page's own word, UTF-8."""
    for mark, encoding in _BYTE_ORDER_MARKS:
        if body.startswith(mark):
            return body[len(mark) :].decode(encoding, "replace")
    named = codec_of(label) if label else None
    return body.decode(named or _declared(body) or "utf-8", "replace")


def _declared(body: bytes) -> str | None:
    """The codec that a page declares for itself. One of two bytes cannot be declared in ASCII."""
    for start, encoding in _XML_IN_TWO_BYTES:
        if body.startswith(start):
            return encoding
    head = body[:_DECLARED_WITHIN]
    found = _DECLARED_IN_XML.match(head) or _DECLARED_IN_HTML.search(head)
    codec = codec_of(found[1].decode("ascii", "replace")) if found else None
    return "utf-8" if codec and codec.startswith("utf-16") else codec
