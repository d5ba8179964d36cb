"""Words of strangers that come before a model or an operator: what can be seen of them, and not too much."""

import unicodedata

from app.domain.text import clean_text, shorten

_KEPT = frozenset("\n\t")
_HIDDEN = frozenset({"Cc", "Cf", "Co", "Cn"})
"""Controls, and what formats text without a form of its own: by these, words are smuggled past people."""


def plain(text: str, limit: int) -> str:
    """`text` without what nobody can see, within `limit` characters."""
    cut = shorten(text, limit * 2)[0]
    seen = "".join(char for char in clean_text(cut) if char in _KEPT or unicodedata.category(char) not in _HIDDEN)
    return shorten(seen.strip(), limit)[0]
