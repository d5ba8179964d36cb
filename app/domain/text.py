"""Text as it may be stored and sent: cleaned once, at the border, and shortened only with a notice.

Postgres refuses NUL in text and jsonb; UTF-8 has no form for lone surrogates; JSON has none for NaN and the
infinities. Everything that enters (job bodies, model replies, tool outputs, error texts) passes `clean`.
"""

import math
import re
import unicodedata
from collections.abc import Iterator
from typing import Any

DEEPEST = 200
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_CONTROL = re.compile("[\x00-\x08\n\r\x0e-\x1b\x7f]")
_INVISIBLE = frozenset({"Cc", "Cf", "Cs", "Mn", "Me", "Zs", "Zl", "Zp"})
_BETWEEN_WORDS = re.compile(r"[\W_]+")
_EMPTY = frozenset("\ufffd\u115f\u1160\u2800\u3164\uffa0")
"""Letters and symbols without a form, and the one that stands for what could not be kept."""
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


def is_blank(text: str) -> bool:
    """Whether `text` shows nothing: only spaces, controls, marks, and what stands for characters that were lost."""
    if text[:1].isalnum() and text[:1] not in _EMPTY:
        return False
    return all(char in _EMPTY or unicodedata.category(char) in _INVISIBLE for char in set(text))


def plain_words(text: str) -> str:
    """The words of `text` alone: two texts that differ in case, space and punctuation have the same."""
    return _BETWEEN_WORDS.sub(" ", text).strip().casefold()


def has_line_end(text: str) -> bool:
    """Whether `text` is more than one line, or holds what a terminal obeys. Other separators are characters in a name:
    office programs and chats put them there.
    """
    return _CONTROL.search(text) is not None


def texts_within(value: Any) -> Iterator[str]:
    """Every text within a JSON value, names of fields included."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | tuple):
        for item in value:
            yield from texts_within(item)
    elif isinstance(value, dict):
        for name, item in value.items():
            yield name
            yield from texts_within(item)


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
