"""Markdown that holds texts of others: none of them can end its place, or look like a part of what is around it."""

import re
from collections.abc import Sequence

_SPECIAL = re.compile(r"[\\`*_\[\]<>~&|!]|^[#+=-]|:(?=//)|(?<=[wW]{3})\.")
_LISTED = re.compile(r"^(\d+)([.)])")
_TICKS = re.compile(r"`{3}|~{3}")
_FENCE = re.compile(r"(`{3,}|~{3,})([\w+#.-]*)")
_NAMED = re.compile(r"@(?=\w)")
_TAG = re.compile(r"<(?=[A-Za-z/!?])")
_SPACES = re.compile(r"\s+")
_UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]")
"""What ends a line for some reader, is not seen, or turns the direction of what is."""


def plain(text: str) -> str:
    """Running text as one line in which nothing means anything."""
    line = _SPACES.sub(" ", _UNSEEN.sub(" ", text)).strip()
    return unnamed(_LISTED.sub(r"\1\\\2", _SPECIAL.sub(r"\\\g<0>", line)))


def code(text: str) -> str:
    """Text as a code span on one line."""
    shown = _SPACES.sub(" ", _UNSEEN.sub(" ", text)).strip() or " "
    ticks = "`" * _longer_than_in(shown)
    space = " " if shown[0] == "`" or shown[-1] == "`" else ""
    return f"{ticks}{space}{shown}{space}{ticks}"


def code_in_cell(text: str) -> str:
    """Text as a code span in a cell of a table, where a bar would end it."""
    return code(text).replace("|", "\\|")


def block(text: str) -> str:
    """Text as a block of code that nothing in it ends."""
    ticks = "`" * max(3, _longer_than_in(text))
    return f"{ticks}\n{_seen(text).rstrip()}\n{ticks}"


def quoted(text: str) -> str:
    """Markdown of others as a quotation: it keeps its form, every line of it stands behind a mark, and there are no
    tags, no pictures and no mentions in it.

    Only what every reader takes for a fenced block stands as it is: a fence at the first column, which is closed there.
    From the first mark on that some reader could take otherwise, within a list say, nothing does.
    """
    lines = _seen(text).strip("\n").split("\n")
    fenced = _surely_fenced(lines)
    shown = (line if number in fenced else _inert(line) for number, line in enumerate(lines))
    return "\n".join(f"> {line}".rstrip() for line in shown)


def _seen(text: str) -> str:
    """Text with one kind of line end, and a space for each character that is not seen."""
    return _UNSEEN.sub(" ", text.replace("\r\n", "\n").replace("\r", "\n"))


def _longer_than_in(text: str) -> int:
    """How many marks are one more than stand together anywhere in a text."""
    return 1 + max((len(run) for run in re.findall("`+", text)), default=0)


def _surely_fenced(lines: Sequence[str]) -> set[int]:
    """The lines that every reader takes for those of a fenced block, by number; its fences are among them."""
    found: set[int] = set()
    fence, since = "", 0
    for number, line in enumerate(lines):
        if not _TICKS.search(line):
            continue
        mark = _FENCE.fullmatch(line)
        if mark is None or (fence and (mark[1] != fence or mark[2])):
            break
        if fence:
            found.update(range(since, number + 1))
            fence = ""
        else:
            fence, since = mark[1], number
    return found


def _inert(line: str) -> str:
    """A line of Markdown without tags, pictures and mentions. The mark of a picture is parted behind its first
    character: what stands before it may be a backslash."""
    return unnamed(_TAG.sub("&lt;", line).replace("![", "!\\["))


def unnamed(text: str) -> str:
    """Text in which nobody is named, and no address is one: a joiner that is not seen stands behind each `@`."""
    return _NAMED.sub("@\u200d", text)
