"""What a provider's refusal means for us: sorted by who must react, and worded so that it may be shown.

The error type decides first: inside a stream the status is 200, and gateways disagree about the rest. One rule stands
above it: a 4xx other than 408, 409 and 429 is never sent again in the same form, whatever its type says.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from app.domain.errors import (
    AccountProblem,
    ContextExceeded,
    ErrorCode,
    ModelError,
    ProviderUnavailable,
    RateLimited,
    RequestRejected,
)
from app.domain.text import clean_text, shorten
from app.domain.usage import Usage

_MESSAGE_LIMIT = 300

_BY_TYPE: dict[str | None, ErrorCode] = {
    "rate_limit_error": "rate_limited",
    "overloaded_error": "provider_unavailable",
    "api_error": "provider_unavailable",
    "timeout_error": "provider_unavailable",
    "conflict_error": "provider_unavailable",
    "billing_error": "provider_billing",
    "authentication_error": "provider_auth",
    "permission_error": "provider_auth",
    "request_too_large": "context_exceeded",
    "exceed_context_size_error": "context_exceeded",
    "invalid_request_error": "request_rejected",
    "not_found_error": "request_rejected",
}
_BY_STATUS: dict[int, ErrorCode] = {
    401: "provider_auth",
    402: "provider_billing",
    403: "provider_auth",
    408: "provider_unavailable",
    409: "provider_unavailable",
    413: "context_exceeded",
    429: "rate_limited",
}
_PASSING: set[ErrorCode] = {"rate_limited", "provider_unavailable"}
_PASSING_STATUSES = {408, 409, 429}

_UNPAID = re.compile(
    r"credit balance|out of credits|purchase credits|insufficient[ _](credits?|funds|balance|quota)|billing"
    r"|payment required|exceeded your current quota",
    re.IGNORECASE,
)
_TOO_LONG = re.compile(
    r"(prompt|input|request) is too (long|large)|context[ _](size|length|window|limit)|maximum context"
    r"|too many (input |prompt )?tokens|exceeds? the (available |maximum )?context",
    re.IGNORECASE,
)
_INTERNALS = re.compile(
    r"https?://\S+|\b(?:\d{1,3}\.){3}\d{1,3}(?::\d+)?|\b(?:localhost|[\w-]+(?:\.[\w-]+)+):\d+|\b[\w.-]+\.(?:internal|local)\b"
)
_SECRETS = re.compile(r"\bBearer\s+\S+|\b(?:sk|pk|key)-[\w*.-]{4,}|\b[A-Za-z0-9_-]{32,}\b", re.IGNORECASE)


@dataclass(eq=False)
class ProviderRefused(Exception):
    """The provider answered with an error: as a status, or as an event inside a stream (status 200)."""

    status: int
    type: str | None
    code: str | None
    """The provider's own name of the cause, finer than the type."""
    text: str
    request_id: str | None = None
    retry_after_s: float | None = None

    @classmethod
    def from_body(cls, status: int, body: Any, headers: Mapping[str, str]) -> "ProviderRefused":
        """Read an error body of any known shape; other servers leave out its envelope or send plain text."""
        inner = body.get("error") if isinstance(body, dict) else body
        error: dict[str, Any] = inner if isinstance(inner, dict) else {}
        details = error.get("details")
        return cls(
            status=status,
            type=error.get("type"),
            code=details.get("error_code") if isinstance(details, dict) else None,
            text=str(error.get("message", "")) if error else inner if isinstance(inner, str) else "",
            request_id=headers.get("request-id"),
            retry_after_s=retry_after_s(headers),
        )


def error_of(refused: ProviderRefused, usage: Usage) -> ModelError:
    """The error that our side must react to."""
    code = code_of(refused)
    message = presentable(refused.text) or f"The provider answered with status {refused.status}."
    match code:
        case "rate_limited":
            return RateLimited(message, usage, refused.request_id, retry_after_s=refused.retry_after_s)
        case "provider_unavailable":
            return ProviderUnavailable(message, usage, refused.request_id, retry_after_s=refused.retry_after_s)
        case "context_exceeded":
            return ContextExceeded(message, usage, refused.request_id)
        case "provider_auth" | "provider_billing":
            return AccountProblem(message, usage, refused.request_id, code)
        case _:
            return RequestRejected(message, usage, refused.request_id)


def code_of(refused: ProviderRefused) -> ErrorCode:
    """What the refusal means, as one of our codes."""
    by_status = _code_of_status(refused.status)
    code = _BY_TYPE.get(refused.type, by_status)
    final_status = 400 <= refused.status < 500 and refused.status not in _PASSING_STATUSES
    if final_status and code in _PASSING:
        code = by_status
    if refused.status in _PASSING_STATUSES and code == "request_rejected":
        code = by_status
    return _named_by_cause(refused, code)


def _code_of_status(status: int) -> ErrorCode:
    return _BY_STATUS.get(status, "request_rejected" if 400 <= status < 500 else "provider_unavailable")


def _named_by_cause(refused: ProviderRefused, code: ErrorCode) -> ErrorCode:
    """Some causes hide behind a general type: only a finer code or the wording tells them."""
    cause = refused.code or ""
    if "spend_limit" in cause or "billing" in cause:
        return "provider_billing"
    if cause == "organization_on_hold":
        return "provider_auth"
    if code in ("request_rejected", "provider_auth") and _UNPAID.search(refused.text):
        return "provider_billing"
    if code == "request_rejected" and _TOO_LONG.search(refused.text):
        return "context_exceeded"
    return code


def presentable(text: str) -> str:
    """Provider text as a person may see it: one line, short, without addresses and keys."""
    line = " ".join(clean_text(text[: _MESSAGE_LIMIT * 10]).split())
    return shorten(_SECRETS.sub("[removed]", _INTERNALS.sub("[removed]", line)), _MESSAGE_LIMIT)[0]


def retry_after_s(headers: Mapping[str, str]) -> float | None:
    """Seconds that the provider asks us to wait, from `retry-after-ms` or `retry-after`; None when it does not say."""
    for name, unit_s in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        value = headers.get(name)
        seconds = _number(value) * unit_s if value else math.nan
        if math.isfinite(seconds):
            return max(seconds, 0)
    return _seconds_until_date(headers.get("retry-after"))


def _number(value: str) -> float:
    try:
        return float(value)
    except ValueError:
        return math.nan


def _seconds_until_date(value: str | None) -> float | None:
    if not value:
        return None
    try:
        moment = parsedate_to_datetime(value)
    except ValueError:
        return None
    return max((moment - datetime.now(UTC)).total_seconds(), 0) if moment.tzinfo else None
