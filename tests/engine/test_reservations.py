"""Calls side by side on one budget, whatever each of them costs in the end."""

import asyncio
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.errors import BudgetSpent
from app.domain.job import Limits
from app.domain.policy.budget import EXPECTED_SHARE, Kept, WorstCase
from app.domain.snapshot import Snapshot
from app.domain.usage import Amount, Usage
from app.domain.values import changed
from app.engine.reservations import Reservations
from tests.support.story import brief

PRICE = Decimal("0.00001")
CALLS = st.tuples(st.integers(0, 5_000), st.integers(1, 20_000), st.floats(0, 1), st.integers(0, 3))
"""Tokens read, cap of the reply, share of the cap that is used, turns of the loop that it takes."""


class Account:
    """A run that spends what its calls cost."""

    def __init__(self, **limits: object) -> None:
        self.run = Snapshot(changed(brief(), limits=Limits.model_validate(limits)))
        self.reservations = Reservations()
        self.kept = Kept(Amount(tokens=1_000, cost_usd=1_000 * PRICE), Amount(tokens=2_000, cost_usd=2_000 * PRICE))
        self.made = 0

    async def keep(self) -> Kept:
        return self.kept

    async def call(self, read: int, cap: int, share: float, turns: int) -> None:
        worst = WorstCase(read, cap, read * PRICE, PRICE)
        async with self.reservations.hold(worst, lambda: self.run, self.keep) as granted:
            assert 0 < granted <= cap
            for _ in range(turns):
                await asyncio.sleep(0)
            self.made += 1
            written = int(granted * share)
            spent = Usage(input_tokens=read, output_tokens=written, cost_usd=(read + written) * PRICE)
            self.run = changed(self.run, usage=self.run.usage + spent)

    async def make(self, calls: list[tuple[int, int, float, int]]) -> list[BaseException | None]:
        async with asyncio.timeout(10):
            return await asyncio.gather(*(self.call(*each) for each in calls), return_exceptions=True)


@settings(deadline=None)
@given(st.lists(CALLS, max_size=20), st.integers(1, 60_000))
def test_what_is_spent_never_passes_a_limit_and_what_is_kept_stays(
    calls: list[tuple[int, int, float, int]], limit: int
) -> None:
    for limits in ({"tokens": limit}, {"cost_usd": str(limit * PRICE)}):
        account = Account(**limits)
        ends = asyncio.run(account.make(calls))

        assert all(end is None or isinstance(end, BudgetSpent) for end in ends)
        assert account.made == ends.count(None)
        if account.made:
            assert account.run.usage.amount.tokens <= limit - 1_000 - min(2_000, int(limit * EXPECTED_SHARE))


@settings(deadline=None)
@given(st.lists(CALLS, min_size=1, max_size=20))
def test_every_call_is_made_where_all_fit(calls: list[tuple[int, int, float, int]]) -> None:
    account = Account(tokens=3_000 + sum(read + cap for read, cap, _, _ in calls) * 2)

    assert asyncio.run(account.make(calls)) == [None] * len(calls)


async def test_a_call_that_is_given_up_gives_its_room_back() -> None:
    account = Account(tokens=20_000)
    first = asyncio.create_task(account.call(0, 14_000, 1, 10**6))
    second = asyncio.create_task(account.call(0, 14_000, 1, 0))
    for _ in range(3):
        await asyncio.sleep(0)
    assert (account.made, second.done()) == (0, False)

    first.cancel()
    await second

    assert account.run.usage.output_tokens == 14_000


async def test_what_does_not_fit_says_by_how_much() -> None:
    account = Account(tokens=10_000, cost_usd="5")

    with pytest.raises(BudgetSpent) as caught:
        await account.call(7_000, 4_000, 1, 0)

    spent = caught.value
    assert (spent.limit, spent.allowed, spent.needed, spent.left) == ("tokens", *map(Decimal, (10_000, 8_024, 7_500)))
