"""Figures in running text: what a number that somebody wrote may mean, and whether one stands in other texts.

The same figure is written in many ways: 1,234.5 and 1.234,5 and 1234.5; 12 % and 0.12; 41.2 M, 41,200 (in thousands)
and 41.2 million. So a figure has readings, and one of them is enough. Signs are left aside: a loss of 4 may be written
as -4.
"""

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import floor, isfinite, log10
from typing import Any

SMALL = 12
"""Plain whole numbers up to this are counts, list numbers, hours: nobody looks for them in a result."""
ROUNDING_ALLOWED = 0.05
"""What a rounded figure may differ from the one it stands for, as a part of it."""
_SAME = 1e-9
_YEARS = range(1000, 3000)
OUR_TIME = range(1800, 2101)

_TOKEN = re.compile(r"\d+(?:[.,'\u2019\u00a0\u2009\u202f]\d+| \d{3}(?!\d))*")
_UNIT = re.compile(
    r"[ \u00a0\u2009\u202f-]?(?:(?P<percent>%|per ?cent\b|pct\b|percentage points?\b|Prozent\b)"
    r"|(?P<scale>thousand|million|billion|trillion|Tausend|Millionen|Milliarden|Mio|Mrd|mn|bn|tn|[kKMBm])(?![\w-]))",
)
_SCALES = {
    "k": 1e3, "K": 1e3, "thousand": 1e3, "Tausend": 1e3, "m": 1e6, "M": 1e6, "mn": 1e6, "Mio": 1e6, "million": 1e6,
    "Millionen": 1e6, "B": 1e9, "bn": 1e9, "Mrd": 1e9, "billion": 1e9, "Milliarden": 1e9, "tn": 1e12, "trillion": 1e12,
}  # fmt: skip
_OF_TABLES = (
    (1e3, re.compile(r"\b(?:in |of )?thousands?\b|\bin k\b|\bTEUR\b|\bkEUR\b|'000|\$k\b|\bk ?USD\b", re.IGNORECASE)),
    (1e6, re.compile(r"\bmillions?\b|\bin m\b|\bMio\b|\bm(?:USD|EUR)\b|_m(?:usd|eur)?\b|_millions?\b", re.IGNORECASE)),
    (1e9, re.compile(r"\bbillions?\b|\bin bn\b|\bMrd\b|_bn\b", re.IGNORECASE)),
)
"""Words by which a text says that its plain figures stand for more."""
_CURRENCY = re.compile(r"(?:[$€£¥]|\b(?:USD|EUR|GBP|CHF|JPY|CNY|INR))[ \u00a0]?$")
_CURRENCY_AFTER = re.compile(r"[ \u00a0]?(?:[$€£¥]|(?:USD|EUR|GBP|CHF|JPY|CNY|INR)\b)")
_SPACES = re.compile("['\u2019\u00a0\u2009\u202f ]")
_WORDS = (
    ["eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"],
    ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"],
    ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine"],
)
_NUMBER_WORD = re.compile(rf"\b(?:{'|'.join(_WORDS[0])}|(?:{'|'.join(_WORDS[1])})(?:[- ](?:{'|'.join(_WORDS[2])}))?)\b")
_PARTS = {"half": 0.5, "a third": 1 / 3, "two thirds": 2 / 3, "a quarter": 0.25, "three quarters": 0.75, "dozen": 12.0}
_PART_WORD = re.compile(rf"\b(?:{'|'.join(_PARTS)})\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Reading:
    """One thing that a figure may mean."""

    value: float
    grain: float
    """What its last digit counts: a rounded figure differs by half of that at most."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A number as somebody wrote it."""

    written: str
    readings: tuple[Reading, ...]
    parts: tuple["Figure", ...] = ()
    """What it is if the marks in it separate several: a list, a date, a version."""
    scaled: bool = False
    """Whether it has a unit that says what it counts: a percent sign, a word such as million."""
    priced: bool = False
    start: int = 0

    @property
    def bare(self) -> "Figure":
        """The number alone, without the word behind it that says how much it stands for."""
        if not self.scaled or not self.readings or self.readings[-1].grain:
            return self
        half = len(self.readings) // 2
        pairs = zip(self.readings[:half], self.readings[half:], strict=True)
        readings = tuple(Reading(alone.value, whole.grain * alone.value / (whole.value or 1)) for whole, alone in pairs)
        return Figure(self.written, readings, scaled=False, priced=True, start=self.start)

    @property
    def is_small(self) -> bool:
        """Whether it is a plain whole number as lists and counts have them."""
        plain = not self.scaled and not self.priced and self.written.isdigit()
        return plain and len(self.written) <= 3 and int(self.written) <= SMALL

    @property
    def is_year(self) -> bool:
        """Whether it looks like a year: such are never rounded."""
        return self.written.isdigit() and not self.scaled and not self.priced and int(self.written[:5]) in _YEARS


def figures_in(text: str) -> Iterator[Figure]:
    """Every number that is written in digits, in order. Numbers that grew together with letters are among them."""
    text = straight(text)
    for found in _TOKEN.finditer(text):
        yield _figure(text, found[0], found.start(), found.end())


def straight(text: str) -> str:
    """`text` with digits and percent signs as on a keyboard; as long as it was."""
    if text.isascii():
        return text
    return "".join(_plain(char) if char > "\u02ff" else char for char in text)


def _plain(char: str) -> str:
    folded = unicodedata.normalize("NFKC", char)
    return folded if len(folded) == 1 and (folded.isdigit() or folded == "%") else char


def _figure(text: str, token: str, start: int, end: int) -> Figure:
    values, parts = _read(token)
    unit = _UNIT.match(text, end)
    priced = bool(_CURRENCY.search(text[max(start - 5, 0) : start]) or _CURRENCY_AFTER.match(text, end))
    if unit is None:
        return Figure(token, tuple(values), _single(parts), priced=priced, start=start)
    factor = 0.01 if unit["percent"] else _SCALES[unit["scale"]]
    scaled = [Reading(each.value * factor, each.grain * factor) for each in values]
    if not unit["percent"]:  # Where a column says that it counts millions, it has the figure without them.
        values = [Reading(each.value, 0) for each in values]
    written = token + unit[0].rstrip()
    return Figure(written, (*scaled, *values), _single(parts), scaled=True, priced=priced, start=start)


def _single(parts: Iterable[str]) -> tuple[Figure, ...]:
    return tuple(Figure(part, (_whole(part),)) for part in parts)


def _whole(digits: str) -> Reading:
    """A whole number: the zeros at its end may have come by rounding."""
    digits = digits[:300]
    zeros = len(digits) - len(digits.rstrip("0")) if len(digits) > 1 else 0
    return Reading(float(int(digits)), 10.0**zeros)


def _decimal(digits: str, behind: str) -> Reading:
    return Reading(float(f"{int(digits[:300] or '0')}.{behind[:300]}"), 10.0 ** -len(behind[:300]))


def _read(token: str) -> tuple[list[Reading], list[str]]:
    """What a number with marks in it may mean: as one number, and as several."""
    parts = re.split(r"\D", token)
    if len(parts) == 1:
        return [_whole(token)], []
    marks = [mark for mark in token if not mark.isdigit()]
    kinds = list(dict.fromkeys("'" if _SPACES.match(mark) else mark for mark in marks))
    readings: list[Reading] = []
    if len(kinds) == 1 and _is_grouped(parts):
        readings.append(_whole("".join(parts)))
    is_last_once = kinds[-1] in ".," and marks.count(marks[-1]) == 1 and len(kinds) <= 2
    if readings and parts[-1].endswith("0"):
        is_last_once = False  # 2,000 is hardly ever a 2 with three places behind it.
    if is_last_once and (len(parts) == 2 or _is_grouped(parts[:-1])):
        readings.append(_decimal("".join(parts[:-1]), parts[-1]))
    return readings, parts if not readings or " " in token else []


def _is_grouped(parts: list[str]) -> bool:
    """Whether these are the groups of one large number, by thousands, or as in India."""
    if len(parts) < 2 or not 1 <= len(parts[0]) <= 3 or parts[0] == "0" or len(parts[-1]) != 3:
        return len(parts) == 1
    between = {len(part) for part in parts[1:-1]}
    return between <= {3} or (between <= {2} and len(parts[0]) <= 2)


class Bare(float):
    """The number before a word such as million, taken alone: 41 of 41 million. It stands for no other millions."""


class Year(float):
    """A year of our time, by its looks: nothing is a rounding of it."""


_KINDS: tuple[type[float], ...] = (float, Bare, Year)


class Seen:
    """The figures that stand in some texts and values."""

    def __init__(self, values: Iterable[float] = ()) -> None:
        told: dict[type[float], set[float]] = {kind: set() for kind in _KINDS}
        for value in values:
            if isfinite(value):
                told[type(value) if type(value) in told else float].add(abs(value))
        self._values, self._bare, self._years = (sorted(told[kind]) for kind in _KINDS)

    def __or__(self, others: "Seen | Iterable[float]") -> "Seen":
        return Seen([*self._all(), *(others._all() if isinstance(others, Seen) else others)])

    def _all(self) -> Iterator[float]:
        yield from self._values
        yield from map(Bare, self._bare)
        yield from map(Year, self._years)

    def has(self, figure: Figure, allowed: float = ROUNDING_ALLOWED) -> bool:
        """Whether a figure stands there, or one that it is a rounding of; or each of its parts does.

        A single digit before zeros may differ by the part `allowed`.
        """
        if any(self._has(reading, figure, allowed) for reading in figure.readings):
            return True
        return bool(figure.parts) and all(part.is_small or self.has(part, allowed) for part in figure.parts)

    def _has(self, reading: Reading, figure: Figure, allowed: float) -> bool:
        near = _SAME * max(reading.value, 1e-9)
        if _within(self._years, reading.value - near, reading.value + near):
            return True
        if not figure.is_year:
            is_coarse = reading.grain > 1 and reading.value < 10 * reading.grain
            part = allowed if is_coarse else ROUNDING_ALLOWED
            near = max(near, min(reading.grain / 2 * (1 + 1e-6), part * reading.value))
        least, most = reading.value - near, reading.value + near
        return _within(self._values, least, most) or (not figure.scaled and _within(self._bare, least, most))

    def within(self, least: float, most: float) -> bool:
        """Whether a figure between two values stands there."""
        return _within(self._values, least, most) or _within(self._years, least, most)


def _within(values: Sequence[float], least: float, most: float) -> bool:
    place = bisect_left(values, least)
    return place < len(values) and values[place] <= most


def values_in(text: str) -> Iterator[float]:
    """Every value that a figure in a text may stand for, for those who look figures up there."""
    factors = [factor for factor, words in _OF_TABLES if words.search(text)]
    for figure in figures_in(text):
        for reading in figure.readings:
            if figure.is_year and reading.value in OUR_TIME:
                yield Year(reading.value)
            else:
                yield reading.value if reading.grain else Bare(reading.value)
            if not figure.scaled:
                yield from (reading.value * factor for factor in factors)
        yield from (reading.value for part in figure.parts for reading in part.readings)
    for word in _NUMBER_WORD.finditer(text.casefold() if len(text) < 100_000 else ""):
        yield _spelled(word[0])
    for word in _PART_WORD.finditer(text):
        yield _PARTS[word[0].casefold()]


def _spelled(word: str) -> float:
    teens, tens, ones = _WORDS
    if word in teens:
        return 11 + teens.index(word)
    ten, _, one = word.replace("-", " ").partition(" ")
    return 20 + 10 * tens.index(ten) + (1 + ones.index(one) if one else 0)


def values_of(data: Any, about: str = "") -> Iterator[float]:
    """Every figure within a JSON value, and how long its lists are; `about` is the name of what holds it."""
    if isinstance(data, bool) or data is None:
        return
    if isinstance(data, int | float):
        yield float(data) if abs(data) < 1e300 else 0.0
        yield from (float(data) * factor for factor, words in _OF_TABLES if about and words.search(about))
    elif isinstance(data, str):
        yield from values_in(data)
    elif isinstance(data, list | tuple):
        yield float(len(data))
        for item in data:
            yield from values_of(item, about)
    elif isinstance(data, dict):
        yield float(len(data))
        for name, item in data.items():
            yield from values_in(name)
            yield from values_of(item, name)


def rounded_alike(one: float, other: float) -> bool:
    """Whether one of two numbers is the other, rounded to its last digit."""
    return Seen([one]).has(_written(other)) or Seen([other]).has(_written(one))


def _written(value: float) -> Figure:
    text = f"{abs(value):.12g}"
    if "e" in text:
        return Figure(text, (Reading(abs(value), 10.0 ** (floor(log10(abs(value))) - 11)),))
    digits, _, behind = text.partition(".")
    return Figure(text, (_decimal(digits, behind) if behind else _whole(digits),))
