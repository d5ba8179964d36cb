"""What tenants and keys may use: which limit holds, the arithmetic of requests, and when a period begins and ends."""

from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from app.domain.job import Limits, dry
from app.domain.quotas import Quota, Quotas, Rate, period_at, quotas_of

RATES = st.builds(Rate, st.integers(1, 1_000), st.integers(1, 1_000))


def worked(rate: Rate, ahead_s: float) -> tuple[bool, float]:
    """Whether a request may come, and how far the moment lies ahead then: what the database does."""
    after = max(ahead_s, 0.0) + rate.step_s
    return (True, after) if after <= rate.room_s + 1e-6 else (False, ahead_s)


@given(RATES)
def test_just_as_many_come_at_once_as_the_burst_says(rate: Rate) -> None:
    ahead_s = 0.0
    for sent in range(rate.burst):
        assert rate.left(ahead_s) == rate.burst - sent
        came, ahead_s = worked(rate, ahead_s)
        assert came

    assert (rate.left(ahead_s), worked(rate, ahead_s)[0]) == (0, False)


@given(RATES, st.lists(st.floats(0, 2), max_size=200))
def test_no_more_come_than_the_burst_and_what_time_brings(rate: Rate, pauses: list[float]) -> None:
    ahead_s, passed, came = 0.0, 0.0, 0
    for pause in pauses:
        passed += pause
        ahead_s = max(ahead_s - pause, 0.0)
        is_taken, ahead_s = worked(rate, ahead_s)
        came += is_taken

    assert came <= rate.burst + passed * rate.per_second + 1


@given(RATES)
def test_who_waits_as_long_as_is_said_comes_in(rate: Rate) -> None:
    full = rate.room_s

    wait_s = rate.wait_s(full)

    assert wait_s == pytest.approx(rate.step_s)
    assert worked(rate, full - wait_s)[0]


def test_a_window_is_the_time_in_which_all_of_the_burst_comes_back() -> None:
    rates = [Rate(*each) for each in ((100, 100), (100, 50), (10, 25), (1, 60))]

    assert [(rate.in_window, rate.window_s) for rate in rates] == [(100, 1), (100, 1), (30, 3), (60, 60)]


@given(RATES)
def test_a_window_says_the_rate_and_has_room_for_the_burst(rate: Rate) -> None:
    assert rate.in_window == rate.per_second * rate.window_s
    assert rate.burst <= rate.in_window < rate.burst + rate.per_second


@pytest.mark.parametrize(
    ("now", "day", "month"),
    [
        (datetime(2026, 11, 30, 23, 59, 59, tzinfo=UTC), ("11-30", "12-01"), ("11-01", "12-01")),
        (datetime(2026, 12, 31, 12, tzinfo=UTC), ("12-31", "01-01"), ("12-01", "01-01")),
        (datetime(2024, 2, 29, 0, 0, tzinfo=UTC), ("02-29", "03-01"), ("02-01", "03-01")),
        (datetime(2026, 12, 1, 1, tzinfo=timezone(timedelta(hours=2))), ("11-30", "12-01"), ("11-01", "12-01")),
    ],
)
def test_days_and_months_are_those_of_utc(now: datetime, day: tuple[str, str], month: tuple[str, str]) -> None:
    for name, wanted in (("cost_usd_per_day", day), ("cost_usd_per_month", month)):
        period = period_at(name, now)  # type: ignore[arg-type]
        assert (f"{period.since:%m-%d}", f"{period.until:%m-%d}") == wanted
        assert period.since <= now < period.until


def test_a_tenant_has_what_it_says_and_else_what_holds_for_all() -> None:
    defaults = ("", "", {"runs_in_flight": 5, "runs_queued": 50, "requests_per_second": 100, "requests_burst": 500})
    own = ("acme", "", {"runs_in_flight": None, "requests_per_second": 10})
    of_key = ("acme", "k1", {"runs_queued": 2})

    whole, keyed, bare = quotas_of([defaults, own], None), quotas_of([defaults, own, of_key], "k1"), quotas_of([], "k1")

    assert (whole.tenant.runs_in_flight, whole.tenant.runs_queued) == (None, 50)
    assert whole.tenant.rate == Rate(10, 10)
    assert (keyed.tenant, keyed.key) == (whole.tenant, Quota(runs_queued=2))
    assert (bare.bind, whole.bind, Quotas(key=Quota(requests_burst=None)).bind) == (False, True, False)


def test_changes_leave_what_they_do_not_name_as_it_was() -> None:
    before = Quota(runs_in_flight=5, cost_usd_per_day=Decimal(20))

    after = Quota(runs_in_flight=None, runs_queued=7).over(before)

    assert after.said == {"runs_in_flight": None, "runs_queued": 7, "cost_usd_per_day": "20"}
    assert after.bounds == {"runs_queued": 7, "cost_usd_per_day": "20"}


@pytest.mark.parametrize(
    ("wanted", "maker", "limits"),
    [
        ({}, {"runs_queued": 5, "cost_usd_per_day": "2"}, {"runs_queued": 5, "cost_usd_per_day": "2"}),
        ({"runs_queued": 3, "runs_in_flight": 9}, {"runs_queued": 5}, {"runs_queued": 3, "runs_in_flight": 9}),
        ({"runs_queued": 7}, {"runs_queued": 5}, {"runs_queued": 5}),
        ({"requests_per_second": 9}, {}, {"requests_per_second": 9}),
        ({"requests_per_second": 9}, {"requests_burst": 2}, {"requests_per_second": 9}),
        ({}, {"requests_per_second": 5}, {"requests_per_second": 5, "requests_burst": 5}),
        (
            {"requests_per_second": 9, "requests_burst": 90},
            {"requests_per_second": 5, "requests_burst": 50},
            {"requests_per_second": 5, "requests_burst": 50},
        ),
        (
            {"requests_per_second": 2},
            {"requests_per_second": 5, "requests_burst": 50},
            {"requests_per_second": 2, "requests_burst": 2},
        ),
    ],
)
def test_of_two_that_hold_the_stricter_one_counts(
    wanted: dict[str, Any], maker: dict[str, Any], limits: dict[str, Any]
) -> None:
    assert Quota.model_validate(wanted).at_most(Quota.model_validate(maker)).said == limits


@pytest.mark.parametrize(
    "limits",
    [{"runs_in_flight": 0}, {"runs_queued": -1}, {"requests_per_second": True}, {"cost_usd_per_day": "0"}, {"runs": 5}],
)
def test_what_is_no_limit_is_refused(limits: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        Quota.model_validate(limits)


def test_a_run_may_never_cost_more_than_a_period_or_one_run_may() -> None:
    of_tenant = Quota(cost_usd_per_day=Decimal(20), cost_usd_per_run=Decimal(3))
    quotas = Quotas(of_tenant, Quota(cost_usd_per_month=Decimal(2)))

    assert quotas.within(Limits()).cost_usd == 2
    assert quotas.within(Limits(cost_usd=Decimal(1))).cost_usd == 1
    assert quotas.within(dry(Limits())) == dry(Limits(cost_usd=Decimal(2)))
    assert Quotas().within(Limits()) == Limits()
