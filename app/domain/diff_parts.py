"""A file of a diff in parts, where it is too long to be shown at once: each is a diff of the file by itself.

A hunk may be parted at any line; both parts get headers that say where they are.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from app.domain.material import HUNK, Item, row_characters

_LEAST = 2_000
"""Characters that a part shows at least beside the names of the file."""


@dataclass(slots=True)
class _Part:
    """A part while it is filled."""

    first: int
    last: int
    lines: list[str] = field(default_factory=list)
    used: int = 0


@dataclass(slots=True)
class _Hunk:
    """A hunk, or what is left of one: where its next line is on either side."""

    old: int
    new: int
    old_left: int
    new_left: int
    at: int = -1
    """Where its header stands in the part that is being filled; it is written once its lines are known."""
    began: tuple[int, int] = (0, 0)

    @property
    def header(self) -> str:
        """The header of what of it is in that part."""
        old, new = self.began
        return f"@@ -{old},{self.old - old} +{new},{self.new - new} @@"

    def pass_over(self, line: str) -> None:
        if not line.startswith("\\"):
            self.old, self.old_left = self.old + (not line.startswith("+")), self.old_left - (not line.startswith("+"))
            self.new, self.new_left = self.new + (not line.startswith("-")), self.new_left - (not line.startswith("-"))


def parts_of(item: Item, room: int) -> Sequence[Item]:
    """The file in parts of at most so many characters as they are shown; as it is where that is enough."""
    lines = item.text.removesuffix("\n").split("\n")
    head = next((number for number, line in enumerate(lines) if HUNK.match(line)), None)
    if item.size <= room or head is None:
        return [item]
    around = len(item.described) + 40 + sum(map(row_characters, lines[:head]))
    parts = list(_parted(lines, head, max(room - around, _LEAST)))
    return [
        replace(
            item,
            first=item.first + (0 if number == 1 else part.first),
            last=item.first + part.last,
            text="\n".join([*lines[:head], *part.lines]) + "\n",
            note=f"{item.note}, part {number} of {len(parts)}",
        )
        for number, part in enumerate(parts, 1)
    ]


def _parted(lines: Sequence[str], head: int, room: int) -> Iterator[_Part]:
    part, hunk = _Part(head, head), _Hunk(0, 0, 0, 0)
    for number, line in enumerate(lines[head:], head):
        cost = row_characters(line)
        is_over = hunk.old_left <= 0 and hunk.new_left <= 0
        begins = HUNK.match(line) if is_over else None
        if part.lines and part.used + cost > room and not line.startswith("\\"):
            _close(part, hunk)
            yield part
            part, hunk.at = _Part(number, number), -1
        if begins:
            _close(part, hunk)
            old, new = int(begins[1]), int(begins[3])
            hunk = _Hunk(old, new, int(begins[2] or 1), int(begins[4] or 1))
        elif hunk.at < 0:
            part.used += row_characters("@@ -1000,1000 +1000,1000 @@")
        if hunk.at < 0:
            hunk.at, hunk.began = len(part.lines), (hunk.old, hunk.new)
            part.lines.append("@@")
        if not begins:
            part.lines.append(line)
            hunk.pass_over(line)
        part.used += cost
        part.last = number
    _close(part, hunk)
    yield part


def _close(part: _Part, hunk: _Hunk) -> None:
    """Write the header of a hunk whose lines in this part are known."""
    if 0 <= hunk.at < len(part.lines):
        part.lines[hunk.at] = hunk.header
