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
    "excluded": "none",
    "template_empty": "none",
    "template_too_large": "none",
    "input_unparseable": "none",
    "provider_auth": "end",
    "provider_billing": "end",
}

PERMANENT: frozenset[str] = frozenset({"provider_auth", "provider_billing"})
"""What every further call meets until somebody puts it right: one such failure opens the breaker of its model, and runs
whose next call would meet it fail without one."""
PASSING: frozenset[str] = frozenset({"provider_unavailable", "rate_limited", "provider_stream_incomplete"})
"""What speaks against a model when it comes in a row. Whatever else ends a call shows that its provider answers."""
OF_WORKERS: frozenset[str] = frozenset({
    "max_steps", "timeout", "output_truncated", "output_invalid", "result_rejected", "no_progress", "tool_call_invalid",
})  # fmt: skip
"""What speaks against a worker when it comes in a row: failures of its own making, never its provider's."""
OF_TOOLS: frozenset[str] = frozenset({"tool_timeout", "tool_crashed", "tool_unavailable", "fetch_failed"})
"""What speaks against a tool when it comes in a row, about different things: it does not get through, or not to an end.
An argument that it cannot take, or a page that is not there, says nothing about it."""


def remedy_for(code: str) -> Remedy:
    """What follows a failure of this code; for one that a later release has written, what is never wrong: nothing."""
    return REMEDIES.get(code, "none")  # type: ignore[call-overload, no-any-return]


def codes_with(remedy: Remedy) -> frozenset[ErrorCode]:
    """The codes with that remedy."""
    return frozenset(code for code, found in REMEDIES.items() if found == remedy)
