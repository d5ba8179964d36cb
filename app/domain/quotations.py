"""Quotations in an answer: words between marks that say they are somebody else's."""

import re
from collections.abc import Iterable, Iterator

from app.domain.text import plain_words

WORDS_QUOTED = 4
"""Fewer words between marks are a name or a manner of speaking."""

_CODE = re.compile(r"```.*?(?:```|\Z)|`[^`\n]+`", re.DOTALL)
_QUOTED = re.compile(
    r"“(?P<curly>[^“”\n]{8,2000})”|„(?P<low>[^„“”\n]{8,2000})[“”]|«(?P<angle>[^«»\n]{8,2000})»"
    r'|(?<![\w"])"(?P<straight>[^\s"\n][^"\n]{6,2000}[^\s"\n])"(?!\w)'
)
_LEFT_OUT = re.compile(r"\[[^\]\n]{0,40}\]|\(…\)|…|\.\.\.")


def quotations_in(text: str) -> Iterator[str]:
    """The quotations of a text, without code."""
    for found in _QUOTED.finditer(_CODE.sub(" ", text)):
        quoted = next(part for part in found.groups() if part is not None)
        if len(plain_words(quoted).split()) >= WORDS_QUOTED:
            yield quoted


class Words:
    """The words of many texts, to find others in."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._all = f" {'  '.join(map(plain_words, texts))} "

    def have(self, text: str) -> bool:
        """Whether the words of `text` stand there, one after the other."""
        return f" {plain_words(text)} " in self._all

    def have_quoted(self, quoted: str) -> bool:
        """Whether a quotation stands there, each of its pieces where something was left out or put in."""
        pieces = [piece for piece in _LEFT_OUT.split(quoted) if plain_words(piece)]
        return all(plain_words(piece) in self._all for piece in pieces)
