"""The quote of a run: what it will cost, take and last at least, likely and at most, and what it rests on."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Decimal
from typing import Literal

from pydantic import BaseModel, ConfigDict

from app.domain.usage import Amount, Money

_MICRO = Decimal("0.000001")


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)


class MoneyRange(_Part):
    """US dollars, planning included."""

    least: Money
    """What the plan cannot do without."""
    likely: Money
    """What is to be expected."""
    most: Money
    """If everything goes wrong that may; never more than the run's own limit."""


def money_range(least: Decimal, likely: Decimal, most: Decimal) -> MoneyRange:
    """These amounts in whole millionths, each no more than the next."""
    top = _rounded(most, ROUND_CEILING)
    bottom = min(_rounded(least, ROUND_FLOOR), top)
    return MoneyRange(least=bottom, likely=min(max(_rounded(likely, ROUND_HALF_EVEN), bottom), top), most=top)


def _rounded(amount: Decimal, how: str) -> Decimal:
    return amount.quantize(_MICRO, rounding=how).normalize()


class TokensRange(_Part):
    """Tokens read and written together, planning included."""

    least: int
    """What the plan cannot do without."""
    likely: int
    """What is to be expected."""
    most: int
    """If everything goes wrong that may; never more than the run's own limit."""


class SecondsRange(_Part):
    """Seconds from the start of the run to its end, planning included."""

    least: float
    """What planning took: nothing bounds the rest from below."""
    likely: float
    """What is to be expected, with as many tasks side by side as the run may have."""
    most: float
    """The run's own limit."""


class Planning(_Part):
    """What the run had consumed when its plan was made."""

    cost_usd: Money = Decimal(0)
    """US dollars."""
    tokens: int = 0
    """Read and written together."""
    duration_s: float = 0
    """Seconds since the start of the run."""


class Quote(_Part):
    """What a run with this plan will consume, reckoned when the plan was made."""

    cost_usd: MoneyRange | None
    """Null when the price of a model that may be asked is not known."""
    tokens: TokensRange
    """Tokens."""
    duration_s: SecondsRange
    """Time."""
    basis: Literal["history", "limits"]
    """What `likely` rests on: the `history` of such tasks here; for want of one, the `limits` and typical lengths."""
    runs_considered: int
    """Recent runs of the team that were looked at."""
    planning: Planning = Planning()
    """What planning took; it is a part of the figures above."""


@dataclass(frozen=True, slots=True)
class TokenPrices:
    """What a model costs, in US dollars for one token."""

    read: Decimal
    written: Decimal
    cheapest_read: Decimal
    """In the cheapest of the ways in which it may be counted."""
    dearest_read: Decimal
    dearest_written: Decimal
    search: Decimal
    """For one search of the provider."""


@dataclass(frozen=True, slots=True)
class Typical:
    """What something has taken on the average, without what was out of all proportion."""

    amount: Amount
    duration_s: float
    count: int
    """Over how many."""


@dataclass(frozen=True, slots=True)
class History:
    """What the recent runs of a team have taken."""

    tasks: Mapping[tuple[str, str], Typical] = field(default_factory=dict)
    """A task, all its attempts included, by the worker and the id of the model that it began with."""
    answer: Typical | None = None
    """What came after the tasks."""
    runs: int = 0
    """How many runs these are."""


@dataclass(frozen=True, slots=True)
class Grounds:
    """What a process knows that quotes rest on, beside the run itself."""

    prices: Mapping[str, TokenPrices | None]
    """By the id of the model; None for one without a known price."""
    reply_tokens: int
    """The cap on a reply, before any has been cut."""
    searches: Mapping[str, int] = field(default_factory=dict)
    """By tool: how often the provider may search for one call of a worker that has it."""
    history: History = History()

    def searches_with(self, tools: Iterable[str]) -> int:
        """How often it may search for one call of a worker with these tools."""
        return sum(self.searches.get(tool, 0) for tool in tools)
