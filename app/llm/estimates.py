"""What a call has probably cost whose end nobody reported, and the most that one can cost that is about to be made."""

import json
from decimal import Decimal

from pydantic_core import to_json

from app.domain.policy.budget import WorstCase
from app.domain.quote import TokenPrices
from app.domain.quoting import CHARACTERS_PER_TOKEN, SEARCH_TOKENS
from app.domain.usage import Amount, Usage
from app.llm.model import Request
from app.llm.pricing import Prices

TYPICAL_OUTPUT_TOKENS = 1_000
UNSEEN_TOKENS = 1_000
"""What a provider adds to a request for tools and for an output schema, at most."""
BLOCK_TOKENS = 50
"""What the frame of one message or block takes, at most."""
FEW_TOKENS, MANY_TOKENS = 1_000, 1_000_000
"""Requests of the lowest and the highest price for a token, where it depends on their size."""


def estimated_usage(prices: Prices, request: Request, model_id: str, output_tokens: int | None = None) -> Usage:
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
    return prices.priced(usage, model_id)


def worst_case(prices: Prices, request: Request, model_id: str, told_tokens: int | None = None) -> WorstCase:
    """The most that a call can consume, searches of the provider apart, of which it is a reckoning.

    A token has at least one byte. Of a conversation that goes on, `told_tokens` are what the provider counted of its
    last request and reply together: only what was said after them is reckoned.
    """
    searches = sum(tool.server.get("max_uses", 1) for tool in request.tools if tool.server is not None)
    read = UNSEEN_TOKENS + searches * SEARCH_TOKENS
    if told_tokens is None:
        tools = [tool.declaration for tool in request.tools]
        read += len(request.system.encode()) + len(to_json([tools, request.output_schema]))
        read += sum(_tokens_of(message.content) for message in request.messages)
    else:
        read += told_tokens
        for message in reversed(request.messages):
            if message.role == "assistant":
                break
            read += _tokens_of(message.content)
    input_usd = _dearest(prices, model_id, read, 0, searches)
    in_all = _dearest(prices, model_id, read, request.max_tokens, searches)
    return WorstCase(read, request.max_tokens, input_usd, (in_all - input_usd) / request.max_tokens)


def worst_answer(prices: Prices, model_id: str, read: int, written: int) -> Amount:
    """An answer that reads and writes so many tokens, at most."""
    return Amount(tokens=read + written, cost_usd=_dearest(prices, model_id, read, written))


def _dearest(prices: Prices, model_id: str, read: int, written: int, searches: int = 0) -> Decimal:
    """US dollars, if all that is read is counted in the way that costs most: as it is, or by way of the cache."""
    usage = Usage(input_tokens=read, output_tokens=written)
    ways = (
        usage,
        usage.model_copy(update={"cache_write_tokens": read}),
        usage.model_copy(update={"cache_read_tokens": read}),
    )
    return max(prices.price(model_id, way, web_searches=searches) or Decimal(0) for way in ways)


def _tokens_of(content: object) -> int:
    blocks = len(content) if isinstance(content, list | tuple) else 1
    return len(to_json(content)) + BLOCK_TOKENS * (1 + blocks)


def token_prices(prices: Prices, model_id: str) -> TokenPrices | None:
    """What single tokens of a model cost; None when it has no known price."""
    if not prices.knows(model_id):
        return None

    def cost(**usage: int) -> Decimal:
        return prices.price(model_id, Usage(**usage)) or Decimal(0)

    few, many = FEW_TOKENS, MANY_TOKENS
    read, cached = cost(input_tokens=few) / few, cost(input_tokens=few, cache_read_tokens=few) / few
    many_read = _dearest(prices, model_id, many, 0)
    return TokenPrices(
        read=read,
        written=cost(output_tokens=few) / few,
        cheapest_read=min(read, cached),
        dearest_read=max(many_read / many, _dearest(prices, model_id, few, 0) / few),
        dearest_written=(_dearest(prices, model_id, many, many) - many_read) / many,
        search=prices.price(model_id, Usage(), web_searches=1) or Decimal(0),
    )
