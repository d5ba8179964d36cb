from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.policy.breakers import (
    FAILURES_ALLOWED,
    LONGEST_PAUSE_S,
    MEMORY,
    TRIPPED,
    Breaker,
    Fault,
    Stance,
    fail,
    leave_probe,
    look_again_at,
    pause_after,
    reset,
    stance,
    succeed,
    take_probe,
    trip,
)
from app.domain.retries import Patience
from tests.support.story import START

NAME = "model:model-1"
PATIENCE = Patience(retry_base_s=1)
BUSY = Fault("provider_unavailable")
UNPAID = Fault("provider_billing", about="run")
LATER = START + timedelta(hours=1)

CLOSED = Breaker(NAME)
COUNTED = fail(CLOSED, BUSY, START, PATIENCE)
OPEN = fail(CLOSED, UNPAID, START, PATIENCE)
HALF_OPEN = take_probe(OPEN, "me", LATER, 60)
FORCED = trip(CLOSED, START)

WHAT_FOLLOWS = {
    ("closed", "failure"): "closed",
    ("closed", "grave failure"): "open",
    ("closed", "answer"): "closed",
    ("closed", "probe"): "closed",
    ("closed", "answer to the probe"): "closed",
    ("closed", "failure of the probe"): "closed",
    ("closed", "probe left"): "closed",
    ("closed", "trip"): "open",
    ("closed", "reset"): "closed",
    ("open", "failure"): "open",
    ("open", "grave failure"): "open",
    ("open", "answer"): "open",
    ("open", "probe"): "half_open",
    ("open", "answer to the probe"): "open",
    ("open", "failure of the probe"): "open",
    ("open", "probe left"): "open",
    ("open", "trip"): "open",
    ("open", "reset"): "closed",
    ("half_open", "failure"): "half_open",
    ("half_open", "grave failure"): "half_open",
    ("half_open", "answer"): "half_open",
    ("half_open", "probe"): "half_open",
    ("half_open", "answer to the probe"): "closed",
    ("half_open", "failure of the probe"): "open",
    ("half_open", "probe left"): "open",
    ("half_open", "trip"): "open",
    ("half_open", "reset"): "closed",
}
SIGNS = {
    "failure": lambda breaker: fail(breaker, BUSY, LATER, PATIENCE),
    "grave failure": lambda breaker: fail(breaker, UNPAID, LATER, PATIENCE),
    "answer": succeed,
    "probe": lambda breaker: take_probe(breaker, "other", LATER, 60),
    "answer to the probe": lambda breaker: succeed(breaker, "me"),
    "failure of the probe": lambda breaker: fail(breaker, BUSY, LATER, PATIENCE, "me"),
    "probe left": lambda breaker: leave_probe(breaker, "me", LATER),
    "trip": lambda breaker: trip(breaker, LATER),
    "reset": reset,
}
IN_STATE = {"closed": CLOSED, "open": OPEN, "half_open": HALF_OPEN}


@pytest.mark.parametrize("state", IN_STATE)
@pytest.mark.parametrize("sign", SIGNS)
def test_what_follows_a_sign_in_a_state(state: str, sign: str) -> None:
    assert SIGNS[sign](IN_STATE[state]).state == WHAT_FOLLOWS[state, sign]


@pytest.mark.parametrize(
    ("breaker", "said"),
    [
        (None, "pass"),
        (CLOSED, "pass"),
        (COUNTED, "pass"),
        (OPEN, "hold"),
        (fail(OPEN, Fault("provider_billing", about="another run"), START, PATIENCE), "refuse"),
        (fail(OPEN, BUSY, START, PATIENCE), "hold"),
        (fail(HALF_OPEN, UNPAID, START, PATIENCE, "me"), "refuse"),
        (fail(CLOSED, replace(BUSY, retry_after_s=30), START, PATIENCE), "hold"),
        (HALF_OPEN, "hold"),
        (FORCED, "hold"),
    ],
)
def test_what_a_breaker_has_to_say_to_a_call(breaker: Breaker | None, said: Stance) -> None:
    assert stance(breaker, START) == said


@pytest.mark.parametrize("breaker", [OPEN, HALF_OPEN])
def test_once_its_time_has_come_a_call_may_probe_also_when_the_last_probe_never_reported(breaker: Breaker) -> None:
    assert breaker.probe_at is not None
    assert stance(breaker, breaker.probe_at) == "probe"


def test_what_was_opened_by_hand_is_never_probed() -> None:
    assert (FORCED.reason, FORCED.probe_at, stance(FORCED, LATER)) == (TRIPPED, None, "hold")


def test_failures_in_a_row_open_it_and_an_answer_between_them_begins_the_row_anew() -> None:
    breaker = CLOSED
    for _ in range(FAILURES_ALLOWED - 1):
        breaker = fail(breaker, BUSY, START, PATIENCE)
    assert (breaker.state, breaker.failures) == ("closed", FAILURES_ALLOWED - 1)
    assert succeed(breaker) == CLOSED

    opened = fail(breaker, BUSY, START, PATIENCE)

    assert (opened.state, opened.failures, opened.opened_at) == ("open", FAILURES_ALLOWED, START)


def test_the_same_run_says_only_once_that_an_account_is_dead() -> None:
    assert fail(OPEN, UNPAID, START, PATIENCE) == OPEN


def test_what_has_begun_since_the_newest_failure_closes_it() -> None:
    after, before = START + timedelta(seconds=1), START - timedelta(seconds=1)

    assert succeed(OPEN, began_at=after) == succeed(HALF_OPEN, "late", began_at=after) == CLOSED
    assert succeed(OPEN, began_at=before) == OPEN
    assert succeed(FORCED, began_at=after) == FORCED


def test_nobody_waits_longer_than_a_minute_for_news() -> None:
    asked = fail(CLOSED, replace(BUSY, retry_after_s=3_000), START, PATIENCE)

    assert look_again_at(FORCED, START, PATIENCE) == START + timedelta(seconds=60)
    assert look_again_at(asked, START, PATIENCE) == START + timedelta(seconds=60)


def test_failures_far_apart_are_not_in_a_row() -> None:
    breaker, now = CLOSED, START
    for _ in range(FAILURES_ALLOWED * 2):
        breaker = fail(breaker, BUSY, now, PATIENCE)
        now += MEMORY + timedelta(seconds=1)

    assert (breaker.state, breaker.failures) == ("closed", 1)


def test_failures_about_one_and_the_same_thing_count_once() -> None:
    breaker = Breaker("tool:fetch_page")
    for _ in range(FAILURES_ALLOWED * 2):
        breaker = fail(breaker, Fault("fetch_failed", about="hostile.example"), START, PATIENCE)
    assert (breaker.state, breaker.failures) == ("closed", 1)

    for number in range(FAILURES_ALLOWED - 1):
        breaker = fail(breaker, Fault("fetch_failed", about=f"{number}.example"), START, PATIENCE)

    assert breaker.state == "open"


def test_the_pause_doubles_up_to_a_ceiling() -> None:
    pauses = [pause_after(openings, PATIENCE).total_seconds() for openings in (1, 2, 3, 4, 5, 1_000)]

    assert pauses == [10, 20, 40, 60, 60, 60]


def test_a_pause_that_was_asked_for_is_kept_within_reason() -> None:
    for asked, kept in ((30, 30), (6, 10), (10 * LONGEST_PAUSE_S, LONGEST_PAUSE_S)):
        opened = fail(CLOSED, Fault("rate_limited", retry_after_s=asked), START, PATIENCE)
        assert opened.probe_at == START + timedelta(seconds=kept)
    assert fail(CLOSED, Fault("rate_limited", retry_after_s=2), START, PATIENCE).state == "closed"


def test_whoever_ends_late_may_only_have_been_told_to_stay_away_longer() -> None:
    opened = fail(CLOSED, Fault("rate_limited", retry_after_s=30), START, PATIENCE)

    longer = fail(opened, Fault("rate_limited", retry_after_s=90), START, PATIENCE)

    assert longer == replace(opened, probe_at=START + timedelta(seconds=90))
    assert fail(opened, BUSY, START, PATIENCE) == opened


def test_those_that_a_probe_holds_look_again_before_it_may_be_given_up() -> None:
    assert HALF_OPEN.probe_at == LATER + timedelta(seconds=60)
    assert look_again_at(HALF_OPEN, LATER, PATIENCE) == LATER + timedelta(seconds=10)
    assert look_again_at(OPEN, START, PATIENCE) == OPEN.probe_at


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["call", "answer", "failure", "grave failure", "leave", "trip", "reset", "crash"]),
        st.integers(0, 3),
        st.integers(0, 90),
    ),
    max_size=60,
)


@settings(max_examples=300, derandomize=True, database=None)
@given(STEPS)
def test_there_is_never_more_than_one_probe_and_nobody_is_held_for_good(steps: list[tuple[str, int, int]]) -> None:
    breaker, now, probes = CLOSED, START, dict[str, object]()
    for number, (what, who, seconds) in enumerate(steps):
        now += timedelta(seconds=seconds)
        prober = f"{who}"
        match what:
            case "call" if stance(breaker, now) == "probe":
                before = breaker
                breaker = take_probe(breaker, f"{who}", now, 60)
                assert stance(breaker, now) == "hold"
                assert take_probe(breaker, "another", now, 60) == breaker
                assert before.probe_at is not None
                assert before.probe_at <= now
                probes[prober] = number
            case "call":
                assert take_probe(breaker, prober, now, 60) == breaker
            case "answer":
                breaker = succeed(breaker, prober)
            case "failure":
                breaker = fail(breaker, BUSY, now, PATIENCE, prober)
            case "grave failure":
                breaker = fail(breaker, UNPAID, now, PATIENCE, prober)
            case "leave":
                breaker = leave_probe(breaker, prober, now)
            case "trip":
                breaker = trip(breaker, now)
            case "reset":
                breaker = reset(breaker)
        assert (breaker.state == "closed") == (breaker.opened_at is None)
        assert (breaker.state == "half_open") == (breaker.prober is not None)
        if breaker.state != "closed" and breaker.reason != TRIPPED:
            assert breaker.probe_at is not None
            assert breaker.probe_at <= now + timedelta(seconds=60)
            assert succeed(take_probe(breaker, "last", breaker.probe_at, 60), "last") == CLOSED
