from decimal import Decimal

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


def test_money_adds_up_exactly() -> None:
    assert sum([Usage(cost_usd=Decimal("0.1"))] * 3, Usage()).cost_usd == Decimal("0.3")
