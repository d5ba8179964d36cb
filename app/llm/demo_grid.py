"""Tables of figures as the demo model reads, joins, prints and words them."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

ROWS = "rows"
"""The column that counts rows."""
INPUT = "input"
"""The column that says which input a row is about."""
MEASURES = ("sum of ", "mean of ", "median of ", "largest ", "smallest ")
"""How the names of all other columns of figures begin."""
ROWS_TOLD = 4
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")


@dataclass(frozen=True, slots=True)
class Grid:
    """A table: what its columns are called, and its rows."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    complete: bool = True
    """Whether there are no more rows than these."""

    @property
    def keys(self) -> list[int]:
        """The places of the columns that say what a row is about."""
        return [place for place, name in enumerate(self.header) if name != ROWS and not name.startswith(MEASURES)]

    @property
    def measures(self) -> list[int]:
        """The places of the columns that hold figures other than the count of rows."""
        return [place for place, name in enumerate(self.header) if name.startswith(MEASURES)]

    def label(self, row: Sequence[str]) -> str:
        """What a row is about."""
        return ", ".join(row[place] for place in self.keys)

    def printed(self) -> str:
        """The table in Markdown."""
        lines = [self.header, ("---",) * len(self.header), *self.rows]
        return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def grids_in(text: str) -> list[Grid]:
    """The Markdown tables in a text whose lines begin with them."""
    grids: list[Grid] = []
    for block in re.findall(r"(?:^\|.*\|$\n?){2,}", text, re.MULTILINE):
        header, _, *rows = [_cells(line) for line in block.rstrip("\n").split("\n")]
        grids.append(Grid(header, tuple(row for row in rows if len(row) == len(header))))
    return grids


def _cells(line: str) -> tuple[str, ...]:
    cells = re.split(r"(?<!\\)\|", line)[1:-1]
    return tuple(_plain(cell.strip().replace("\\|", "|")) for cell in cells)


def _plain(cell: str) -> str:
    """A number without zeros that say nothing."""
    return re.sub(r"\.0+$", "", cell) if _NUMBER.fullmatch(cell) else cell


def number_in(cell: str) -> Decimal | None:
    """The cell as a number, if it is one."""
    return Decimal(cell) if _NUMBER.fullmatch(cell) else None


def as_json(number: Decimal) -> int | float:
    """The number as data have it."""
    return int(number) if number == number.to_integral_value() else float(number)


def in_words(grid: Grid, source: str = "", *, whole: bool = False) -> str:
    """The figures of a table in a sentence; `whole` when all rows of the source are in them."""
    if not grid.rows:
        return f"{source or 'The data'} has no such rows."
    if len(grid.rows) > 1:
        return _ranked(grid)
    row = grid.rows[0]
    about = f"For {grid.label(row)}, " if grid.keys else ""
    count = row[grid.header.index(ROWS)]
    counted = "1 row" if count == "1" else f"{'all ' if whole else ''}{count} rows"
    told = " and ".join(f"the {grid.header[place]} is {row[place]}" for place in grid.measures)
    where = f" of {source}" if source else ""
    sentence = f"{about}{told}, over {counted}{where}." if told else f"{about}the number of rows{where} is {count}."
    return sentence[:1].upper() + sentence[1:]


def _ranked(grid: Grid) -> str:
    place = next(iter(grid.measures), None)
    if place is None:
        place = grid.header.index(ROWS)
    figure = "number of rows" if grid.header[place] == ROWS else grid.header[place]
    known = [
        (number, grid.label(row), row[place]) for row in grid.rows if (number := number_in(row[place])) is not None
    ]
    ranking = [f"{label} ({cell})" for _, label, cell in sorted(known, key=lambda each: each[0], reverse=True)]
    by = " and ".join(grid.header[key] for key in grid.keys)
    begin = f"By {by}, the {figure} is largest for " if by else f"The {figure} is largest for "
    if not ranking:
        return f"No {figure} can be worked out."
    if len(ranking) > ROWS_TOLD and grid.complete:
        return f"{begin}{ranking[0]} and smallest for {ranking[-1]}, of {len(ranking)}."
    return f"{begin}{', then '.join(ranking if grid.complete else ranking[:2])}."


def compared(grids: Mapping[str, Iterable[Grid]]) -> tuple[Grid, list[str]] | None:
    """The rows that several tasks have brought on the same figures, as one table, with those tasks; by id of a task."""
    shared: dict[tuple[str, ...], dict[str, list[tuple[str, ...]]]] = {}
    for task, brought in grids.items():
        for grid in brought:
            if grid.keys and ROWS in grid.header:
                shared.setdefault(grid.header, {}).setdefault(task, []).extend(grid.rows)
    header, parts = max(shared.items(), key=lambda item: len(item[1]), default=((), {}))
    rows = tuple(dict.fromkeys(row for part in parts.values() for row in part))
    if len(parts) < 2 or len(rows) < 2:
        return None
    return Grid(header, rows), list(parts)
