"""When something that failed is tried again: pure arithmetic over what is known."""

import hashlib
import math
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from app.domain.errors import ModelError, Transient
from app.domain.usage import Usage

BACKOFF_CEILING_S = 60.0
SUPERVISOR_ATTEMPTS = 20
"""How often a call of the supervisor is sent at least: a run must not be lost to a few minutes of overload."""
PAID_ATTEMPTS = 3
SUPERVISOR_PAID_ATTEMPTS = 8
"""How often a reply may break off that is paid for: each time it costs the same again."""


@dataclass(frozen=True, slots=True)
class Patience:
    """How patient a process is with its provider."""

    call_attempts: float = 3
    """How often one model call is sent while its faults are transient; a worker's, in each attempt at its task."""
    paid_attempts: int = PAID_ATTEMPTS
    """How many replies may break off that are paid for."""
    retry_base_s: float = 1.0
    """The wait after a first failure, before jitter; it doubles with each further one."""
    call_timeout_s: float = 600.0
    """How long one model call may take."""
    probe_s: float = 120.0
    """How long the probe of something that failed has to report; then another may go."""
    park_after_s: float = 5.0
    """A run that has nothing to do for longer than this gives its place back and waits in the database."""

    def towards(self, purpose: str) -> "Patience":
        """The patience with calls for this.

        A run whose workers have been paid waits for its choice and its synthesis as long as it has time.
        """
        if purpose == "work":
            return self
        attempts = math.inf if purpose in ("select", "synthesize") else max(self.call_attempts, SUPERVISOR_ATTEMPTS)
        return replace(self, call_attempts=attempts, paid_attempts=SUPERVISOR_PAID_ATTEMPTS)

    def in_attempt(self, number: int, failures: int) -> "Patience":
        """The patience with a call of an attempt with that number, of whose forerunners so many calls have failed.

        What these have left is not lost: the last of three attempts lasts through two minutes of overload, and all of
        them together send no more than their number says.
        """
        return replace(self, call_attempts=self.call_attempts * number - failures)

    def after(self, paid: int) -> "Patience":
        """The patience with a call of which so many paid replies have broken off."""
        return self if paid < self.paid_attempts else replace(self, call_attempts=0)

    def while_open(self) -> "Patience":
        """The patience with a call that goes as a probe of its breaker: those have a pause of their own."""
        return replace(self, retry_base_s=0)


def costs_again(code: str, usage: Usage) -> bool:
    """Whether a call has failed in the midst of a reply that is paid for, as the next one may. An overload passes,
    however late it shows.
    """
    return code == "provider_stream_incomplete" and bool(usage.input_tokens or usage.output_tokens)


def spread(*key: object) -> float:
    """A number in [0, 1) that is always the same for `key` and otherwise as good as random: jitter without chance."""
    digest = hashlib.blake2b(":".join(map(str, key)).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") / 2**64


def backoff(patience: Patience, failures: int, jitter: float) -> timedelta:
    """The wait after `failures` failures in a row: exponential, between half and all of its ceiling by `jitter`."""
    ceiling = min(patience.retry_base_s * 2 ** min(failures - 1, 100), BACKOFF_CEILING_S)
    return timedelta(seconds=ceiling * (0.5 + jitter / 2))


def next_call_at(
    patience: Patience,
    error: ModelError,
    *,
    failures: int,
    now: datetime,
    deadline: datetime,
    jitter: float,
) -> datetime | None:
    """When to send a failed call again, or None when not to: permanent fault, no tries left, or too late for the run.

    `failures` counts this one. The provider's own `Retry-After` is honoured when it asks for more than our backoff.
    A call that was held back here, and never sent, has not failed: it only waits.
    """
    if not isinstance(error, Transient) or (error.sent and failures >= patience.call_attempts):
        return None
    wait = backoff(patience, failures, jitter) if error.sent else timedelta()
    asked = asked_wait(error, jitter)
    at = now + max(wait, asked) if asked < deadline - now else deadline
    return at if at < deadline else None


def asked_wait(error: Transient, jitter: float = 0) -> timedelta:
    """How long the provider asks us to wait, and up to a tenth more by `jitter`."""
    asked = min(error.retry_after_s or 0, timedelta.max.total_seconds() / 2)
    return timedelta(seconds=asked * (1 + jitter / 10))
