"""Text of others on a terminal: it is shown, and never obeyed.

What models, tools and jobs say goes through `inert` or `one_line` before it is printed, and is printed without markup.
"""

import json
import re
from typing import Any

CUT = "…"

_OBEYED = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""Characters that a terminal acts on, or that turn around what stands beside them; and halves of characters."""
_FOR_SHELLS = re.compile(r"[^\w.,@-]")
_PICTURES = 0x2400
_SPACE, _DELETE = 0x20, 0x7F


def inert(text: str) -> str:
    """The text with a picture for each character that a terminal would obey. Lines and tabs stay."""
    return _OBEYED.sub(_picture, text.replace("\r\n", "\n"))


def one_line(text: str) -> str:
    """The same on one line."""
    return inert(" ".join(text.split()))


def cut(text: str, characters: int) -> str:
    """The beginning of a text that is longer."""
    return text if len(text) <= characters else text[: max(characters - 1, 0)] + CUT


def as_json(document: Any, *, plain: bool = False) -> str:
    """A document of the API as it is. Characters that a terminal would obey are written as JSON writes any.

    When `plain` so are all that are not ASCII, for an output that may not know them.
    """
    text = json.dumps(document, ensure_ascii=plain, indent=2)
    return _OBEYED.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def for_shell(text: str) -> str:
    """What a shell may be told of a word that it completes: letters, digits and a few signs. zsh evaluates the rest."""
    return " ".join(_FOR_SHELLS.sub(" ", text).split())


def _picture(found: re.Match[str]) -> str:
    code = ord(found[0])
    if code < _SPACE:
        return chr(_PICTURES + code)
    return "␡" if code == _DELETE else "\N{REPLACEMENT CHARACTER}"
