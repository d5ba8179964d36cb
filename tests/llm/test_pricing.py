"""What calls cost."""

from decimal import Decimal

import pytest
from genai_prices import Usage as Counts
from genai_prices import calc_price

from app.domain.usage import Usage
from app.llm.estimates import estimated_usage, worst_case
from app.llm.pricing import Prices, Rates
from tests.support.model_calls import TIERS, request

AT_3_AND_15 = "claude-sonnet-4-6"
PRICES = Prices()


@pytest.mark.parametrize("model_id", [*TIERS.values(), AT_3_AND_15, "claude-fable-5-2", "claude-haiku-4-5"])
@pytest.mark.parametrize("cached", [0, 40_000])
@pytest.mark.parametrize("total", [90_000, 100_000, 100_001, 250_000])
def test_our_sums_are_those_of_the_price_list(model_id: str, cached: int, total: int) -> None:
    usage = Usage(input_tokens=total, cache_read_tokens=cached, cache_write_tokens=cached // 2, output_tokens=3_000)
    counts = Counts(
        input_tokens=total,
        cache_read_tokens=cached,
        cache_write_tokens=cached // 2,
        output_tokens=3_000,
        web_searches=4,
    )
    expected = calc_price(counts, model_id, provider_id="anthropic").total_price
    assert PRICES.price(model_id, usage, web_searches=4) == expected


def test_a_prompt_past_the_threshold_costs_more_for_every_token_of_it() -> None:
    below = PRICES.price("claude-haiku-5-5", Usage(input_tokens=100_000))
    above = PRICES.price("claude-haiku-5-5", Usage(input_tokens=100_001))
    assert below == Decimal("0.01")
    assert above == Decimal("0.0500005")


def test_web_searches_cost_ten_dollars_a_thousand() -> None:
    assert PRICES.price("claude-sonnet-5-5", Usage(), web_searches=1_000) == 10


def test_an_unknown_model_has_no_price() -> None:
    assert PRICES.price("qwen2.5-coder", Usage(input_tokens=1_000)) is None


def test_the_first_model_with_a_price_sets_it() -> None:
    usage = Usage(input_tokens=1_000_000)
    assert PRICES.priced(usage, "qwen2.5-coder", "claude-sonnet-5-5").cost_usd == 2
    assert PRICES.priced(usage, "claude-opus-5-5", "claude-sonnet-5-5").cost_usd == 4
    assert PRICES.priced(usage, "qwen2.5-coder").cost_usd == 0


def test_an_estimate_counts_four_characters_a_token_and_says_that_it_is_one() -> None:
    short = estimated_usage(PRICES, request(system="x" * 400), "claude-sonnet-5-5", output_tokens=10)
    long = estimated_usage(PRICES, request(system="x" * 4_400), "claude-sonnet-5-5", output_tokens=10)
    assert long.input_tokens - short.input_tokens == 1_000
    assert (long.llm_calls, long.output_tokens, long.estimated) == (1, 10, True)
    assert long.cost_usd == PRICES.price("claude-sonnet-5-5", long)


def test_an_estimate_takes_an_unknown_reply_for_one_of_typical_length_within_its_cap() -> None:
    assert estimated_usage(PRICES, request(max_tokens=50_000), "claude-sonnet-5-5").output_tokens == 1_000
    assert estimated_usage(PRICES, request(max_tokens=200), "claude-sonnet-5-5").output_tokens == 200


def test_the_operators_prices_come_before_published_ones() -> None:
    own = Prices({"claude-sonnet-5-5": Rates(Decimal(1), Decimal(2)), "local": Rates(Decimal(0), Decimal(0))})
    usage = Usage(input_tokens=3_000_000, cache_read_tokens=1_000_000, output_tokens=1_000_000)

    assert own.price("claude-sonnet-5-5", usage) == 5
    assert own.price("local", usage) == 0
    assert [own.knows(name) for name in ("local", "claude-opus-5-5", "qwen2.5-coder")] == [True, True, False]


def test_what_is_cached_has_its_own_price_where_the_operator_names_one() -> None:
    own = Prices({"local": Rates(Decimal(10), Decimal(0), cache_read=Decimal(1), cache_write=Decimal(12))})
    usage = Usage(input_tokens=1_000_000, cache_read_tokens=500_000, cache_write_tokens=250_000)

    assert own.price("local", usage) == Decimal("2.5") + Decimal("0.5") + 3


@pytest.mark.parametrize(
    "cached", [{}, {"cache_write": Decimal(30)}, {"cache_write": Decimal(1), "cache_read": Decimal(40)}]
)
def test_the_worst_case_is_read_in_the_dearest_way(cached: dict[str, Decimal]) -> None:
    own = Prices({"local": Rates(Decimal(20), Decimal(50), **cached)})
    call = worst_case(own, request(), "local")

    dearest = max(Decimal(20), *cached.values(), Decimal(0))
    assert call.input_usd == call.input_tokens * dearest / 1_000_000
    assert call.output_usd == Decimal(50) / 1_000_000
