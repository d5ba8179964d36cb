"""Texts as readers compare them: case, typography and the form of letters make no difference.

Unicode's own folding (NFKC and case) makes ß ss, ﬃ ffi, and one character of a letter and its accent. What it leaves
apart and readers do not tell apart comes on top: quotes, hyphens, spaces of every width, and marks that are not seen.
"""

import re
import unicodedata

_SAME = (
    {ord(mark): "'" for mark in "\u2018\u2019\u201a\u201b\u2032`\u00b4\u02bc\uff07"}
    | {ord(mark): '"' for mark in "\u201c\u201d\u201e\u201f\u00ab\u00bb\u2033\uff02"}
    | {ord(mark): "-" for mark in "\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe58\ufe63\uff0d"}
    | dict.fromkeys([0xAD, 0x200B, 0x200C, 0x200D, 0x2060, 0xFEFF])
)
_SPACES = re.compile(r"[^\S\n ][^\S\n]*| [^\S\n]+")
"""Runs of spaces that are not one plain space already; a line end stays."""


def folded(text: str) -> str:
    """`text` as it is compared; lines stay lines."""
    if text.isascii():
        return _SPACES.sub(" ", text.lower().replace("`", "'"))
    plain = unicodedata.normalize("NFKC", text.translate(_SAME)).casefold()
    return _SPACES.sub(" ", unicodedata.normalize("NFKC", plain))


def reads_the_same(one: str, other: str) -> bool:
    """Whether two names differ at most in how their letters are put together."""
    return unicodedata.normalize("NFC", one) == unicodedata.normalize("NFC", other)
