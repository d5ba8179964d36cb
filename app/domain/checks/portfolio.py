"""The inputs that trades are held against: positions, prices and constraints, as tables of text.

- `positions` has the columns `symbol` and `quantity`; the row CASH is money.
- `prices` has `symbol` and `price`, of one unit, and maybe `currency`, which is the same in all rows.
- `constraints` has `rule`, `symbol`, `least` and `most`. The rule `weight` bounds the share of a symbol (or CASH, or
  `*` for every other) in the value after the trades. The rule `turnover` bounds by `most` what is bought and sold
  together, as a share of the value before.

Other columns are left aside. Everything is read exactly: nothing is rounded, and what is no figure is a fault.
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

    @property
    def symbol(self) -> str:
        return self.cells.get("symbol", "").strip().upper()

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
    return [*_rows_in(given[0], _COLUMNS[stem])]


def _rows_in(given: JobInput, needed: Sequence[str]) -> Iterator[Row]:
    text = given.content.removeprefix("\ufeff")
    head = text.partition("\n")[0]
    reader = csv.reader(StringIO(text, newline=""), delimiter=max(",;\t", key=head.count))
    columns: list[str] = []
    try:
        for cells in reader:
            place = f"{given.name} line {reader.line_num}"
            if not any(cell.strip() for cell in cells):
                continue
            if not columns:
                columns = [cell.strip().lower() for cell in cells]
                if lacking := [name for name in needed if name not in columns]:
                    raise InputFault(f"{place}: there is no column {' and no column '.join(lacking)}")
            elif reader.line_num > MOST_ROWS:
                raise InputFault(f"{given.name} has more than {MOST_ROWS} lines")
            else:
                yield Row(place, dict(zip(columns, cells, strict=False)))
    except csv.Error as error:
        raise InputFault(f"{given.name} line {reader.line_num}: {error}") from None


def _read_prices(found: Portfolio, rows: Sequence[Row]) -> None:
    currencies: dict[str, str] = {}
    for row in rows:
        price = row.needed("price")
        if price <= 0:
            raise row.fault(f"a price of {price} says nothing")
        if found.prices.setdefault(row.symbol, price) != price:
            raise row.fault(f"{row.symbol} has two prices, {found.prices[row.symbol]} and {price}")
        currencies.setdefault(row.cells.get("currency", "").strip().upper(), row.place)
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
            raise row.fault(f"{row.symbol or 'a row without a symbol'} has no price")
        found.held[row.symbol] = found.held.get(row.symbol, Decimal(0)) + quantity
        found.places[row.symbol] = row.place


def _read_constraints(found: Portfolio, rows: Sequence[Row]) -> None:
    for row in rows:
        rule, bound = (
            row.cells.get("rule", "").strip().lower(),
            Bound(row.place, row.figure("least"), row.figure("most")),
        )
        if rule == "turnover":
            if bound.most is None or found.turnover is not None:
                raise row.fault("a turnover rule has a `most`, and there is one of them")
            found.turnover = bound
        elif rule == "weight":
            if any(share is not None and not 0 <= share <= 1 for share in (bound.least, bound.most)):
                raise row.fault("weights are shares, between 0 and 1")
            if found.weights.setdefault(row.symbol, bound) is not bound:
                raise row.fault(f"{row.symbol} has two rules for its weight")
        else:
            raise row.fault(f"there is no rule {shorten(rule, CELL_SHOWN)[0]!r}: rules are weight and turnover")
