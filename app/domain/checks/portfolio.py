"""The inputs that trades are held against: positions, prices and constraints, as tables of text.

- `positions` has the columns `symbol` and `quantity`; the row CASH is money.
- `prices` has `symbol` and `price`, of one unit, and maybe `currency`, which is the same in all rows.
- `constraints` has `rule`, `symbol`, `least` and `most`. The rule `weight` bounds the share of a symbol (or CASH, or
  `*` for every other) in the value after the trades. The rule `turnover` bounds by `most` what is bought and sold
  together, as a share of the value before.

Other columns are left aside. Everything is read exactly: nothing is rounded, and what is no figure is a fault. So is
whatever may have been meant in another way than it reads: a row that has more or fewer cells than the header (`1,000`),
a quote that swallows lines, two columns of one name, a rule that binds nothing, a table without rows.
"""

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from io import StringIO

from app.domain.exact import exact_figure
from app.domain.job import JobInput
from app.domain.text import shorten

CASH = "CASH"
EVERY_OTHER = "*"
MOST_ROWS = 20_000
CELL_SHOWN = 40
_COLUMNS: Mapping[str, Sequence[str]] = {
    "positions": ("symbol", "quantity"),
    "prices": ("symbol", "price"),
    "constraints": ("rule", "symbol", "least", "most"),
}
_ENDINGS = (".csv", ".tsv", ".txt")


class InputFault(Exception):
    """An input that trades cannot be held against; the message says where, and why."""


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a table, and where it stands."""

    place: str
    """Name of the input, and the line: the header is line 1."""
    cells: Mapping[str, str]

    def figure(self, column: str) -> Decimal | None:
        """The figure in a cell; None in an empty one. Raises `InputFault`."""
        cell = self.cells.get(column, "").strip()
        value = exact_figure(cell)
        if value is None and cell:
            raise self.fault(f"{column} is no figure: {shorten(cell, CELL_SHOWN)[0]!r}")
        return value

    def needed(self, column: str) -> Decimal:
        """The figure in a cell that must have one. Raises `InputFault`."""
        value = self.figure(column)
        if value is None:
            raise self.fault(f"{column} is empty")
        return value

    def text(self, column: str) -> str:
        """What a cell says; empty without such a column."""
        return self.cells.get(column, "").strip()

    @property
    def symbol(self) -> str:
        return self.text("symbol").upper()

    @property
    def named(self) -> str:
        """The symbol of a row that must have one. Raises `InputFault`."""
        if not self.symbol:
            raise self.fault("symbol is empty")
        return self.symbol

    def fault(self, why: str) -> InputFault:
        """What to raise about it."""
        return InputFault(f"{self.place}: {why}")


@dataclass(frozen=True, slots=True)
class Bound:
    """What a rule allows, and where it stands."""

    place: str
    least: Decimal | None
    most: Decimal | None


@dataclass(slots=True)
class Portfolio:
    """What is held, what it is worth, and what it may become."""

    held: dict[str, Decimal] = field(default_factory=dict)
    """Quantities by symbol, without cash."""
    places: dict[str, str] = field(default_factory=dict)
    """Where a symbol is held: the last of its rows."""
    cash: Decimal = Decimal(0)
    prices: dict[str, Decimal] = field(default_factory=dict)
    weights: dict[str, Bound] = field(default_factory=dict)
    """By symbol, of cash and of every other one too."""
    turnover: Bound | None = None

    def bound_of(self, symbol: str) -> Bound | None:
        """What the weight of a symbol may be."""
        return self.weights.get(symbol) or (self.weights.get(EVERY_OTHER) if symbol != CASH else None)

    def value_of(self, quantities: Mapping[str, Decimal], cash: Decimal) -> Decimal:
        """What such quantities and cash are worth."""
        return sum((quantity * self.prices[symbol] for symbol, quantity in quantities.items()), cash)


def portfolio_of(inputs: Sequence[JobInput]) -> Portfolio:
    """The inputs, read. Raises `InputFault`."""
    found = Portfolio()
    _read_prices(found, _rows(inputs, "prices"))
    _read_positions(found, _rows(inputs, "positions"))
    _read_constraints(found, _rows(inputs, "constraints"))
    return found


def _rows(inputs: Sequence[JobInput], stem: str) -> list[Row]:
    names = {f"{stem}{ending}" for ending in _ENDINGS}
    given = [each for each in inputs if each.name.rpartition("/")[2].lower() in names]
    if len(given) != 1:
        raise InputFault(f"the job has {'no' if not given else 'more than one'} input {stem}.csv")
    rows = [*rows_in(given[0].name, given[0].content, _COLUMNS[stem])]
    if not rows:
        raise InputFault(f"{given[0].name} line 1: no row follows")
    return rows


def rows_in(name: str, text: str, needed: Sequence[str]) -> Iterator[Row]:
    """The rows of a table that has these columns at least. Raises `InputFault`."""
    columns: list[str] = []
    for line, cells in _lines_in(name, text.removeprefix("\ufeff")):
        place = f"{name} line {line}"
        if not any(cell.strip() for cell in cells):
            continue
        if not columns:
            columns = _header(place, cells, needed)
        elif len(cells) != len(columns):
            why = f"{len(cells)} cells, and the header has {len(columns)}; nothing may stand between thousands"
            raise InputFault(f"{place}: {why}")
        else:
            yield Row(place, dict(zip(columns, cells, strict=True)))
    if not columns:
        raise InputFault(f"{name} is empty")


def _lines_in(name: str, text: str) -> Iterator[tuple[int, list[str]]]:
    """The cells of each line, with its number."""
    head = text.lstrip().partition("\n")[0]
    reader = csv.reader(StringIO(text, newline=""), delimiter=max(",;\t", key=head.count), strict=True)
    line = 1
    try:
        for cells in reader:
            if reader.line_num > line:
                raise InputFault(f"{name} line {line}: a quote opens that does not close in its line")
            if line > MOST_ROWS:
                raise InputFault(f"{name} has more than {MOST_ROWS} lines")
            yield line, cells
            line += 1
    except csv.Error as error:
        raise InputFault(f"{name} line {line}: {error}") from None


def _header(place: str, cells: Sequence[str], needed: Sequence[str]) -> list[str]:
    columns = [cell.strip().lower() for cell in cells]
    if lacking := [name for name in needed if name not in columns]:
        raise InputFault(f"{place}: there is no column {' and no column '.join(lacking)}")
    if twice := next((name for name in columns if name and columns.count(name) > 1), None):
        raise InputFault(f"{place}: there are two columns {shorten(twice, CELL_SHOWN)[0]}")
    return columns


def _read_prices(found: Portfolio, rows: Sequence[Row]) -> None:
    currencies: dict[str, str] = {}
    for row in rows:
        price = row.needed("price")
        if price <= 0:
            raise row.fault(f"a price of {price} says nothing")
        if found.prices.setdefault(row.named, price) != price:
            raise row.fault(f"{row.symbol} has two prices, {found.prices[row.symbol]} and {price}")
        currencies.setdefault(row.text("currency").upper(), row.place)
    if len(currencies) > 1:
        (one, _), (other, place) = [*currencies.items()][:2]
        raise InputFault(f"{place}: prices in {one or 'no currency'} and {other or 'no currency'} cannot be added up")
    if found.prices.get(CASH, Decimal(1)) != 1:
        raise InputFault("CASH has a price other than 1")


def _read_positions(found: Portfolio, rows: Sequence[Row]) -> None:
    for row in rows:
        quantity = row.needed("quantity")
        if row.symbol == CASH:
            found.cash += quantity
            continue
        if quantity < 0:
            raise row.fault(f"{quantity} {row.symbol} are held: short positions cannot be checked")
        if row.symbol not in found.prices:
            raise row.fault(f"{row.named} has no price")
        found.held[row.symbol] = found.held.get(row.symbol, Decimal(0)) + quantity
        found.places[row.symbol] = row.place


def _read_constraints(found: Portfolio, rows: Sequence[Row]) -> None:
    for row in rows:
        rule, bound = row.text("rule").lower(), Bound(row.place, row.figure("least"), row.figure("most"))
        if bound.least is not None and bound.most is not None and bound.least > bound.most:
            raise row.fault(f"least is {bound.least}, and most is {bound.most}")
        if rule == "turnover":
            _read_turnover(found, row, bound)
        elif rule == "weight":
            _read_weight(found, row, bound)
        else:
            raise row.fault(f"there is no rule {shorten(rule, CELL_SHOWN)[0]!r}: rules are weight and turnover")


def _read_turnover(found: Portfolio, row: Row, bound: Bound) -> None:
    if bound.most is None or bound.most < 0 or found.turnover is not None:
        raise row.fault("a turnover rule has a `most`, and there is one of them")
    if bound.least is not None or row.symbol not in ("", EVERY_OTHER):
        raise row.fault("a turnover rule has neither a `least` nor a symbol")
    found.turnover = bound


def _read_weight(found: Portfolio, row: Row, bound: Bound) -> None:
    if any(share is not None and not 0 <= share <= 1 for share in (bound.least, bound.most)):
        raise row.fault("weights are shares, between 0 and 1")
    if row.named not in (CASH, EVERY_OTHER) and row.symbol not in found.prices:
        raise row.fault(f"{shorten(row.symbol, CELL_SHOWN)[0]} has no price: no weight of it can be known")
    if found.weights.setdefault(row.symbol, bound) is not bound:
        raise row.fault(f"{row.symbol} has two rules for its weight")
