"""The check `trades`: whether the trades of a result can be made, and what the portfolio becomes by them is allowed.

Held against them are the job's positions, prices and constraints (`portfolio.py`): nothing is sold that is not held,
cash does not go below zero, amounts are quantity times price to the cent, half a cent up, and each weight and the
turnover stay within their bounds. All of it is exact: no figure is rounded but amounts, where the money is. Files that
come with the result and list trades have to list the same.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal, localcontext
from itertools import islice
from typing import Any

from app.domain.checks.portfolio import CASH, Bound, InputFault, Portfolio, portfolio_of
from app.domain.checks.trades_files import Listed, flaws_of_files
from app.domain.checks.worked import Worked
from app.domain.exact import EXACT, exact_figure, percent, plain
from app.domain.flaws import Flaw, rejected

MOST_FLAWS = 20
MOST_TRADES = 2_000
CENT = Decimal("0.01")
SHOWN_CHARACTERS = 40


@dataclass(frozen=True, slots=True)
class Trade:
    """A trade that could be read."""

    row: int
    """Its number in the list, from 1."""
    symbol: str
    sells: bool
    quantity: Decimal
    price: Decimal
    amount: Decimal

    @property
    def side(self) -> str:
        return "sell" if self.sells else "buy"

    @property
    def named(self) -> str:
        return f"trade {self.row} ({self.side} {self.symbol})"

    @property
    def listed(self) -> Listed:
        return Listed(self.symbol, self.side, self.quantity, self.price, self.amount)


def trades(worked: Worked) -> list[Flaw]:
    """What is wrong with the trades of a result."""
    data = worked.output.data
    listed = data.get("trades") if isinstance(data, dict) else None
    if not isinstance(listed, list) or len(listed) > MOST_TRADES:
        return [rejected(f"data has no list `trades`, or one of more than {MOST_TRADES}", "trades")]
    with localcontext(EXACT):
        try:
            portfolio = portfolio_of(worked.inputs)
        except InputFault as fault:
            return [rejected(f"no trade can be checked: {fault}. Escalate, and say so.")]
        return [*islice(_flaws(listed, portfolio, worked), MOST_FLAWS)]


def _flaws(listed: Sequence[Any], portfolio: Portfolio, worked: Worked) -> Iterator[Flaw]:
    read: list[Trade] = []
    for row, told in enumerate(listed, 1):
        trade = _trade(row, told)
        if isinstance(trade, Flaw):
            yield trade
            continue
        read.append(trade)
        yield from _flaws_of_one(trade, portfolio)
    if len(read) < len(listed):
        return
    yield from flaws_of_files(worked.output.artifacts, [each.listed for each in read])
    if any(trade.symbol not in portfolio.prices for trade in read):
        return  # What they would come to, nobody can say.
    yield from _oversold(read, portfolio)
    yield from _flaws_of_all(read, portfolio)


def _trade(row: int, told: Any) -> Trade | Flaw:
    """A trade, or why it is none."""
    if not isinstance(told, Mapping):
        return rejected(f"trade {row} is no object", "trades", row - 1)
    symbol, side = (str(told.get(name, "")).strip()[:SHOWN_CHARACTERS] for name in ("symbol", "side"))
    symbol, side = symbol.upper(), side.lower()
    if not symbol or symbol == CASH:
        return rejected(f"trade {row} has no symbol, or is of {CASH}", "trades", row - 1, "symbol")
    if side not in ("buy", "sell"):
        return rejected(f"trade {row} ({symbol}): side is {side!r}, neither buy nor sell", "trades", row - 1, "side")
    figures = {name: exact_figure(told.get(name)) for name in ("quantity", "price", "amount")}
    for name, value in figures.items():
        if value is None or value <= 0:
            said = str(told.get(name))[:SHOWN_CHARACTERS]
            why = f"trade {row} ({side} {symbol}): {name} is {said}, and must be a figure above 0"
            return rejected(why, "trades", row - 1, name)
    quantity, price, amount = (value for value in figures.values() if value is not None)
    return Trade(row, symbol, side == "sell", quantity, price, amount)


def _flaws_of_one(trade: Trade, portfolio: Portfolio) -> Iterator[Flaw]:
    at = ("trades", trade.row - 1)
    price = portfolio.prices.get(trade.symbol)
    if price is None:
        yield rejected(f"{trade.named}: prices has no {trade.symbol}", *at, "symbol")
    elif price != trade.price:
        yield rejected(f"{trade.named}: its price is {trade.price}, and that in prices {price}", *at, "price")
    exact = (trade.quantity * trade.price).quantize(CENT, ROUND_HALF_UP)
    if trade.amount != exact:
        comes_to = f"{trade.quantity} times {trade.price} is {plain(exact)}, to the cent"
        yield rejected(f"{trade.named}: its amount is {trade.amount}, and {comes_to}", *at, "amount")


def _oversold(read: Sequence[Trade], portfolio: Portfolio) -> Iterator[Flaw]:
    sold: dict[str, Decimal] = {}
    for trade in read:
        if trade.sells:
            sold[trade.symbol] = sold.get(trade.symbol, Decimal(0)) + trade.quantity
            held = portfolio.held.get(trade.symbol, Decimal(0))
            if sold[trade.symbol] > held:
                where = portfolio.places.get(trade.symbol, "no row of positions")
                said = f"{trade.named}: {sold[trade.symbol]} are sold by now, and {held} are held ({where})"
                yield rejected(said, "trades", trade.row - 1, "quantity")


def _flaws_of_all(read: Sequence[Trade], portfolio: Portfolio) -> Iterator[Flaw]:
    """What is wrong with what the portfolio becomes."""
    after, cash, moved = dict(portfolio.held), portfolio.cash, Decimal(0)
    for trade in read:
        sign = -1 if trade.sells else 1
        after[trade.symbol] = after.get(trade.symbol, Decimal(0)) + sign * trade.quantity
        cash -= sign * trade.amount
        moved += trade.amount
    if cash < 0:
        yield rejected(
            f"after these trades cash is {plain(cash)}: {plain(-cash)} more is spent than there is", "trades"
        )
    yield from _too_much_moved(moved, portfolio)
    total = portfolio.value_of(after, cash)
    values = {symbol: quantity * portfolio.prices[symbol] for symbol, quantity in after.items()} | {CASH: cash}
    for symbol in sorted({*values, *portfolio.weights} - {"*"}):
        bound = portfolio.bound_of(symbol)
        if bound is not None:
            yield from _out_of_bounds(symbol, values.get(symbol, Decimal(0)), total, bound)


def _too_much_moved(moved: Decimal, portfolio: Portfolio) -> Iterator[Flaw]:
    before, rule = portfolio.value_of(portfolio.held, portfolio.cash), portfolio.turnover
    if rule is not None and rule.most is not None and moved > rule.most * before:
        share = f"{plain(moved)} are bought and sold, {percent(moved, before)} of {plain(before)}"
        yield rejected(f"{share}, and {rule.place} allows {percent(rule.most, Decimal(1))} at most", "trades")


def _out_of_bounds(symbol: str, value: Decimal, total: Decimal, bound: Bound) -> Iterator[Flaw]:
    told = f"after these trades {symbol} is {plain(value)} of {plain(total)}, {percent(value, total)}"
    if bound.least is not None and value < bound.least * total:
        yield rejected(f"{told}, and {bound.place} asks for {percent(bound.least, Decimal(1))} at least", "trades")
    if bound.most is not None and value > bound.most * total:
        yield rejected(f"{told}, and {bound.place} allows {percent(bound.most, Decimal(1))} at most", "trades")
