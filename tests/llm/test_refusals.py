"""How refusals are sorted, worded and timed."""

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from app.domain.errors import ErrorCode
from app.llm.refusals import ProviderRefused, code_of, retry_after_s
from app.llm.wording import presentable

TOO_LONG = [
    "prompt is too long: 210000 tokens > 200000 maximum",
    "input length and `max_tokens` exceed context limit: 199000 + 8000 > 200000",
    "the request exceeds the available context size, try increasing it",
    "This model's maximum context length is 8192 tokens.",
    "Input is too long for requested model.",
    "Your input exceeds the context window of this model.",
]
UNPAID = [
    "Your credit balance is too low to access the API. Please go to Plans & Billing.",
    "Insufficient credits",
    "You have reached your specified API usage limits. You will regain access on 2026-12-01 at 00:00 UTC.",
    "Your organization has hit its monthly spend limit.",
    "Session limit reached",
    "You exceeded your current quota, please check your plan and billing details.",
]


def refused(status: int, kind: str | None = None, text: str = "", code: str | None = None) -> ProviderRefused:
    return ProviderRefused(status, kind, code, text)


@pytest.mark.parametrize("text", TOO_LONG)
def test_a_prompt_that_does_not_fit_is_told_by_its_wording(text: str) -> None:
    assert code_of(refused(400, "invalid_request_error", text)) == "context_exceeded"
    assert code_of(refused(200, "invalid_request_error", text)) == "context_exceeded"


@pytest.mark.parametrize("text", UNPAID)
@pytest.mark.parametrize(("status", "kind"), [(400, "invalid_request_error"), (403, "permission_error")])
def test_an_unpaid_account_is_told_by_its_wording(text: str, status: int, kind: str) -> None:
    assert code_of(refused(status, kind, text)) == "provider_billing"


@pytest.mark.parametrize(
    "text",
    ["max_tokens: 200000 > 128000, which is the maximum allowed number of output tokens", "messages: Field required"],
)
def test_other_bad_requests_are_just_rejected(text: str) -> None:
    assert code_of(refused(400, "invalid_request_error", text)) == "request_rejected"


@pytest.mark.parametrize("kind", [None, "overloaded_error", "api_error", "rate_limit_error", "timeout_error"])
def test_no_final_status_is_ever_sent_again_whatever_its_type(kind: str | None) -> None:
    final = [status for status in range(400, 500) if status not in (408, 409, 429)]
    assert {code_of(refused(status, kind)) for status in final}.isdisjoint({"rate_limited", "provider_unavailable"})


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 504, 529])
@pytest.mark.parametrize("kind", [None, "unheard_of_error", "server_error"])
def test_a_passing_status_may_be_sent_again(status: int, kind: str | None) -> None:
    expected: ErrorCode = "rate_limited" if status == 429 else "provider_unavailable"
    assert code_of(refused(status, kind)) == expected


def test_a_general_type_does_not_make_a_rate_limit_final() -> None:
    assert code_of(refused(429, "invalid_request_error")) == "rate_limited"


def test_a_client_mistake_answered_with_500_is_final_when_its_type_says_so() -> None:
    assert code_of(refused(500, "invalid_request_error")) == "request_rejected"


@pytest.mark.parametrize(
    ("status", "kind", "cause", "expected"),
    [
        (429, "rate_limit_error", "enforced_spend_limit_reached", "provider_billing"),
        (429, "rate_limit_error", "ramp_limit_exceeded", "rate_limited"),
        (402, "billing_error", "linked_organization_billing_unavailable", "provider_billing"),
        (400, "invalid_request_error", "organization_on_hold", "provider_auth"),
    ],
)
def test_a_finer_cause_decides_over_the_type(status: int, kind: str, cause: str, expected: str) -> None:
    assert code_of(refused(status, kind, code=cause)) == expected


@pytest.mark.parametrize(
    "body",
    [
        {"type": "error", "error": {"type": "x_error", "message": "m", "details": {"error_code": "c"}}},
        {"error": {"code": 400, "type": "x_error", "message": "m", "details": {"error_code": "c"}}},
    ],
)
def test_an_error_body_is_read_with_and_without_its_envelope(body: object) -> None:
    error = ProviderRefused.from_body(400, body, {"request-id": "req_1"})
    assert (error.type, error.text, error.code, error.request_id) == ("x_error", "m", "c", "req_1")


@pytest.mark.parametrize(
    ("body", "text"),
    [("Bad gateway", "Bad gateway"), ({"error": "no"}, "no"), (None, ""), ({}, ""), ([1], ""), ({"error": None}, "")],
)
def test_an_error_body_may_have_any_shape(body: object, text: str) -> None:
    error = ProviderRefused.from_body(502, body, {})
    assert (error.type, error.code, error.text) == (None, None, text)


def test_a_date_to_retry_after_becomes_seconds() -> None:
    moment = format_datetime(datetime.now(UTC) + timedelta(seconds=90), usegmt=True)
    assert retry_after_s({"retry-after": moment}) == pytest.approx(90, abs=5)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after-ms": "x", "retry-after": "9"}, 9),
        ({"retry-after": "-3"}, 0),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": ""}, None),
        ({}, None),
    ],
)
def test_the_wait_asked_for_is_read_in_every_form_and_nonsense_is_no_wait(
    headers: dict[str, str], seconds: float | None
) -> None:
    assert retry_after_s(headers) == seconds


@pytest.mark.parametrize(
    "secret",
    [
        "http://10.1.2.3:8080/v1/x?key=1",
        "10.1.2.3:8080",
        "127.0.0.1",
        "localhost:11434",
        "vllm-0.models.svc:8000",
        "db.internal",
        "sk-ant-api03-abcdef",
        "sk-...abcd",
        "Bearer abc.def",
        "AbCdEfGhIjKlMnOpQrStUvWxYz0123456789",
    ],
)
def test_addresses_and_keys_are_taken_out_of_provider_text(secret: str) -> None:
    assert presentable(f"cannot use {secret} for now") == "cannot use [removed] for now"


@pytest.mark.parametrize("text", ["model: claude-sonnet-5-5", "messages.0.content: Field required", "12:30 tomorrow"])
def test_other_provider_text_stays_as_it_is(text: str) -> None:
    assert presentable(text) == text


def test_provider_text_is_cleaned_made_one_line_and_shortened() -> None:
    assert presentable("a\x00b\n\n  c") == "a\ufffdb c"
    assert len(presentable("word " * 1_000)) <= 300
