"""Whether one more run is accepted: what is refused, what waits, and what a run may spend of what is left."""

from datetime import UTC, datetime
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.admission import LEAST_COST_USD, Standing, admitted, note_of_requests, notes_of
from app.domain.errors import LimitReached
from app.domain.quotas import Quota, Quotas, Rate, Spending, Taken

NOW = datetime(2026, 11, 30, 23, 0, tzinfo=UTC)
USD = Decimal
NONE = USD(0)


def taken(spent: Decimal = NONE, reserved: Decimal = NONE, *, in_flight: int = 0, queued: int = 0) -> Taken:
    spending = Spending(spent, reserved)
    return Taken(in_flight, queued, 0, {"cost_usd_per_day": spending, "cost_usd_per_month": spending})


def standing(tenant: Taken, key: Taken | None = None) -> Standing:
    return Standing(NOW, tenant, key or taken())


@pytest.mark.parametrize(("in_flight", "waits"), [(0, False), (4, False), (5, True), (9, True)])
def test_a_run_waits_when_as_many_are_in_flight_as_may_be(in_flight: int, waits: bool) -> None:
    for quotas, stands in (
        (Quotas(tenant=Quota(runs_in_flight=5)), standing(taken(in_flight=in_flight))),
        (Quotas(key=Quota(runs_in_flight=5)), standing(taken(), taken(in_flight=in_flight))),
    ):
        assert admitted(quotas, stands, None).held == waits


@pytest.mark.parametrize("owner", ["tenant", "key"])
def test_a_run_is_refused_when_as_many_are_queued_as_may_be(owner: str) -> None:
    quotas = Quotas(**{owner: Quota(runs_queued=3)})

    assert not admitted(quotas, standing(taken(queued=2), taken(queued=2)), None).held
    with pytest.raises(LimitReached, match="too_many_queued") as refused:
        admitted(quotas, standing(taken(queued=3), taken(queued=3)), None)

    assert owner in refused.value.detail


@pytest.mark.parametrize(
    ("wanted", "spent", "reserved", "gets"),
    [
        ("2.00", "0", "0", "2.00"),
        ("2.00", "7.5", "1", "1.5"),
        (None, "7.5", "1", "1.5"),
        ("2.00", "7", "2.99", "0.01"),
        ("0.002", "9.995", "0", "0.002"),
        ("2.00", "9.0000001", "0", "0.999999"),
    ],
)
def test_a_run_may_spend_what_is_left_at_most(wanted: str | None, spent: str, reserved: str, gets: str) -> None:
    quotas = Quotas(tenant=Quota(cost_usd_per_day=USD(10)))

    found = admitted(quotas, standing(taken(USD(spent), USD(reserved))), USD(wanted) if wanted else None)

    assert found.cost_usd == USD(gets)


@pytest.mark.parametrize(
    ("quota", "spent", "reserved", "retry_after_s"),
    [
        (Quota(cost_usd_per_day=USD(10)), "10", "0", 3_601),
        (Quota(cost_usd_per_month=USD(10)), "9.995", "0", 3_601),
        (Quota(cost_usd_per_day=USD(10)), "4", "6", 5),
        (Quota(cost_usd_per_day=USD(10)), "12", "0", 3_601),
    ],
)
def test_when_nothing_is_left_one_is_told_when_there_will_be(
    quota: Quota, spent: str, reserved: str, retry_after_s: int
) -> None:
    with pytest.raises(LimitReached, match="spend_limit_reached") as refused:
        admitted(Quotas(key=quota), standing(taken(), taken(USD(spent), USD(reserved))), USD(1))

    assert refused.value.retry_after_s == retry_after_s


@given(st.lists(st.tuples(st.decimals("0.001", "3", places=3), st.decimals("0", "1", places=2)), max_size=40))
def test_however_runs_spend_what_they_may_the_limit_holds(jobs: list[tuple[Decimal, Decimal]]) -> None:
    limit, spent, reserved = USD(5), USD(0), USD(0)
    quotas = Quotas(tenant=Quota(cost_usd_per_day=limit))
    under_way: list[tuple[Decimal, Decimal]] = []
    for wanted, share in jobs:
        try:
            given_usd = admitted(quotas, standing(taken(spent, reserved)), wanted).cost_usd
        except LimitReached:
            assert limit - spent - reserved < LEAST_COST_USD
        else:
            assert given_usd is not None
            reserved += given_usd
            under_way.append((given_usd, share))
        if len(under_way) > 3:
            given_usd, share = under_way.pop(0)
            reserved -= given_usd
            spent += given_usd * share
        assert spent + reserved <= limit


def test_notes_say_how_it_stands() -> None:
    quotas = Quotas(Quota(runs_queued=5, cost_usd_per_day=USD("10.50")), Quota(runs_in_flight=2))

    found = list(notes_of(quotas, standing(taken(USD("3.333"), USD("1"), queued=2), taken(in_flight=3))))

    assert [(note.name, note.quota, note.left, note.window_s, note.reset_s) for note in found] == [
        ("runs-queued", 5, 3, None, None),
        ("cost-day", 1050, 616, 86_400, 3_601),
        ("key-runs-in-flight", 2, 0, None, None),
    ]
    note = note_of_requests("tenant", Rate(10, 20), 0.45)
    assert (note.name, note.quota, note.left, note.window_s, note.reset_s) == ("requests", 20, 15, 2, 1)
    note = note_of_requests("tenant", Rate(50, 5), 0.02)
    assert (note.quota, note.left, note.window_s) == (50, 4, 1)
