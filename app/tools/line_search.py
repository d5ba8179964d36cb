"""Where a text stands in the lines of another, whatever the typography: linear in time, and a block at a time."""

from collections.abc import Iterator
from dataclasses import dataclass

from app.domain.lines import LINE_CHARACTERS, Block, Lines
from app.tools.likeness import folded

MATCH_CHARACTERS = 300
_OVERLAP = 1_000
"""Characters of the next part of a long line that a match may reach into."""


@dataclass(frozen=True, slots=True)
class Match:
    """A line that holds the text."""

    number: int
    text: str
    """The line as it is, or the part of it around the match."""


def matches(lines: Lines, wanted: str) -> Iterator[Match]:
    """The lines that hold `wanted`, which is folded. Of a match across parts of a long line, the first part counts."""
    for block in lines.blocks:
        yield from _in_long_line(lines, block, wanted) if block.long else _in_short_lines(lines, block, wanted)


def _in_short_lines(lines: Lines, block: Block, wanted: str) -> Iterator[Match]:
    text = folded(lines.text[block.start : block.end])
    originals: list[str] = []
    at, index, counted = text.find(wanted), 0, 0
    while at >= 0:
        originals = originals or lines.of(block)
        index, counted = index + text.count("\n", counted, at), at
        before = at - (text.rfind("\n", 0, at) + 1)
        yield Match(block.first_line + index, _around(originals[index], before))
        end = text.find("\n", at)
        at = text.find(wanted, end) if end >= 0 else -1


def _in_long_line(lines: Lines, block: Block, wanted: str) -> Iterator[Match]:
    for index, start in enumerate(range(block.start, block.end, LINE_CHARACTERS)):
        end = min(start + LINE_CHARACTERS, block.end)
        at = folded(lines.text[start : min(end + _OVERLAP, block.end)]).find(wanted)
        if 0 <= at < max(len(folded(lines.text[start:end])), 1):
            yield Match(block.first_line + index, _around(lines.text[start : min(end + _OVERLAP, block.end)], at))


def _around(line: str, at: int) -> str:
    """The part of a line that holds the match, which begins at `at` when the line is folded."""
    if len(line) > MATCH_CHARACTERS:
        at = _unfolded(line, at)
    start = max(0, min(at - MATCH_CHARACTERS // 3, len(line) - MATCH_CHARACTERS))
    end = start + MATCH_CHARACTERS
    return ("…" if start else "") + line[start:end] + ("…" if end < len(line) else "")


def _unfolded(line: str, at: int) -> int:
    """About where a place in the folded line is in the line itself."""
    low, high = 0, len(line)
    while low < high:
        middle = (low + high) // 2
        if len(folded(line[:middle])) < at:
            low = middle + 1
        else:
            high = middle
    return low
