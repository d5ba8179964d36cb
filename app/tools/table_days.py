"""Days written with slashes, dots or dashes: which part is the month, and when nobody can tell.

One file has one order. A part beyond 12 gives it away for all columns; dots mean that the day comes first. Where
nothing gives it away such columns stay text, since half of the readers would read them wrongly.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Order = Literal["day", "month"]

_DAY = re.compile(r"\A\s*[0-9]{1,2}([/.-])[0-9]{1,2}\1([0-9]{4}|[0-9]{2})(?![0-9])")
DAY_IN_SQL = r"^\s*([0-9]{1,2})[/.-]([0-9]{1,2})[/.-]([0-9]{4}|[0-9]{2})(\s*|[ T].*)$"


@dataclass(frozen=True, slots=True)
class Days:
    """What a column of days is like, all its values seen."""

    column: str
    separator: str
    year_digits: int
    greatest_first: int
    greatest_second: int
    pure: bool
    """Whether every value is a day of this form and nothing else."""

    def written_as(self, order: Order) -> str:
        """The form of the days, as `strptime` takes it."""
        first, second = ("%d", "%m") if order == "day" else ("%m", "%d")
        return self.separator.join([first, second, "%Y" if self.year_digits == 4 else "%y"])


def form_of_day(cells: Sequence[str]) -> tuple[str, int] | None:
    """Separator and digits of the year, where one of the cells is a day whose order could be in doubt."""
    found = next((day for cell in cells if (day := _DAY.match(cell))), None)
    return (found[1], len(found[2])) if found else None


def order_of(columns: Sequence[Days]) -> Order | None:
    """The order that all days of a file have; None where nothing tells, or the columns contradict each other."""
    day_first = any(days.greatest_first > 12 or days.separator == "." for days in columns)
    month_first = any(days.greatest_second > 12 for days in columns)
    if day_first == month_first:
        return None
    return "day" if day_first else "month"
