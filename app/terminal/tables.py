"""Tables that fit a line: the widest column is cut, and what is least needed is left out where lines are short."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from rich.cells import cell_len
from rich.text import Text

from app.terminal.text import one_line

GAP = 2
"""Spaces between columns."""
LEAST = 10
"""Characters that the column which is cut shall have at least."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table."""

    title: str
    side: Literal["left", "right"] = "left"
    is_cut: bool = False
    """Whether it gets what the others leave."""
    needed: int = 9
    """Columns with the least number are left out first where the line is short."""


Row = Sequence[str | Text]


def fitted(columns: Sequence[Column], rows: Sequence[Row], width: int | None) -> list[Text]:
    """The title line and a line for each row, none of them wider than `width`; whole lines where that is None."""
    lines = [[Text(column.title, "bold") for column in columns], *([_cell(each) for each in row] for row in rows)]
    widths = [max(cell_len(line[place].plain) for line in lines) for place in range(len(columns))]
    shown = list(range(len(columns)))
    if width is not None:
        while len(shown) > 1 and _least(columns, widths, shown) > width:
            shown.remove(min(shown, key=lambda place: (columns[place].needed, place)))
        _cut_to(width, columns, widths, shown)
    return [_line([(line[place], columns[place], widths[place]) for place in shown]) for line in lines]


def _least(columns: Sequence[Column], widths: Sequence[int], shown: Sequence[int]) -> int:
    least = (min(widths[place], LEAST) if columns[place].is_cut else widths[place] for place in shown)
    return sum(least) + GAP * (len(shown) - 1)


def _cut_to(width: int, columns: Sequence[Column], widths: list[int], shown: Sequence[int]) -> None:
    too_wide = sum(widths[place] for place in shown) + GAP * (len(shown) - 1) - width
    if too_wide > 0:
        place = next((each for each in shown if columns[each].is_cut), shown[-1])
        widths[place] = max(widths[place] - too_wide, 1)


def _line(cells: Sequence[tuple[Text, Column, int]]) -> Text:
    line = Text()
    for number, (cell, column, width) in enumerate(cells):
        cell = cell.copy()
        cell.truncate(width, overflow="ellipsis")
        space = width - cell.cell_len
        line.append(" " * (GAP if number else 0) + (" " * space if column.side == "right" else ""))
        line.append_text(cell)
        if column.side == "left":
            line.append(" " * space)
    line.rstrip()
    return line


def _cell(value: str | Text) -> Text:
    return value if isinstance(value, Text) else Text(one_line(value))
