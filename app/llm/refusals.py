"""What a provider's refusal means for us: sorted by who must react.

The error type decides first: inside a stream the status is 200, and gateways disagree about the rest. One rule stands
above it: a 4xx other than 408, 409 and 429 is never sent again in the same form, whatever its type says.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
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
from app.domain.text import clean_text
from app.domain.usage import Usage

LONGEST_WAIT_S = timedelta(days=365).total_seconds()
"""A provider that asks for more is taken to ask for this: longer than any run may take."""
_TEXT_READ = 3_000
"""Characters of an error's words that are looked at."""

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
    r"credit balance|out of credits|purchase credits|(more|insufficient)[ _](credits?|funds|balance|quota)|billing"
    r"|payment required|exceeded your current quota|(usage|spend|spending|session) limits?\b|regain access",
    re.IGNORECASE,
)
_TOO_LONG = re.compile(
    r"(prompt|input|request) is too (long|large)|context[ _](size|length|window|limit)|maximum context"
    r"|too many (input |prompt )?tokens|exceeds? the (available |maximum )?context",
    re.IGNORECASE,
)
_UNKNOWN_KEY = re.compile(r"(invalid|incorrect|wrong|missing|no)( x-)?[ _]?api[ _-]?key|unauthorized", re.IGNORECASE)


@dataclass(eq=False)
class ProviderRefused(Exception):
    """The provider answered with an error: as a status, as a body, or as an event inside a stream (status 200)."""

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
        inner = body.get("error", body) if isinstance(body, dict) else body
        error: dict[str, Any] = inner if isinstance(inner, dict) else {}
        details = error.get("details")
        cause = details.get("error_code") if isinstance(details, dict) else error.get("code")
        return cls(
            status=_status(status, error.get("code")),
            type=_short(error.get("type")),
            code=_short(cause),
            text=clean_text(_words(inner)[:_TEXT_READ]),
            request_id=request_id(headers),
            retry_after_s=retry_after_s(headers),
        )


def _status(status: int, code: Any) -> int:
    """Gateways that answer 200 whatever happens put the true status into the body."""
    is_status = isinstance(code, int) and not isinstance(code, bool) and 400 <= code < 600
    return code if status == 200 and is_status else status


def _short(name: Any) -> str | None:
    return clean_text(name[:100]) if isinstance(name, str) else None


def _words(error: Any) -> str:
    """What an error says for people, wherever it says it."""
    if isinstance(error, dict):
        error = next((error[name] for name in ("message", "detail", "msg") if error.get(name)), "")
    if isinstance(error, dict):
        error = error.get("message") or error.get("msg")
    if isinstance(error, list):
        places = [(each.get("loc"), each.get("msg")) for each in error[:5] if isinstance(each, dict)]
        return "; ".join(f"{_place(place)}: {said}" for place, said in places if isinstance(said, str))
    return error if isinstance(error, str) else ""


def _place(place: Any) -> str:
    return ".".join(str(part)[:100] for part in place[:10]) if isinstance(place, list) else ""


def error_of(refused: ProviderRefused, message: str, setting: str | None, usage: Usage) -> ModelError:
    """The error that our side must react to."""
    code, request_id = code_of(refused), refused.request_id
    match code:
        case "rate_limited":
            return RateLimited(message, usage, request_id, retry_after_s=refused.retry_after_s)
        case "provider_unavailable":
            return ProviderUnavailable(message, usage, request_id, retry_after_s=refused.retry_after_s)
        case "context_exceeded":
            return ContextExceeded(message, usage, request_id)
        case "provider_auth" | "provider_billing":
            return AccountProblem(message, usage, request_id, code, setting=setting)
        case _:
            return RequestRejected(message, usage, request_id, setting=setting)


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
    """Some causes hide behind a general type, or none: only a finer code or the wording tells them."""
    cause = refused.code or ""
    if "spend_limit" in cause or "billing" in cause:
        return "provider_billing"
    if cause == "organization_on_hold":
        return "provider_auth"
    untold = refused.status == 200 and refused.type not in _BY_TYPE
    if (untold or code in ("request_rejected", "provider_auth")) and _UNPAID.search(refused.text):
        return "provider_billing"
    if (untold or code == "request_rejected") and (_TOO_LONG.search(refused.text) or "context_length" in cause):
        return "context_exceeded"
    if (untold or code == "request_rejected") and refused.status != 404 and _UNKNOWN_KEY.search(refused.text):
        return "provider_auth"
    return code


def request_id(headers: Mapping[str, str]) -> str | None:
    """The provider's id of a request, as it may be stored."""
    return _short(headers.get("request-id") or headers.get("x-request-id"))


def retry_after_s(headers: Mapping[str, str]) -> float | None:
    """Seconds that the provider asks us to wait, from `retry-after-ms` or `retry-after`; None when it does not say."""
    for name, unit_s in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        value = headers.get(name)
        seconds = _number(value) * unit_s if value else math.nan
        if math.isfinite(seconds):
            return min(max(seconds, 0), LONGEST_WAIT_S)
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
        moment = parsedate_to_datetime(value[:100])
        seconds = (moment - datetime.now(UTC)).total_seconds() if moment.tzinfo else None
    except (ValueError, TypeError, OverflowError, IndexError):
        return None
    return None if seconds is None else min(max(seconds, 0), LONGEST_WAIT_S)
