"""Markdown that holds texts of others: none of them can end its place, or look like a part of what is around it."""

import re

_SPECIAL = re.compile(r"[\\`*_\[\]<>~&|!]|^[#+=-]|:(?=//)")
_LISTED = re.compile(r"^(\d+)([.)])")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)$")
_TAG = re.compile(r"<(?=[A-Za-z/!?])")
_SPACES = re.compile(r"\s+")
_UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]")
"""What ends a line for some reader, is not seen, or turns the direction of what is."""


def plain(text: str) -> str:
    """Running text as one line in which nothing means anything."""
    line = _SPACES.sub(" ", _UNSEEN.sub(" ", text)).strip()
    return _LISTED.sub(r"\1\\\2", _SPECIAL.sub(r"\\\g<0>", line))


def code(text: str) -> str:
    """Text as a code span on one line."""
    shown = _SPACES.sub(" ", _UNSEEN.sub(" ", text)).strip() or " "
    ticks = "`" * (1 + max((len(run) for run in re.findall("`+", shown)), default=0))
    space = " " if shown[0] == "`" or shown[-1] == "`" else ""
    return f"{ticks}{space}{shown}{space}{ticks}"


def code_in_cell(text: str) -> str:
    """Text as a code span in a cell of a table, where a bar would end it."""
    return code(text).replace("|", "\\|")


def block(text: str) -> str:
    """Text as a block of code that nothing in it ends."""
    ticks = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", text)), default=0))
    lines = _UNSEEN.sub(" ", text.replace("\r\n", "\n").replace("\r", "\n"))
    return f"{ticks}\n{lines.rstrip()}\n{ticks}"


def quoted(text: str) -> str:
    """Markdown of others as a quotation: it keeps its form, every line of it stands behind a mark, and there are no
    tags and no pictures in it."""
    lines = _UNSEEN.sub(" ", text.replace("\r\n", "\n").replace("\r", "\n")).strip("\n").split("\n")
    shown: list[str] = []
    fence = ""
    for line in lines:
        found = _FENCE.match(line)
        if fence:
            ends = found is not None and found[1].startswith(fence) and not found[2].strip()
            fence = "" if ends else fence
            shown.append(line)
            continue
        if found is not None and not (found[1][0] == "`" and "`" in found[2]):
            fence = found[1]
            shown.append(line)
            continue
        shown.append(_TAG.sub("&lt;", line).replace("![", "\\!["))
    return "\n".join(f"> {line}".rstrip() for line in shown)
