"""The lines of a long text, found without taking all of it apart.

A line that is longer than `LINE_CHARACTERS` counts as several, so that every part of it can be read. Lines are counted
by blocks, each by a few calls that run at the speed of memory; only the block that is asked for is split.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

LINE_CHARACTERS = 2_000
BLOCK_CHARACTERS = 32_000
HIGHEST_LINE = 100_000_000
"""What a line may be numbered by whoever names one."""


@dataclass(frozen=True, slots=True)
class Block:
    """Whole lines, or one line that counts as several."""

    start: int
    end: int
    """Without the end of the last line."""
    first_line: int
    count: int
    long: bool
    """Whether it is one line that counts as several."""


@dataclass(frozen=True, slots=True)
class Lines:
    """A text with one kind of line end, and where its lines are."""

    text: str
    blocks: tuple[Block, ...]

    @property
    def count(self) -> int:
        """How many lines there are."""
        return self.blocks[-1].first_line + self.blocks[-1].count - 1

    @property
    def continued(self) -> Iterator[int]:
        """The numbers of those that go on with the line before, which counts as several."""
        for block in self.blocks:
            if block.long:
                yield from range(block.first_line + 1, block.first_line + block.count)

    def from_line(self, first: int) -> Iterator[str]:
        """The lines from number `first` on."""
        for block in self.blocks:
            if block.first_line + block.count > first:
                yield from self.of(block)[max(first - block.first_line, 0) :]

    def of(self, block: Block) -> list[str]:
        """The lines of a block."""
        if not block.long:
            return self.text[block.start : block.end].split("\n")
        return [
            self.text[start : min(start + LINE_CHARACTERS, block.end)]
            for start in range(block.start, block.end, LINE_CHARACTERS)
        ]


def lines_of(text: str) -> Lines:
    """The lines of a text with line ends of any kind. One at the very end begins no further line."""
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    text = text.removesuffix("\n")
    blocks: list[Block] = []
    start, number = 0, 1
    while start <= len(text):
        block = _block(text, start, number)
        blocks.append(block)
        start, number = block.end + 1, number + block.count
    return Lines(text, tuple(blocks))


def _block(text: str, start: int, number: int) -> Block:
    """The block that begins at `start`: as many whole short lines as fit, or one long line."""
    end = start
    while end - start < BLOCK_CHARACTERS:
        # The last line end within reach: every line before it is short.
        found = text.rfind("\n", end, end + LINE_CHARACTERS + 1)
        if found < 0:
            break
        end = found + 1
    if end - start >= BLOCK_CHARACTERS:
        return Block(start, end - 1, number, text.count("\n", start, end), long=False)
    if len(text) - end <= LINE_CHARACTERS:  # what is left is one short line
        return Block(start, len(text), number, text.count("\n", start) + 1, long=False)
    if end > start:
        return Block(start, end - 1, number, text.count("\n", start, end), long=False)
    end = text.find("\n", start)
    end = len(text) if end < 0 else end
    return Block(start, end, number, math.ceil((end - start) / LINE_CHARACTERS), long=True)
