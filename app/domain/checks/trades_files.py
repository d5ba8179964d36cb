"""Files with trades, held against the trades that were checked: whoever reads a file is to read the same."""

from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import NamedTuple

from app.domain.artifacts import Artifact
from app.domain.checks.portfolio import InputFault, Row, rows_in
from app.domain.flaws import Flaw, rejected

FILE = "trades.csv"


class Listed(NamedTuple):
    """A trade, as a row of a file has it: the names of the fields are those of the columns."""

    symbol: str
    side: str
    quantity: Decimal
    price: Decimal
    amount: Decimal

    @property
    def said(self) -> str:
        return f"{self.side} {self.quantity} {self.symbol} at {self.price} for {self.amount}"


def flaws_of_files(files: Sequence[Artifact], trades: Sequence[Listed]) -> Iterator[Flaw]:
    """What files called trades.csv say otherwise than the trades: each has a row for each, in their order."""
    for index, file in enumerate(files):
        if file.name.rpartition("/")[2].casefold() == FILE and (why := _difference(file, trades)):
            yield rejected(why, index, part="artifacts")


def _difference(file: Artifact, trades: Sequence[Listed]) -> str | None:
    if file.text is None:
        return f"{file.name} is handed over as base64: hand it over as text"
    try:
        rows = [(row.place, _listed(row)) for row in rows_in(file.name, file.text, Listed._fields)]
    except InputFault as fault:
        return str(fault)
    for row, ((place, listed), trade) in enumerate(zip(rows, trades, strict=False), 1):
        if listed != trade:
            return f"{place} says {listed.said}, and trade {row} of data is {trade.said}"
    if len(rows) != len(trades):
        return f"{file.name} has {len(rows)} trades, and data has {len(trades)}"
    return None


def _listed(row: Row) -> Listed:
    figures = [row.needed(name) for name in ("quantity", "price", "amount")]
    return Listed(row.named, row.text("side").lower(), *figures)
