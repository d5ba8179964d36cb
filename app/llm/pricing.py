"""What a call costs: the provider's published prices, applied to the tokens that it counted."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import lru_cache

from genai_prices import Usage as Counts
from genai_prices import calc_price
from genai_prices.types import ModelPrice, TieredPrices

from app.domain.usage import Usage

_MILLION = Decimal(1_000_000)
_THOUSAND = Decimal(1_000)


@dataclass(frozen=True, slots=True)
class Rates:
    """What an operator says a model costs, in US dollars for a million tokens."""

    input: Decimal
    output: Decimal
    cache_read: Decimal | None = None
    """None: as `input`."""
    cache_write: Decimal | None = None
    """None: as `input`."""


class Prices:
    """The prices of models: the operator's own first, then those that providers publish."""

    def __init__(self, own: Mapping[str, Rates] | None = None) -> None:
        self._own = {name: _list_of(rates) for name, rates in (own or {}).items()}

    def price(self, model_id: str, usage: Usage, *, web_searches: int = 0) -> Decimal | None:
        """US dollars for `usage` of a model at today's prices; None when the model has no known price."""
        prices = self._own.get(model_id) or _published(model_id, datetime.now(UTC).date())
        if prices is None:
            return None
        fresh = usage.input_tokens - usage.cache_read_tokens - usage.cache_write_tokens
        total = usage.input_tokens
        tokens = (
            fresh * _rate(prices.input_mtok, total)
            + usage.cache_read_tokens * _rate(_first(prices.cache_read_mtok, prices.input_mtok), total)
            + usage.cache_write_tokens * _rate(_first(prices.cache_write_mtok, prices.input_mtok), total)
            + usage.output_tokens * _rate(prices.output_mtok, total)
        )
        return tokens / _MILLION + web_searches * _rate(prices.web_searches_kcount, total) / _THOUSAND

    def knows(self, model_id: str) -> bool:
        """Whether the model has a price."""
        return self.price(model_id, Usage()) is not None

    def priced(self, usage: Usage, *model_ids: str, web_searches: int = 0) -> Usage:
        """`usage` with its cost, at the prices of the first of `model_ids` that has any."""
        for model_id in model_ids:
            cost = self.price(model_id, usage, web_searches=web_searches)
            if cost is not None:
                return usage.model_copy(update={"cost_usd": cost})
        return usage


def _list_of(rates: Rates) -> ModelPrice:
    return ModelPrice(
        input_mtok=rates.input,
        output_mtok=rates.output,
        cache_read_mtok=rates.cache_read,
        cache_write_mtok=rates.cache_write,
    )


@lru_cache(maxsize=256)
def _published(model_id: str, day: date) -> ModelPrice | None:
    """The price list of a model on a day; prices change by date, and the look-up costs more than the sum."""
    try:
        return calc_price(Counts(), model_ref=model_id, provider_id="anthropic").model_price
    except LookupError:
        return None


def _first(own: Decimal | TieredPrices | None, usual: Decimal | TieredPrices | None) -> Decimal | TieredPrices | None:
    return usual if own is None else own


def _rate(rate: Decimal | TieredPrices | None, input_tokens: int) -> Decimal:
    """The rate that holds for a request of this size: past a threshold every token of it costs more."""
    if isinstance(rate, TieredPrices):
        reached = [tier.price for tier in rate.tiers if input_tokens > tier.start]
        return reached[-1] if reached else rate.base
    return rate or Decimal(0)
