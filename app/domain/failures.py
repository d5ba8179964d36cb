"""What each failure means for what comes next, as one table."""

from collections.abc import Mapping
from typing import Literal

from app.domain.errors import ErrorCode

Remedy = Literal["again", "refine", "none", "end"]
"""What follows when an attempt fails: the same instruction `again`, after a pause; one that the supervisor has
rewritten in view of the failure (`refine`); nothing, since another attempt would meet it too (`none`); or the `end` of
the run, since no further call of it can succeed."""

REMEDIES: Mapping[ErrorCode, Remedy] = {
    "provider_unavailable": "again",
    "rate_limited": "again",
    "provider_stream_incomplete": "again",
    "max_steps": "refine",
    "timeout": "refine",
    "output_truncated": "refine",
    "output_invalid": "refine",
    "result_rejected": "refine",
    "no_progress": "refine",
    "tool_call_invalid": "refine",
    "breaker_open": "refine",
    "unexpected_stop_reason": "refine",
    "dependency_failed": "none",
    "model_refusal": "none",
    "context_exceeded": "none",
    "request_rejected": "none",
    "internal_error": "none",
    "budget_exceeded": "none",
    "result_too_large": "none",
    "attempts_exhausted": "none",
    "cancelled": "none",
    "provider_auth": "end",
    "provider_billing": "end",
}


def remedy_for(code: str) -> Remedy:
    """What follows a failure of this code; for one that a later release has written, what is never wrong: nothing."""
    return REMEDIES.get(code, "none")  # type: ignore[call-overload, no-any-return]


def codes_with(remedy: Remedy) -> frozenset[ErrorCode]:
    """The codes with that remedy."""
    return frozenset(code for code, found in REMEDIES.items() if found == remedy)
