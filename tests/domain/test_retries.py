import math
from dataclasses import fields
from datetime import UTC, datetime, timedelta
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.errors import (
    AccountProblem,
    ContextExceeded,
    ErrorCode,
    Held,
    ModelError,
    ProviderUnavailable,
    RateLimited,
    RequestRejected,
    StreamIncomplete,
    Transient,
)
from app.domain.failures import REMEDIES, Remedy, codes_with, remedy_for
from app.domain.policy.breakers import Breaker, Fault, fail, take_probe
from app.domain.retries import (
    BACKOFF_CEILING_S,
    Patience,
    backoff,
    next_call_at,
    spread,
)

NOW = datetime(2026, 1, 1, tzinfo=UTC)
FAR = NOW + timedelta(days=1)
MANY = settings(max_examples=100, deadline=None, derandomize=True, database=None)

JITTER = st.floats(0, 1, exclude_max=True)
PATIENCE = st.builds(Patience, call_attempts=st.integers(1, 50), retry_base_s=st.floats(0, 60))
PERMANENT = [ModelError("x"), RequestRejected("x"), ContextExceeded("x"), AccountProblem("x", code="provider_auth")]
TRANSIENT = [Transient, RateLimited, ProviderUnavailable, StreamIncomplete]


@MANY
@given(st.lists(st.one_of(st.text(), st.integers()), max_size=4))
def test_jitter_is_a_share_that_is_always_the_same_for_its_key(key: list[object]) -> None:
    assert 0 <= spread(*key) < 1
    assert spread(*key) == spread(*key)


def test_jitter_spreads_keys_over_the_whole_range() -> None:
    shares = [spread("run", number) for number in range(1_000)]

    assert all(any(low <= share * 10 < low + 1 for share in shares) for low in range(10))
    assert 0.4 < sum(shares) / len(shares) < 0.6


@MANY
@given(PATIENCE, st.integers(1, 10), JITTER)
def test_a_wait_is_between_half_and_all_of_its_ceiling(patience: Patience, failures: int, jitter: float) -> None:
    ceiling = min(patience.retry_base_s * 2 ** (failures - 1), BACKOFF_CEILING_S)
    wait = backoff(patience, failures, jitter).total_seconds()

    assert ceiling / 2 - 1e-6 <= wait <= ceiling + 1e-6


def test_the_ceiling_doubles_with_every_failure_up_to_a_minute() -> None:
    ceilings = [backoff(Patience(retry_base_s=1), failures, 0).total_seconds() * 2 for failures in range(1, 10)]

    assert ceilings == [1, 2, 4, 8, 16, 32, 60, 60, 60]


@pytest.mark.parametrize("error", PERMANENT)
def test_a_permanent_fault_is_never_sent_again(error: ModelError) -> None:
    assert next_call_at(Patience(call_attempts=10), error, failures=1, now=NOW, deadline=FAR, jitter=0) is None


@pytest.mark.parametrize("kind", TRANSIENT)
def test_a_transient_fault_is_sent_again_until_the_attempts_are_used_up(kind: type[Transient]) -> None:
    patience = Patience(call_attempts=3)
    times = [
        next_call_at(patience, kind("x"), failures=count, now=NOW, deadline=FAR, jitter=0) for count in (1, 2, 3, 4)
    ]

    assert [at is not None for at in times] == [True, True, False, False]


@MANY
@given(PATIENCE, st.floats(0, 3_000), JITTER)
def test_the_providers_own_wait_is_never_cut_short(patience: Patience, asked: float, jitter: float) -> None:
    error = RateLimited("x", retry_after_s=asked)
    at = next_call_at(patience, error, failures=1, now=NOW, deadline=FAR, jitter=jitter)

    assert (at is None) == (patience.call_attempts == 1)
    if at is not None:
        waited = (at - NOW).total_seconds()
        own = backoff(patience, 1, jitter).total_seconds()
        assert max(asked, own) - 1e-6 <= waited <= max(asked * 1.1, own) + 1e-6


@pytest.mark.parametrize("asked", [1e12, 1e300, math.inf, timedelta.max.total_seconds()])
def test_an_absurd_wait_is_refused_without_an_overflow(asked: float) -> None:
    error = RateLimited("x", retry_after_s=asked)

    for deadline in (FAR, datetime.max.replace(tzinfo=UTC)):
        assert next_call_at(Patience(), error, failures=1, now=NOW, deadline=deadline, jitter=0.9) is None


@MANY
@given(PATIENCE, st.none() | st.floats(0, 1e6), JITTER, st.floats(0, 1_000))
def test_nothing_is_sent_again_at_or_after_the_deadline(
    patience: Patience, asked: float | None, jitter: float, left: float
) -> None:
    deadline = NOW + timedelta(seconds=left)
    error = ProviderUnavailable("x", retry_after_s=asked)
    at = next_call_at(patience, error, failures=1, now=NOW, deadline=deadline, jitter=jitter)

    assert at is None or NOW <= at < deadline


@pytest.mark.parametrize(("purpose", "attempts"), [("work", 3), ("plan", 20), ("refine", 20)])
def test_the_supervisors_calls_are_given_more_than_the_workers(purpose: str, attempts: int) -> None:
    patience = Patience(call_attempts=3).towards(purpose)
    error = ProviderUnavailable("x")
    waits = [next_call_at(patience, error, failures=count, now=NOW, deadline=FAR, jitter=0) for count in range(1, 30)]

    assert sum(at is not None for at in waits) == attempts - 1


def test_the_last_attempt_of_a_worker_lasts_through_two_minutes_of_overload() -> None:
    patience, breaker, now, error = Patience().in_attempt(3, 0), Breaker("model:m"), NOW, ProviderUnavailable("x")
    for failures in range(1, 9):
        at = next_call_at(patience, error, failures=failures, now=now, deadline=FAR, jitter=0)
        assert at is not None
        breaker = fail(breaker, Fault(error.code), now, patience, breaker.prober)
        if breaker.state == "open":
            assert breaker.probe_at is not None
            at = max(at, breaker.probe_at)
            breaker = take_probe(breaker, "me", at, patience.probe_s)
        now = at

    assert now - NOW >= timedelta(minutes=2)


@pytest.mark.parametrize("lost", [[3, 3, 3], [0, 6, 3], [0, 0, 9], [2, 4, 3]])
def test_attempts_together_send_a_call_no_more_often_than_their_number_says(lost: list[int]) -> None:
    for number, failures in enumerate(lost, 1):
        patience = Patience().in_attempt(number, sum(lost[: number - 1]))
        assert failures <= patience.call_attempts
    assert sum(lost) <= Patience().call_attempts * len(lost)


def test_a_call_that_costs_something_each_time_it_fails_is_sent_less_often() -> None:
    def lasts(patience: Patience, failures: int, paid: int) -> bool:
        error = ProviderUnavailable("x")
        at = next_call_at(patience.after(paid), error, failures=failures, now=NOW, deadline=FAR, jitter=0)
        return at is not None

    worker, answer = Patience(call_attempts=10), Patience().towards("synthesize")

    assert [lasts(worker, 9, paid) for paid in (0, 2, 3)] == [True, True, False]
    assert [lasts(answer, 500, paid) for paid in (0, 7, 8)] == [True, True, False]


def test_a_synthesis_that_costs_nothing_is_asked_for_until_the_deadline() -> None:
    patience, soon = Patience(call_attempts=3).towards("synthesize"), NOW + timedelta(seconds=30)
    error = ProviderUnavailable("x")

    assert next_call_at(patience, error, failures=500, now=NOW, deadline=FAR, jitter=0) == soon
    assert next_call_at(patience, error, failures=500, now=NOW, deadline=soon, jitter=0) is None


def test_a_call_that_was_held_back_waits_for_just_that_however_often() -> None:
    held = Held("x", retry_after_s=7)

    assert next_call_at(Patience(), held, failures=99, now=NOW, deadline=FAR, jitter=0) == NOW + timedelta(seconds=7)


def test_a_call_waits_from_the_time_of_its_failure() -> None:
    asked = RateLimited("x", retry_after_s=7)
    later = NOW + timedelta(hours=1)

    assert next_call_at(Patience(), asked, failures=1, now=later, deadline=FAR, jitter=0) == later + timedelta(
        seconds=7
    )


def test_every_code_has_one_remedy() -> None:
    assert set(REMEDIES) == set(get_args(ErrorCode))
    assert set(REMEDIES.values()) == set(get_args(Remedy))
    assert all(remedy_for(code) == remedy for code, remedy in REMEDIES.items())


def test_a_code_that_a_later_release_has_written_is_met_with_nothing() -> None:
    assert remedy_for("struck_by_lightning") == "none"


def test_only_a_fault_of_the_account_ends_the_run() -> None:
    assert codes_with("end") == {"provider_auth", "provider_billing"}


@pytest.mark.parametrize("kind", TRANSIENT)
def test_what_is_transient_is_tried_again_as_it_was(kind: type[Transient]) -> None:
    assert remedy_for(kind("x").code) == "again"
    assert "retry_after_s" in {field.name for field in fields(kind)}
