"""What is made of a provider's own counts."""

from decimal import Decimal
from typing import Any

import pytest

from app.domain.usage import Usage
from app.llm.claude import Claude
from app.llm.counts import MOST_TOKENS, Counts
from app.llm.pricing import Prices
from tests.support.model_calls import request
from tests.support.stub_answers import text
from tests.support.stub_provider import StubProvider

AT_3_AND_15 = "claude-sonnet-4-6"


def usage_of(*told: Any, written: int = 0) -> Usage:
    counts = Counts()
    for usage in told:
        counts.take(usage)
    return counts.usage(Prices(), AT_3_AND_15, written=written, estimate=lambda: Usage(input_tokens=77))


def test_cached_tokens_are_part_of_the_input_and_have_their_own_price() -> None:
    counts = {
        "input_tokens": 1_000,
        "cache_read_input_tokens": 90_000,
        "cache_creation_input_tokens": 5_000,
        "output_tokens": 2_000,
    }
    assert usage_of(counts) == Usage(
        llm_calls=1,
        input_tokens=96_000,
        cache_read_tokens=90_000,
        cache_write_tokens=5_000,
        output_tokens=2_000,
        cost_usd=Decimal("0.07875"),
    )


@pytest.mark.parametrize("count", [120, 120.0])
def test_a_whole_number_is_one_however_it_is_written(count: float) -> None:
    usage = usage_of({"input_tokens": count, "output_tokens": count, "cache_read_input_tokens": None})
    assert (usage.input_tokens, usage.output_tokens, usage.estimated) == (120, 120, False)
    assert type(usage.input_tokens) is int


NO_COUNTS = [-5, "7", None, {}, {"n": 1}, [3], True, 1.5, float("nan"), float("inf"), 1e300, MOST_TOKENS + 1, 10**400]


@pytest.mark.parametrize("count", NO_COUNTS, ids=range(len(NO_COUNTS)))
def test_what_is_no_count_is_replaced_by_our_estimate_and_marked(count: Any) -> None:
    usage = usage_of({"input_tokens": count, "output_tokens": count}, written=11)
    assert (usage.input_tokens, usage.output_tokens, usage.estimated) == (77, 11, True)
    assert usage.cost_usd > 0
    cached = usage_of({"input_tokens": 5, "output_tokens": 2, "cache_read_input_tokens": count})
    assert (cached.input_tokens, cached.cache_read_tokens, cached.estimated) == (5, 0, count is not None)


@pytest.mark.parametrize("told", [None, {}, [], "none", 5, {"input_tokens": 0, "output_tokens": 0}])
def test_a_usage_that_is_absent_or_of_zeros_is_unknown(told: Any) -> None:
    usage = usage_of(told, written=11)
    assert (usage.input_tokens, usage.output_tokens, usage.estimated) == (77, 11, True)


@pytest.mark.parametrize("searches", [-1, "3", {"n": 1}, 1e9])
def test_searches_that_cannot_be_right_cost_nothing_and_are_marked(searches: Any) -> None:
    told = {"input_tokens": 5, "output_tokens": 2, "server_tool_use": {"web_search_requests": searches}}
    usage = usage_of(told)
    assert usage.estimated
    assert usage.cost_usd < Decimal("0.001")


def test_later_counts_replace_earlier_ones_and_a_zero_none() -> None:
    usage = usage_of({"input_tokens": 7, "output_tokens": 1}, {"input_tokens": 0, "output_tokens": 5})
    assert (usage.input_tokens, usage.output_tokens, usage.estimated) == (7, 5, False)


@pytest.mark.parametrize("ended", [{}, {"input_tokens": 0, "output_tokens": 0}, {"output_tokens": None}])
async def test_output_that_was_counted_before_it_was_written_is_estimated(
    claude: Claude, stub: StubProvider, ended: dict[str, Any]
) -> None:
    early = {"input_tokens": 7, "output_tokens": 1}
    stub.on("work", text("x" * 400, usage=ended, start_usage=early))
    usage = (await claude.reply(request())).usage
    assert (usage.input_tokens, usage.estimated) == (7, True)
    assert 100 <= usage.output_tokens <= 101

    buffered = {"input_tokens": 7, "output_tokens": 90}
    stub.on("work", text("x" * 400, usage=ended, start_usage=buffered))
    usage = (await claude.reply(request())).usage
    assert (usage.output_tokens, usage.estimated) == (90, False)


@pytest.mark.parametrize("told", [{}, {"input_tokens": {"n": 1}}, {"input_tokens": -9, "output_tokens": -9}])
@pytest.mark.parametrize("streams", [True, False])
async def test_a_call_whose_usage_is_unknown_is_estimated_from_what_was_sent_and_written(
    claude: Claude, stub: StubProvider, told: dict[str, Any], streams: bool
) -> None:
    stub.on("work", text("x" * 400, usage=told, start_usage=told, streams=streams))
    usage = (await claude.reply(request(system="s" * 4_000))).usage
    assert 1_000 < usage.input_tokens < 1_100
    assert 100 <= usage.output_tokens <= 101
    assert usage.estimated
    assert usage.cost_usd > 0
