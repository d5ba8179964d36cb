"""What a CSV file's first rows say about it that types alone do not: notes above the table, and names that are numbers.

DuckDB takes a first row for names when its types differ from those below. Years, months and identifiers over columns of
numbers have the same type as these, so that a pivoted table would lose its names and gain a row.
"""

import csv
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice, pairwise

ROWS_LOOKED_AT = 60
CHARACTERS_LOOKED_AT = 200_000
NOTES_ABOVE = 20
FIRST_YEAR, LAST_YEAR = 1900, 2100

_WHOLE = re.compile(r"[0-9]{1,18}")
_VALUE = re.compile(r"[-+(]?[0-9][-+0-9.,:/ %TZ)]*")
"""A number, a day, a time: what is no name unless there is more to say for it."""

_MEASURED = re.compile(r"-[0-9]{1,300}|[-+]?[0-9]{1,300}[.,][0-9]{1,300}")

Row = tuple[str, ...]


def first_rows(text: str, delimiter: str, quote: str) -> list[tuple[int, Row]]:
    """The first rows, each with the place in `text` where it begins; trailing empty cells are left out."""
    lines = _Lines(text[:CHARACTERS_LOOKED_AT])
    quoting = {"quotechar": quote} if quote else {"quoting": csv.QUOTE_NONE}
    reader = csv.reader(lines, delimiter=delimiter, **quoting)
    rows: list[tuple[int, Row]] = []
    start = 0
    try:
        for cells in islice(reader, ROWS_LOOKED_AT):
            rows.append((start, _filled(cells)))
            start = lines.given
    except csv.Error:  # a cell of more than 128 kB, or a NUL: the rows before it will do
        pass
    return rows


class _Lines:
    """The lines of a text, and how many characters of it have been given."""

    def __init__(self, text: str) -> None:
        self._lines = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+").finditer(text)
        self.given = 0

    def __iter__(self) -> Iterator[str]:
        for line in self._lines:
            self.given = line.end()
            yield line[0]


def _filled(cells: Sequence[str]) -> Row:
    stripped = [cell.strip() for cell in cells]
    while stripped and not stripped[-1]:
        stripped.pop()
    return tuple(stripped)


def row_of_names(rows: Sequence[Row]) -> int:
    """The index of the row that holds the names where notes stand above it; 0 where nothing speaks for that.

    Notes are rows of at most half the cells that most rows have.
    """
    widths = Counter(len(row) for row in rows if row)
    if not widths:
        return 0
    usual = max(widths, key=lambda width: (widths[width], width))
    index = next((index for index, row in enumerate(rows[: NOTES_ABOVE + 1]) if len(row) >= usual), 0)
    if any(len(row) > usual // 2 for row in rows[:index]):
        return 0
    return index if are_names(rows[index], rows[index + 1 :]) else 0


def are_names(row: Row, below: Sequence[Row]) -> bool:
    """Whether a row reads as names, by itself and against what is below it."""
    if any(_VALUE.fullmatch(cell) for cell in row):
        return numbers_are_names(row, below)
    return all(row) and _are_different(row)


def numbers_are_names(row: Row, below: Sequence[Row]) -> bool:
    """Whether a row with numbers in it reads as names: years, a count from 1, or identifiers longer than all values."""
    places = [place for place, cell in enumerate(row) if _VALUE.fullmatch(cell)]
    if not places or not below or not all(row) or not _are_different(row):
        return False
    if not all(_WHOLE.fullmatch(row[place]) for place in places):
        return False
    numbers = [int(row[place]) for place in places]
    under = [_at(places, other) for other in below if other]
    return _are_years(numbers, under) or _is_count(numbers, under) or _are_identifiers(numbers, row, under)


def is_measured(row: Row, below: Sequence[Row]) -> bool:
    """Whether a row holds what no name over numbers is: negative numbers, or fractions that do not rise."""
    places = [place for place, cell in enumerate(row) if _MEASURED.fullmatch(cell)]
    values = [float(row[place].replace(",", ".")) for place in places]
    under = [cell for other in below for cell in _at(places, other) if cell]
    rising = len(values) > 1 and all(0 <= a < b for a, b in pairwise(values))
    return bool(under) and not rising and all(_VALUE.fullmatch(cell) for cell in under)


def _are_different(row: Row) -> bool:
    return len({cell.casefold() for cell in row}) == len(row)


def _at(places: Sequence[int], row: Row) -> list[str]:
    return [row[place] if place < len(row) else "" for place in places]


def _are_years(numbers: list[int], under: list[list[str]]) -> bool:
    values = [cell for row in under for cell in row if cell]
    years = sum(1 for cell in values if _WHOLE.fullmatch(cell) and FIRST_YEAR <= int(cell) <= LAST_YEAR)
    in_order = all(a < b for a, b in pairwise(numbers)) or all(a > b for a, b in pairwise(numbers))
    return all(FIRST_YEAR <= number <= LAST_YEAR for number in numbers) and in_order and years * 2 <= len(values)


def _is_count(numbers: list[int], under: list[list[str]]) -> bool:
    """Months, days, weeks, hours: 1, 2, 3 … or 0, 1, 2 …, which no other row is."""
    if len(numbers) < 3 or numbers != list(range(numbers[0], numbers[0] + len(numbers))) or numbers[0] > 1:
        return False
    counts = [[str(number) for number in numbers], [f"{number:02}" for number in numbers]]
    return not any(row in counts for row in under)


def _are_identifiers(numbers: list[int], row: Row, under: list[list[str]]) -> bool:
    """Rising numbers of one length under a text, where every value below is shorter."""
    lengths = {len(str(number)) for number in numbers}
    if len(lengths) != 1 or len(numbers) == len(row) or len(under) < 2:
        return False
    length = lengths.pop()
    values = [cell for cells in under for cell in cells if cell]
    shorter = all(_VALUE.fullmatch(cell) and len(re.split("[.,]", cell)[0].lstrip("-+")) < length for cell in values)
    return length >= 3 and bool(values) and shorter and all(a < b for a, b in pairwise(numbers))
