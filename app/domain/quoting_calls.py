"""What model calls take, in figures: the smallest one, usual ones, and those at the worst."""

from collections.abc import Sequence

from app.domain.quote import TokenPrices, Typical
from app.domain.usage import Amount

LEAST_READ = 10
LEAST_WRITTEN = 5
LONGEST_TOKEN = 8
"""Characters of instructions that make a token, at the fewest tokens."""
CALL_S = 2.0
TOKENS_PER_S = 60
"""What a model writes."""


def typical_calls(prices: TokenPrices, read: int, written: int, lasts_s: float) -> Typical:
    """What calls take on the average that read and write so much."""
    cost = read * prices.read + written * prices.written
    return Typical(Amount(tokens=read + written, cost_usd=cost), lasts_s, count=0)


def call_s(written: int) -> float:
    """Seconds of a call in which so much is written."""
    return CALL_S + written / TOKENS_PER_S


def worst_calls(prices: Sequence[TokenPrices], read: int, written: int) -> Amount:
    """What calls take at the worst that read and write so much, with whoever is dearest."""
    cost = max(read * each.dearest_read + written * each.dearest_written for each in prices)
    return Amount(tokens=read + written, cost_usd=cost)


def least_call(prices: TokenPrices, told: int = 0) -> Amount:
    """The smallest call there is."""
    read = LEAST_READ + told
    cost = read * prices.cheapest_read + LEAST_WRITTEN * prices.written
    return Amount(tokens=read + LEAST_WRITTEN, cost_usd=cost)


def so_many(number: int, amount: Amount) -> Amount:
    """So many of it."""
    return Amount(tokens=number * amount.tokens, cost_usd=number * amount.cost_usd)
