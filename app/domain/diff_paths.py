"""The paths that a unified diff names: git quotes some, puts letters before most, and says elsewhere what has moved."""

import re
from collections.abc import Sequence

from app.domain.text import clean_text

NOWHERE = "/dev/null"

_LETTERS = frozenset({"ab", "iw", "ci", "cw", "ow", "12"})
"""What git puts before the two paths of a file, in whatever order."""
_ESCAPED = re.compile(r'\\([0-7]{1,3}|[abfnrtv"\\])')
_ESCAPES = {"a": 7, "b": 8, "t": 9, "n": 10, "v": 11, "f": 12, "r": 13, '"': 34, "\\": 92}
_GIT = "diff --git "
_SAYS = (
    "--- ", "+++ ", "rename from ", "rename to ", "copy from ", "copy to ", "new file mode ", "deleted file mode ",
)  # fmt: skip


def paths_of(head: Sequence[str], default: tuple[str, str]) -> tuple[str, str, bool]:
    """Old path, new path, and whether the file was renamed; `NOWHERE` for a side on which there is no file.

    `head` is what stands before the first hunk; `default` is for one that is not git's and names nothing. Raises
    `ValueError` for a head that names no file.
    """
    said = {start: _path(line.removeprefix(start)) for line in head for start in _SAYS if line.startswith(start)}
    if "rename from " in said and "rename to " in said:
        return said["rename from "], said["rename to "], True
    if "copy from " in said and "copy to " in said:
        return NOWHERE, said["copy to "], False
    first = head[0] if head else ""
    old, new = _twice(first.removeprefix(_GIT)) if first.startswith(_GIT) else default
    old, new = said.get("--- ", old), said.get("+++ ", new)
    # One side may be named in git's own header alone, of a file that is empty or binary.
    old = NOWHERE if "new file mode " in said else old
    new = NOWHERE if "deleted file mode " in said else new
    if not (old and new) or old == new == NOWHERE:
        raise ValueError("no file is named")
    return *_without_letters(old, new, first), False


def _path(named: str) -> str:
    return unquoted(named.partition("\t")[0])


def _twice(names: str) -> tuple[str, str]:
    """The two paths of git's header, which are the same but for their letters wherever nothing else names them."""
    half = len(names) // 2
    if len(names) % 2 == 0 or names[half] != " ":
        return "", ""
    return unquoted(names[:half]), unquoted(names[half + 1 :])


def unquoted(path: str) -> str:
    """A path without git's quotes: what stands in them is escaped as in C, byte by byte."""
    if not (len(path) > 1 and path.startswith('"') and path.endswith('"')):
        return clean_text(path)
    raw = bytearray()
    at = 1
    for found in _ESCAPED.finditer(path, 1, len(path) - 1):
        code = found[1]
        raw += path[at : found.start()].encode(errors="replace")
        raw.append(_ESCAPES[code] if code in _ESCAPES else int(code, 8) & 0xFF)
        at = found.end()
    raw += path[at:-1].encode(errors="replace")
    return clean_text(raw.decode(errors="replace"))


def _without_letters(old: str, new: str, header: str) -> tuple[str, str]:
    if NOWHERE in (old, new):
        named = new if old == NOWHERE else old
        bare = named if header == f"{_GIT}{named} {named}" else _bare(named)
        return (NOWHERE, bare) if old == NOWHERE else (bare, NOWHERE)
    letters = {old[:1] + new[:1], new[:1] + old[:1]}
    if old[1:2] == new[1:2] == "/" and letters & _LETTERS:
        return old[2:], new[2:]
    return old, new


def _bare(path: str) -> str:
    return path[2:] if path[1:2] == "/" and path[:1] in "abciow12" else path
