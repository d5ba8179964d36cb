import re
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.usage import Usage

COUNTS = st.integers(0, 10**9)
USAGES = st.builds(
    Usage,
    llm_calls=COUNTS,
    tool_calls=COUNTS,
    input_tokens=COUNTS,
    cache_read_tokens=COUNTS,
    cache_write_tokens=COUNTS,
    output_tokens=COUNTS,
    cost_usd=st.decimals(0, 10**6, places=9),
    estimated=st.booleans(),
)
MANY = settings(max_examples=100, deadline=None, derandomize=True, database=None)


@MANY
@given(USAGES, USAGES)
def test_a_sum_adds_every_number_and_is_estimated_when_a_part_is(one: Usage, other: Usage) -> None:
    total = (one + other).model_dump()

    assert total.pop("estimated") == (one.estimated or other.estimated)
    assert total == {name: getattr(one, name) + getattr(other, name) for name in total}


@MANY
@given(USAGES, USAGES, USAGES)
def test_the_order_of_adding_does_not_matter(one: Usage, two: Usage, three: Usage) -> None:
    assert (one + two) + three == one + (two + three)
    assert one + two == two + one
    assert one + Usage() == one


@MANY
@given(st.decimals(0, 10**9, allow_nan=False, allow_infinity=False))
def test_money_is_written_in_plain_digits_and_keeps_its_value(cost: Decimal) -> None:
    written = Usage(cost_usd=cost).model_dump(mode="json")["cost_usd"]

    assert re.fullmatch(r"[0-9]+(\.[0-9]+)?", written)
    assert Decimal(written) == cost


@pytest.mark.parametrize(("stored", "written"), [("0E-7", "0.0000000"), ("1E+2", "100"), ("3E-7", "0.0000003")])
def test_money_that_was_stored_with_an_exponent_is_read(stored: str, written: str) -> None:
    usage = Usage.model_validate({"cost_usd": stored})

    assert usage.cost_usd == Decimal(stored)
    assert usage.model_dump(mode="json")["cost_usd"] == written


def test_money_adds_up_exactly() -> None:
    assert sum([Usage(cost_usd=Decimal("0.1"))] * 3, Usage()).cost_usd == Decimal("0.3")
