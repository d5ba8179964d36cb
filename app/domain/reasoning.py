"""Models that think aloud: what stands before the end of their reasoning is no part of a reply.

Servers that know the model put its reasoning into blocks of its own. Others leave it in the text, between
`<think>` and `</think>`, or without the opening tag, when the prompt's template has written that already.
"""

import re
from collections.abc import Callable
from typing import Literal

_TAG = r"(?:think|thinking|thought|reasoning)"
_OPENING = re.compile(rf"\A\s*<{_TAG}>", re.IGNORECASE)
_CLOSING = re.compile(rf"</{_TAG}>", re.IGNORECASE)
_ALONE = re.compile(rf"^</{_TAG}>|</{_TAG}>[^\S\n]*(?:\n|\Z)", re.IGNORECASE | re.MULTILINE)
"""A closing tag at the end of a line or its start. Inside of JSON and of quoted code it never stands so."""
_OPENINGS = tuple(f"<{name}>" for name in ("think", "thinking", "thought", "reasoning"))
_TAIL = len("</reasoning>")
"""How much of a text may be the beginning of a closing tag."""


def without_reasoning(text: str) -> str:
    """`text` from the end of the reasoning it begins with; all of it when there is none."""
    if "</" not in text and not _OPENING.match(text):
        return text
    if _OPENING.match(text):
        closing = _CLOSING.search(text)
        return text[closing.end() :].lstrip() if closing else ""
    closing = _ALONE.search(text)
    return text[closing.end() :].lstrip() if closing else text


class Aloud:
    """Passes on a text that arrives in pieces, without the reasoning at its beginning.

    `expected` says that the model is known to think aloud without an opening tag: its text is held back until the
    tag that closes its reasoning, or to the end. For each piece it takes a look at no more than that.
    """

    def __init__(self, passed_on: Callable[[str], None], *, expected: bool) -> None:
        self._passed_on = passed_on
        self._state: Literal["beginning", "thinking", "closed", "speaking"] = "thinking" if expected else "beginning"
        self._expected = expected
        self._held: list[str] = []
        self._tail = ""

    def feed(self, piece: str) -> None:
        """The next piece."""
        if self._state == "beginning":
            piece = self._begin(piece)
        if self._state == "thinking":
            piece = self._think(piece)
        if self._state == "closed":
            piece = piece.lstrip()
            self._state = "speaking" if piece else "closed"
        if self._state == "speaking" and piece:
            self._passed_on(piece)

    def finish(self) -> None:
        """The text is whole: what was held back and is no reasoning is passed on."""
        if self._state in ("beginning", "thinking") and (rest := without_reasoning("".join(self._held))):
            self._passed_on(rest)
        self._state = "speaking"

    def _begin(self, piece: str) -> str:
        self._tail += piece
        begun = self._tail.lstrip().lower()[: len(max(_OPENINGS, key=len))]
        if not begun or any(opening.startswith(begun) for opening in _OPENINGS if len(begun) < len(opening)):
            self._held = [self._tail]
            return ""
        text, self._tail, self._held = self._tail, "", []
        self._state = "thinking" if begun.startswith(_OPENINGS) else "speaking"
        return text

    def _think(self, piece: str) -> str:
        if self._expected or not self._held:
            self._held.append(piece)
        text = self._tail + piece
        closing = _CLOSING.search(text)
        if closing is None:
            self._tail = text[-_TAIL:]
            return ""
        self._state = "closed"
        return text[closing.end() :]
