"""The text of a document in the form in which places in it are looked up.

Marks say in it where a page or a paragraph begins. They stand in the text and not in the document: whoever quotes it
may leave them out, or copy them along. Quotes, dashes and ligatures are typography, and so is a word that is parted at
the end of a line: a reader writes it as one.
"""

import re
import unicodedata

_MARKS = re.compile(
    r"\[page \d+ of \d+\]|\[paragraph \d+\]|\[table \d+, row \d+\]|\[(?:footnote|endnote) \w+\]|(?<!\S)#{1,9}(?=\s)"
)
_ALIKE = str.maketrans({
    **dict.fromkeys("\u2018\u2019\u201a\u201b\u2032", "'"),
    **dict.fromkeys("\u201c\u201d\u201e\u201f\u2033\u00ab\u00bb", '"'),
    **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-"),
    "\u00ad": None,
})  # fmt: skip
_HYPHEN = re.compile(r"(?<=\w)- ?(?=\w)")


def as_compared(text: str) -> str:
    """A text, or a part of one, as words: without marks, in plain typography, and without hyphens between letters."""
    bare = unicodedata.normalize("NFKC", _MARKS.sub("", text)).translate(_ALIKE)
    return _HYPHEN.sub("", " ".join(bare.split()))


def goes_on(words: str, following: str) -> bool:
    """Whether words end with a hyphen that what follows joins them at."""
    return len(words) > 1 and words[-1] == "-" and words[-2].isalnum() and following[:1].isalnum()
