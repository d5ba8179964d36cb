"""Text as it may be stored and sent: cleaned once, at the border, and shortened only with a notice.

Postgres refuses NUL in text and jsonb; UTF-8 has no form for lone surrogates; JSON has none for NaN and the
infinities. Everything that enters (job bodies, model replies, tool outputs, error texts) passes `clean`.
"""

import math
import re
from typing import Any
from unicodedata import category

DEEPEST = 200
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")


def clean_text(text: str) -> str:
    """`text` with NUL and lone surrogates replaced by U+FFFD; a surrogate pair becomes the character it encodes."""
    if text.isascii():
        return text.replace("\x00", "\ufffd")
    if not _UNSTORABLE.search(text):
        return text
    joined = _PAIR.sub(lambda pair: pair[0].encode("utf-16", "surrogatepass").decode("utf-16"), text)
    return _UNSTORABLE.sub("\ufffd", joined)


def clean(value: Any, depth: int = 0) -> Any:
    """A JSON value with every text cleaned and every NaN or infinity replaced by null.

    Raises `ValueError` for a value nested deeper than what reads it later can take.
    """
    if depth > DEEPEST:
        raise ValueError(f"nested more than {DEEPEST} levels deep")
    match value:
        case str():
            return clean_text(value)
        case float():
            return value if math.isfinite(value) else None
        case dict():
            return {clean_text(str(key)): clean(item, depth + 1) for key, item in value.items()}
        case list() | tuple():
            return [clean(item, depth + 1) for item in value]
        case _:
            return value


def shorten(text: str, limit: int) -> tuple[str, int]:
    """`text` within `limit` characters, keeping head and tail, and how many characters were left out.

    The cut is announced inside the text with the total, so that a reader never takes the part for the whole.
    """
    if len(text) <= limit:
        return text, 0
    notice = f"\n[… shortened: {{}} of {len(text)} characters omitted …]\n"
    room = max(limit - len(notice) - len(str(len(text))), 0)
    head, tail = room - room // 3, room // 3
    omitted = len(text) - head - tail
    return text[:head] + notice.format(omitted) + (text[-tail:] if tail else ""), omitted


def is_blank(text: str) -> bool:
    """Whether a reader would see nothing: spaces, and characters of control and format, whatever their number."""
    return all(character.isspace() or category(character).startswith("C") for character in text)
