"""The sections of a document, by its headings: those of Markdown, and numbered ones.

A line is taken for a numbered heading only when it looks like nothing else: it stands behind an empty line, is short,
does not end like a sentence, and is no item of a list.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from app.domain.text import is_blank

HEADING_CHARACTERS = 120
"""A longer line is no heading but a sentence."""

_MARKED = re.compile(r" {0,3}(#{1,6})[ \t]+(\S.*)")
_UNDERLINE = re.compile(r" {0,3}(?:=+|-{2,})[ \t]*")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_NUMBERED = re.compile(r"(\d{1,3}(?:\.\d{1,3}){0,5})[.)]?[ \t]+(\S.*)")
_NAMED = re.compile(
    r"(?:article|section|chapter|clause|part|annex|appendix|schedule|§)\s*[0-9IVXA-Z][\w.]{0,9}\b.*", re.IGNORECASE
)
_SENTENCE_END = (".", ",", ";", ":", "?", "!")
_NO_HEADING = (">", "|", "-", "*", "+", "#", "`", "~", "=")
"""How lines begin that are parts of something else: an underline below them makes no heading of them."""


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a document, from its heading to the next one. Lines count from 1."""

    heading: str
    """Empty for what stands before the first heading, and for a document without any."""
    first: int
    last: int


def sections_of(lines: Sequence[str]) -> tuple[Section, ...]:
    """The sections of a document, which together have all of its lines. A heading with nothing of its own below it is
    part of the section that follows; a document without headings is one section. None of an empty document."""
    starts = [(0, ""), *_headings(lines)]
    ends = [*(at for at, _ in starts[1:]), len(lines)]
    sections: list[Section] = []
    first, told = 0, ""
    for (at, heading), end in zip(starts, ends, strict=True):
        told = f"{told}: {heading}" if told and heading and len(told) < HEADING_CHARACTERS else told or heading
        if all(is_blank(line) for line in lines[at + bool(heading) : end]) and end < len(lines):
            continue
        if not all(is_blank(line) for line in lines[first:end]):
            sections.append(Section(told, first + 1, end))
        first, told = end, ""
    return tuple(sections)


def _headings(lines: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Where headings begin, and what they say."""
    fence = ""
    for at, line in enumerate(lines):
        if mark := _FENCE.match(line):
            fence = "" if fence and mark[1].startswith(fence) else fence or mark[1]
        elif not fence and (heading := _heading_at(lines, at)):
            yield at, heading[:HEADING_CHARACTERS]


def _heading_at(lines: Sequence[str], at: int) -> str | None:
    line = lines[at][: 2 * HEADING_CHARACTERS]
    if marked := _MARKED.fullmatch(line):
        return marked[2].rstrip("# \t") or marked[2]
    plain = line.strip()
    if not plain or len(plain) > HEADING_CHARACTERS or (at and not is_blank(lines[at - 1])):
        return None
    following = lines[at + 1][:HEADING_CHARACTERS] if at + 1 < len(lines) else ""
    if _UNDERLINE.fullmatch(following) and not plain.startswith(_NO_HEADING):
        return plain
    if plain.endswith(_SENTENCE_END) and not _NUMBERED.fullmatch(plain.rstrip(".:")):
        return None
    if _NAMED.fullmatch(plain) and not plain.endswith(_SENTENCE_END[:3]):
        return plain
    return plain if _is_numbered(plain, following) else None


def _is_numbered(plain: str, following: str) -> bool:
    """Whether a line is a numbered heading. One behind which the next number of the same kind stands is an item."""
    numbered = _NUMBERED.fullmatch(plain)
    if numbered is None or numbered[2].endswith(_SENTENCE_END):
        return False
    behind = _NUMBERED.fullmatch(following.strip())
    return behind is None or behind[1].count(".") != numbered[1].count(".")
