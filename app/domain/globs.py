"""Patterns of names and paths, as `.gitignore` files have them in their simplest form.

`*` and `?` stay within one part of a path, `**` stands for any number of parts. A pattern without a slash is held
against the last part alone, so that `*.lock` finds such files wherever they are. Letter case counts.
"""

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase


def fits_any(name: str, patterns: Iterable[str]) -> bool:
    """Whether one of the patterns fits a name."""
    return any(fits(name, pattern) for pattern in patterns)


def fits(name: str, pattern: str) -> bool:
    """Whether a pattern fits a name or a path. Takes time in proportion to the product of their parts, whatever they
    are."""
    parts = name.split("/")
    if "/" not in pattern:
        return fnmatchcase(parts[-1], pattern)
    return _fits(parts, pattern.strip("/").split("/"))


def _fits(parts: Sequence[str], patterns: Sequence[str]) -> bool:
    """`reached` holds how many of the parts may have been taken by the patterns so far."""
    reached = {0}
    for pattern in patterns:
        if pattern == "**":
            reached = set(range(min(reached), len(parts) + 1))
        else:
            reached = {at + 1 for at in reached if at < len(parts) and fnmatchcase(parts[at], pattern)}
        if not reached:
            return False
    return len(parts) in reached
