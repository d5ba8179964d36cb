"""What a call costs: the provider's published prices, applied to the tokens that it counted."""

import json
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import lru_cache

from genai_prices import Usage as Counts
from genai_prices import calc_price
from genai_prices.types import ModelPrice, TieredPrices

from app.domain.usage import Usage
from app.llm.model import Request

CHARACTERS_PER_TOKEN = 4
TYPICAL_OUTPUT_TOKENS = 1_000
_MILLION = Decimal(1_000_000)
_THOUSAND = Decimal(1_000)


def price(model_id: str, usage: Usage, *, web_searches: int = 0) -> Decimal | None:
    """US dollars for `usage` of a model at today's prices; None when the model has no published price."""
    prices = _prices(model_id, datetime.now(UTC).date())
    if prices is None:
        return None
    fresh = usage.input_tokens - usage.cache_read_tokens - usage.cache_write_tokens
    total = usage.input_tokens
    tokens = (
        fresh * _rate(prices.input_mtok, total)
        + usage.cache_read_tokens * _rate(prices.cache_read_mtok or prices.input_mtok, total)
        + usage.cache_write_tokens * _rate(prices.cache_write_mtok or prices.input_mtok, total)
        + usage.output_tokens * _rate(prices.output_mtok, total)
    )
    return tokens / _MILLION + web_searches * _rate(prices.web_searches_kcount, total) / _THOUSAND


def estimated_usage(request: Request, model_id: str, output_tokens: int | None = None) -> Usage:
    """What a call has probably cost whose end the provider never reported.

    About four characters make a token. Unless `output_tokens` is known the reply is taken to have had a typical length.
    """
    parts = [message.content for message in request.messages]
    tools = [tool.server or tool.input_schema for tool in request.tools]
    characters = len(request.system) + len(json.dumps([parts, tools, request.output_schema], ensure_ascii=False))
    written = min(TYPICAL_OUTPUT_TOKENS, request.max_tokens) if output_tokens is None else output_tokens
    usage = Usage(
        llm_calls=1,
        input_tokens=characters // CHARACTERS_PER_TOKEN,
        output_tokens=written,
        estimated=True,
    )
    return priced(usage, model_id)


def priced(usage: Usage, *model_ids: str, web_searches: int = 0) -> Usage:
    """`usage` with its cost, at the prices of the first of `model_ids` that has any."""
    for model_id in model_ids:
        cost = price(model_id, usage, web_searches=web_searches)
        if cost is not None:
            return usage.model_copy(update={"cost_usd": cost})
    return usage


@lru_cache(maxsize=256)
def _prices(model_id: str, day: date) -> ModelPrice | None:
    """The price list of a model on a day; prices change by date, and the look-up costs more than the sum."""
    try:
        return calc_price(Counts(), model_ref=model_id, provider_id="anthropic").model_price
    except LookupError:
        return None


def _rate(rate: Decimal | TieredPrices | None, input_tokens: int) -> Decimal:
    """The rate that holds for a request of this size: past a threshold every token of it costs more."""
    if isinstance(rate, TieredPrices):
        reached = [tier.price for tier in rate.tiers if input_tokens > tier.start]
        return reached[-1] if reached else rate.base
    return rate or Decimal(0)
