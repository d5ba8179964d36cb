"""When something that failed is tried again: pure arithmetic over what is known."""

import hashlib
from dataclasses import dataclass
from datetime import datetime, timedelta

from app.domain.errors import ModelError, Transient

BACKOFF_CEILING_S = 60.0

TRANSIENT_CODES: frozenset[str] = frozenset({"provider_unavailable", "rate_limited", "provider_stream_incomplete"})
"""Faults after which the same instruction may be sent again."""

FINAL_CODES: frozenset[str] = frozenset(
    {"model_refusal", "context_exceeded", "request_rejected", "internal_error", "budget_exceeded", "result_too_large"}
)
"""Faults that another attempt would meet again, whatever the instruction says."""


@dataclass(frozen=True, slots=True)
class Policy:
    """How patient a process is with its provider."""

    call_attempts: int = 3
    """How often one model call is sent while its faults are transient."""
    retry_base_s: float = 1.0
    """The wait after a first failure, before jitter; it doubles with each further one."""
    call_timeout_s: float = 600.0
    """How long one model call may take."""


def spread(*key: object) -> float:
    """A number in [0, 1) that is always the same for `key` and otherwise as good as random: jitter without chance."""
    digest = hashlib.blake2b(":".join(map(str, key)).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") / 2**64


def backoff(policy: Policy, failures: int, jitter: float) -> timedelta:
    """The wait after `failures` failures in a row: exponential, between half and all of its ceiling by `jitter`."""
    ceiling = min(policy.retry_base_s * 2 ** (failures - 1), BACKOFF_CEILING_S)
    return timedelta(seconds=ceiling * (0.5 + jitter / 2))


def next_call_at(
    policy: Policy, error: ModelError, *, failures: int, now: datetime, deadline: datetime, jitter: float
) -> datetime | None:
    """When to send a failed call again, or None when not to: permanent fault, no tries left, or too late for the run.

    `failures` counts this one. The provider's own `Retry-After` is honoured when it asks for more than our backoff.
    """
    if not isinstance(error, Transient) or failures >= policy.call_attempts:
        return None
    wait = backoff(policy, failures, jitter)
    if error.retry_after_s is not None:
        asked = min(error.retry_after_s, timedelta.max.total_seconds() / 2)
        wait = max(wait, timedelta(seconds=asked * (1 + jitter / 10)))
    try:
        at = now + wait
    except OverflowError:
        return None
    return at if at < deadline else None
