import json
from datetime import UTC, datetime

import pytest
from pydantic import ValidationError

from app.domain.webhooks import (
    WAITS_S,
    JobWebhook,
    News,
    Outcome,
    answered,
    is_secret,
    may_be_told,
    new_secret,
    place_in,
    wait_after,
)

NOW = datetime(2026, 11, 28, 9, 0, tzinfo=UTC)
REFUSED = Outcome(500, "receiver_refused")


@pytest.mark.parametrize(
    "url", ["https://hooks.example/a?b=c", "http://hooks.internal:8443/", "https://[2001:db8::1]/x", "https://a.b"]
)
def test_a_url_names_a_host(url: str) -> None:
    assert JobWebhook(url=url).url == url


@pytest.mark.parametrize(
    "url",
    [
        "hooks.example/a", "ftp://hooks.example/", "https:///a", "https://user:password@hooks.example/", "https://a.b/#c",
        "https://user@hooks.example/", "https://a.b:99999/", "https://a.b:0/", "https://a.b/\n", "https://a b/", "", "https://[::1",
        "javascript:alert(1)", "https://a.b/" + "x" * 2_000,
    ],
)  # fmt: skip
def test_what_is_no_such_url_is_refused(url: str) -> None:
    with pytest.raises(ValidationError):
        JobWebhook(url=url)


def test_a_secret_is_base64_of_enough_bytes() -> None:
    assert is_secret(new_secret())
    assert new_secret() != new_secret()
    assert is_secret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
    for wrong in (
        "",
        "whsec_",
        "whsec_c2hvcnQ=",
        "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
        "whsec_!!!!",
        "whsec_" + "A" * 88,
    ):
        assert not is_secret(wrong), wrong


def test_a_secret_is_not_shown() -> None:
    webhook = JobWebhook(url="https://a.b/", secret=new_secret())

    assert "whsec" not in repr(webhook)


def test_only_places_that_are_named_are_told_without_tls() -> None:
    named = {("hooks.internal", 8443), ("::1", 80)}

    assert may_be_told("https://hooks.example/", named)
    assert may_be_told("http://Hooks.Internal:8443/a", named)
    assert may_be_told("http://[::1]/", named)
    assert not may_be_told("http://hooks.internal/", named)
    assert not may_be_told("http://hooks.example:8443/", named)
    assert place_in("https://hooks.example/a") == ("hooks.example", 443)


def test_attempts_come_at_growing_distances_and_end() -> None:
    waits = [wait_after(attempt, REFUSED, 0) for attempt in range(1, len(WAITS_S) + 1)]

    assert waits == [*WAITS_S[1:], None]
    assert wait_after(1, REFUSED, 1) == pytest.approx(WAITS_S[1] * 1.1)


def test_a_receiver_that_wants_to_be_left_alone_is() -> None:
    outcome = answered(429, "120", NOW)

    assert (outcome.error, outcome.retry_after_s) == ("receiver_refused", 120)
    assert wait_after(1, outcome, 0) == 120
    assert wait_after(4, outcome, 0) == WAITS_S[4]


@pytest.mark.parametrize(
    ("status", "retry_after", "pause"),
    [
        (503, "Sat, 28 Nov 2026 09:00:30 GMT", 30),
        (503, "Sat, 28 Nov 2026 08:00:00 GMT", 0),
        (503, "999999999999999", 86_400),
        (503, "soon", None),
        (503, "Sat, 28 Nov 99999999999 09:00:30 GMT", None),
        (503, "-5", None),
        (503, "²", None),
        (503, None, None),
        (500, "30", None),
        (302, "30", None),
    ],
)
def test_only_a_wait_that_can_be_read_counts(status: int, retry_after: str | None, pause: float | None) -> None:
    assert answered(status, retry_after, NOW).retry_after_s == pause


def test_what_ends_a_delivery() -> None:
    assert answered(200, None, NOW).error is None
    assert answered(299, None, NOW).error is None
    assert answered(301, None, NOW).error == "receiver_refused"
    assert wait_after(1, answered(410, None, NOW), 0) is None
    assert answered(410, None, NOW).disables
    assert not answered(404, None, NOW).disables
    for status in (400, 401, 404, 413, 422):
        assert wait_after(1, answered(status, None, NOW), 0) is None, status
    for status in (302, 408, 409, 425, 429, 500, 503):
        assert wait_after(1, answered(status, None, NOW), 0) == 5, status
    assert wait_after(1, Outcome(error="endpoint_gone"), 0) is None
    assert wait_after(1, Outcome(error="address_blocked"), 0) == 5


def test_a_body_is_thin_and_leads_to_what_is_asked() -> None:
    said = {"status": "waiting", "stop_reason": None, "waiting_for": "answer"}

    told = json.loads(News("run.waiting", NOW, "run_1", said).body)

    assert told == {
        "type": "run.waiting",
        "timestamp": "2026-11-28T09:00:00Z",
        "data": {
            "run_id": "run_1",
            **said,
            "links": {"self": "/v1/runs/run_1", "questions": "/v1/runs/run_1/questions"},
        },
    }
    assert json.loads(News("webhook.test", NOW, None, {}).body)["data"] == {"run_id": None, "links": {}}
