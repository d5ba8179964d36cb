"""When schedules have their times, in zones whose clocks jump, and what becomes of those that nobody was there for."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_core import PydanticCustomError

from app.domain.cron import checked_cron, checked_zone, next_after, zones
from app.domain.schedules import (
    GRACE,
    Outcome,
    Policy,
    Timing,
    outcome_of,
    refusals_after,
    run_id_for,
    time_after,
    time_resumed,
    waits,
)

DUE = datetime(2026, 11, 29, 9, 0, tzinfo=UTC)
EACH_MINUTE = Timing("* * * * *", "UTC", None)
DAILY = Timing("0 9 * * *", "UTC", None)
ONCE = Timing(None, "UTC", DUE)
SKIP, RUN_ONCE = Policy("skip", "allow"), Policy("run_once", "allow")
MOMENTS = st.integers(1_104_537_600, 2_051_222_400).map(lambda seconds: datetime.fromtimestamp(seconds, UTC))


def times(cron: str, zone: str, start: str, count: int) -> list[str]:
    """The times behind `start`, which the clocks of the zone show, as these show them."""
    here = ZoneInfo(zone)
    first = next_after(cron, zone, datetime.fromisoformat(start).replace(tzinfo=here))
    found = Timing(cron, zone, None).upcoming(first, count)
    return [at.astimezone(here).isoformat(timespec="minutes") for at in found]


@pytest.mark.parametrize(
    ("cron", "zone", "start", "expected"),
    [
        # The clocks go on: what they leave out comes when they have, once.
        ("30 2 * * *", "Europe/Berlin", "2026-03-28T12:00", ["2026-03-29T03:00+02:00", "2026-03-30T02:30+02:00"]),
        ("*/20 2 * * *", "Europe/Berlin", "2026-03-28T12:00", ["2026-03-29T03:00+02:00", "2026-03-30T02:00+02:00"]),
        ("0 2,3 * * *", "Europe/Berlin", "2026-03-28T12:00", ["2026-03-29T03:00+02:00", "2026-03-30T02:00+02:00"]),
        ("15 2 * * *", "Australia/Lord_Howe", "2026-10-03T12:00",
         ["2026-10-04T02:30+11:00", "2026-10-05T02:15+11:00"]),
        # A day that never was.
        ("0 9 * * *", "Pacific/Apia", "2011-12-29T08:00",
         ["2011-12-29T09:00-10:00", "2011-12-31T00:00+14:00", "2011-12-31T09:00+14:00"]),
        # The clocks go back: what they show twice comes once.
        ("30 2 * * *", "Europe/Berlin", "2026-10-24T12:00", ["2026-10-25T02:30+02:00", "2026-10-26T02:30+01:00"]),
        ("*/30 2 * * *", "Europe/Berlin", "2026-10-24T12:00",
         ["2026-10-25T02:00+02:00", "2026-10-25T02:30+02:00", "2026-10-26T02:00+01:00"]),
        ("0 */2 * * *", "Europe/Berlin", "2026-10-25T00:00", ["2026-10-25T02:00+02:00", "2026-10-25T04:00+01:00"]),
        ("30 1 * * *", "America/New_York", "2026-10-31T12:00", ["2026-11-01T01:30-04:00", "2026-11-02T01:30-05:00"]),
        ("45 1 * * *", "Australia/Lord_Howe", "2026-04-04T12:00",
         ["2026-04-05T01:45+11:00", "2026-04-06T01:45+10:30"]),
        # Every hour is every hour that passes.
        ("0 * * * *", "Europe/Berlin", "2026-10-25T01:30",
         ["2026-10-25T02:00+02:00", "2026-10-25T02:00+01:00", "2026-10-25T03:00+01:00"]),
        ("0 * * * *", "Europe/Berlin", "2026-03-29T00:30", ["2026-03-29T01:00+01:00", "2026-03-29T03:00+02:00"]),
        ("*/30 * * * *", "America/New_York", "2026-11-01T01:10",
         ["2026-11-01T01:30-04:00", "2026-11-01T01:00-05:00", "2026-11-01T01:30-05:00"]),
        # Days: where both are said, one of them is enough.
        ("0 9 * * 1-5", "Europe/Berlin", "2026-11-27T10:00", ["2026-11-30T09:00+01:00", "2026-12-01T09:00+01:00"]),
        ("0 0 13 * FRI", "UTC", "2026-11-10T00:00", ["2026-11-13T00:00+00:00", "2026-11-20T00:00+00:00"]),
        ("0 0 29 2 *", "UTC", "2026-01-01T00:00", ["2028-02-29T00:00+00:00", "2032-02-29T00:00+00:00"]),
        ("0 18 LW * *", "UTC", "2026-05-01T00:00", ["2026-05-29T18:00+00:00", "2026-06-30T18:00+00:00"]),
    ],
)  # fmt: skip
def test_times_come_once_whatever_the_clocks_do(cron: str, zone: str, start: str, expected: list[str]) -> None:
    assert times(cron, zone, start, len(expected)) == expected


def test_in_the_second_of_two_hours_that_look_alike_what_came_in_the_first_is_over() -> None:
    second = datetime(2026, 10, 25, 2, 15, fold=1, tzinfo=ZoneInfo("Europe/Berlin"))

    found = next_after("30 2 * * *", "Europe/Berlin", second)

    assert found == datetime(2026, 10, 26, 1, 30, tzinfo=UTC)


@given(
    MOMENTS,
    st.sampled_from(["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Pacific/Apia", "America/Sao_Paulo"]),
    st.sampled_from(["30 2 * * *", "*/7 * * * *", "0 0 * * *", "15 */3 * * *", "45 1 1 * 0", "* 2 * * *", "0 0 L * *"]),
)
def test_the_next_time_always_lies_ahead_and_between_there_is_none(moment: datetime, zone: str, cron: str) -> None:
    found = next_after(cron, zone, moment)

    assert found is not None
    assert found > moment
    assert found.second == found.microsecond == 0
    assert next_after(cron, zone, found - timedelta(seconds=1)) == found


def test_a_time_that_never_comes_is_none() -> None:
    assert next_after("* * */20 * 1L", "UTC", DUE) is None


def test_the_years_end() -> None:
    assert next_after("0 0 1 1 *", "UTC", datetime(9999, 12, 31, tzinfo=UTC)) is None


@pytest.mark.parametrize(
    "cron",
    ["", "* * * *", "0 * * * * *", "60 * * * *", "* 24 * * *", "* * 0 * *", "0 0 30 2 *", "0 0 31 4,6 *", "* * * 13 *",
     "* * * * 8", "5-1 * * * *", "*/0 * * * *", "@daily", "a b c d e", "1,,2 * * * *", "\u00b2 * * * *"],
)  # fmt: skip
def test_what_is_no_expression_of_five_fields_is_refused(cron: str) -> None:
    with pytest.raises(PydanticCustomError):
        checked_cron(cron)


def test_an_expression_is_kept_in_one_form() -> None:
    assert checked_cron("  0  9 * jan mon-fri ") == "0 9 * JAN MON-FRI"


@pytest.mark.parametrize("zone", ["", "Europe", "europe/berlin", "localtime", "../../etc/passwd", "CEST", "Mars/Base"])
def test_what_is_no_zone_is_refused(zone: str) -> None:
    with pytest.raises(PydanticCustomError, match="IANA"):
        checked_zone(zone)


def test_every_zone_can_be_read() -> None:
    assert all(ZoneInfo(checked_zone(name)) for name in zones())


@pytest.mark.parametrize(
    ("late_s", "policy", "busy", "outcome"),
    [
        (0.4, SKIP, False, "fired"),
        (59.9, SKIP, False, "fired"),
        (60, SKIP, False, "missed"),
        (61, RUN_ONCE, False, "fired"),
        (86_400, RUN_ONCE, False, "fired"),
        (0.4, SKIP, True, "fired"),
        (0.4, Policy("skip", "skip"), True, "overlapped"),
        (0.4, Policy("skip", "skip"), False, "fired"),
        (61, Policy("skip", "skip"), True, "missed"),
        (61, Policy("run_once", "skip"), True, "overlapped"),
    ],
)
def test_what_becomes_of_a_time(late_s: float, policy: Policy, busy: bool, outcome: str) -> None:
    assert outcome_of(DUE, DUE + timedelta(seconds=late_s), policy, busy=busy) == outcome


@pytest.mark.parametrize(
    ("timing", "policy", "late", "expected"),
    [
        (EACH_MINUTE, SKIP, timedelta(seconds=1), DUE + timedelta(minutes=1)),
        (EACH_MINUTE, SKIP, timedelta(seconds=59), DUE + timedelta(minutes=1)),
        # The first time is missed, and the one behind it is not yet.
        (EACH_MINUTE, SKIP, timedelta(seconds=90), DUE + timedelta(minutes=1)),
        (EACH_MINUTE, SKIP, timedelta(days=1, seconds=30), DUE + timedelta(days=1)),
        # One run for all of them: the next one lies ahead.
        (EACH_MINUTE, RUN_ONCE, timedelta(seconds=90), DUE + timedelta(minutes=2)),
        (EACH_MINUTE, RUN_ONCE, timedelta(days=1, seconds=30), DUE + timedelta(days=1, minutes=1)),
        (DAILY, SKIP, timedelta(days=3, hours=2), DUE + timedelta(days=4)),
        (DAILY, RUN_ONCE, timedelta(days=3, hours=2), DUE + timedelta(days=4)),
        (ONCE, SKIP, timedelta(0), None),
        (ONCE, RUN_ONCE, timedelta(days=1), None),
    ],
)
def test_the_time_that_follows(timing: Timing, policy: Policy, late: timedelta, expected: datetime | None) -> None:
    assert time_after(timing, DUE, DUE + late, policy) == expected


@given(st.timedeltas(timedelta(0), timedelta(days=2)), st.sampled_from([SKIP, RUN_ONCE]))
def test_a_downtime_costs_at_most_one_run_and_nothing_that_is_not_missed(late: timedelta, policy: Policy) -> None:
    now, due, runs = DUE + late, DUE, 0
    while due is not None and due <= now:  # As the timekeeper does it.
        runs += outcome_of(due, now, policy, busy=False) == "fired"
        due = time_after(EACH_MINUTE, due, now, policy)  # type: ignore[assignment]

    assert due is not None
    assert now < due <= now + timedelta(minutes=1)
    if policy is SKIP:
        assert runs == sum(timedelta(0) <= late - timedelta(minutes=n) < GRACE for n in range(3000))
    elif late >= GRACE:
        assert runs == 1


@pytest.mark.parametrize(
    ("outcome", "passes", "after"),
    [("fired", False, 0), ("refused", False, 8), ("refused", True, 7), ("missed", False, 7), ("overlapped", False, 7)],
)
def test_refusals_count_while_they_come_in_a_row_and_do_not_pass(outcome: Outcome, passes: bool, after: int) -> None:
    assert refusals_after(7, outcome, passes=passes) == after


@pytest.mark.parametrize(
    ("outcome", "policy", "passes", "again"),
    [
        ("refused", RUN_ONCE, True, True),
        ("refused", RUN_ONCE, False, False),
        ("refused", SKIP, True, False),
        ("overlapped", RUN_ONCE, True, False),
        ("fired", RUN_ONCE, True, False),
    ],
)
def test_a_time_waits_for_what_passes_unless_it_may_be_left_out(
    outcome: Outcome, policy: Policy, passes: bool, again: bool
) -> None:
    assert waits(outcome, policy, passes=passes) == again


@pytest.mark.parametrize(
    ("timing", "policy", "late_s", "expected"),
    [
        (DAILY, SKIP, -1, DUE),
        (DAILY, SKIP, 0, DUE + timedelta(days=1)),
        (DAILY, SKIP, 5, DUE + timedelta(days=1)),
        (DAILY, RUN_ONCE, 5, DUE),
        (DAILY, RUN_ONCE, 300_000, DUE),
        (ONCE, SKIP, 5, None),
        (ONCE, RUN_ONCE, 5, DUE),
    ],
)
def test_a_pause_leaves_out_what_came_in_it_or_has_it_run_when_it_ends(
    timing: Timing, policy: Policy, late_s: float, expected: datetime | None
) -> None:
    assert time_resumed(timing, DUE, DUE + timedelta(seconds=late_s), policy) == expected


def test_a_run_is_named_by_its_schedule_and_its_time_alone() -> None:
    here = run_id_for("sch_a", DUE)

    assert here == run_id_for("sch_a", DUE.astimezone(ZoneInfo("Asia/Tokyo")))
    assert len({here, run_id_for("sch_b", DUE), run_id_for("sch_a", DUE + timedelta(minutes=1))}) == 3
