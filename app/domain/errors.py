"""Every error of the service, drawn once and sorted by who must react to it.

ToolError      the model reads it as a tool result and goes on
ModelError     the retry policy: `Transient` may be sent again, the rest never in the same form
JobRefused     the client gets it as a problem document
LimitReached   the same: it is told when to ask again
IntakePaused   the client gets it as a problem document, and comes again
DiffUnreadable whoever wanted the diff read: it says what is wrong with it, and where
HeldBack       the engine decides again
OwnershipLost  the engine drops the run and writes nothing more
RunUnreadable  the engine leaves the run to others, and ends it once too many have failed
Unwritable     the engine ends what wanted it written
IllegalMove    us: an event that cannot follow the state it meets is a bug

Anything else is ours too: it ends the attempt or the run as `internal_error` and is logged with a traceback.
"""

import traceback
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Literal

from app.domain.usage import Usage

ErrorCode = Literal[
    "dependency_failed", "max_steps", "timeout", "output_truncated", "output_invalid", "result_rejected",
    "no_progress", "tool_call_invalid", "model_refusal", "context_exceeded", "provider_stream_incomplete",
    "provider_unavailable", "rate_limited", "budget_exceeded", "breaker_open", "attempts_exhausted",
    "unexpected_stop_reason", "result_too_large", "request_rejected", "internal_error", "excluded",
    "template_empty", "template_too_large", "input_unparseable",
    # Of model calls alone: they end the run, so no task ever carries them.
    "provider_auth", "provider_billing", "cancelled",
]  # fmt: skip
"""What went wrong with a task, an attempt or a call, for programs."""


def place_of(error: BaseException) -> str:
    """Where an error comes from, for the log: without its message, which may hold what a job is about."""
    return "".join(traceback.format_tb(error.__traceback__))


class ChargehandError(Exception):
    """The root: an error this service raises on purpose."""


@dataclass(eq=False)
class ToolError(ChargehandError):
    """A tool could not do what the model asked; `message` is shown to the model."""

    message: str
    code: str = "tool_failed"

    def __str__(self) -> str:
        return f"{self.code}: {self.message}"


class ToolInputInvalid(ToolError):
    """The model's call does not fit the tool's schema, or names no tool of the worker."""


@dataclass(eq=False)
class ModelError(ChargehandError):
    """A model call that brought no usable reply. `usage` is what it cost all the same."""

    message: str
    usage: Usage = field(default_factory=Usage)
    request_id: str | None = None
    code: ErrorCode = "provider_unavailable"
    sent: bool = True
    """Whether the request has left us at all."""
    setting: str | None = None
    """What the operator should look at; the message names it too where the fault lies there."""

    def __str__(self) -> str:
        return f"{self.code}: {self.message}"


@dataclass(eq=False)
class Transient(ModelError):
    """The same request may succeed later; the provider may have said when."""

    retry_after_s: float | None = None


@dataclass(eq=False)
class RateLimited(Transient):
    """The provider asks for fewer requests."""

    code: ErrorCode = "rate_limited"


@dataclass(eq=False)
class Held(RateLimited):
    """What was to be called is left alone for a while: this call was not sent, and nobody is to blame."""

    sent: bool = False
    breaker: str | None = None
    """The breaker that holds it; None where a provider asked this process for a pause."""


@dataclass(eq=False)
class ProviderUnavailable(Transient):
    """The provider is overloaded, failing, unreachable or silent for too long."""


@dataclass(eq=False)
class StreamIncomplete(Transient):
    """The reply broke off before the provider had ended it."""

    code: ErrorCode = "provider_stream_incomplete"


@dataclass(eq=False)
class RequestRejected(ModelError):
    """The provider will never accept this request in this form."""

    code: ErrorCode = "request_rejected"


@dataclass(eq=False)
class ReplyTooLarge(ModelError):
    """The reply passed a bound while it was read; the rest of it was not looked at."""

    code: ErrorCode = "result_too_large"


@dataclass(eq=False)
class OutOfTime(ModelError):
    """The reply had begun, and was not finished when the time of whoever asked was up."""

    code: ErrorCode = "timeout"


@dataclass(eq=False)
class BudgetExceeded(ModelError):
    """The task's own budget has no room for the call: it was not sent."""

    code: ErrorCode = "budget_exceeded"
    sent: bool = False


@dataclass(eq=False)
class ContextExceeded(ModelError):
    """The request is larger than the model can read."""

    code: ErrorCode = "context_exceeded"


@dataclass(eq=False)
class AccountProblem(ModelError):
    """The key or the account is at fault (`provider_auth`, `provider_billing`): no call of this run can succeed."""


@dataclass(eq=False)
class BudgetSpent(ChargehandError):
    """A call does not fit into what its run may still spend, and nothing under way can free room for it.

    Amounts are in the unit of the limit: tokens or US dollars.
    """

    limit: Literal["tokens", "cost_usd"]
    allowed: Decimal
    needed: Decimal
    left: Decimal


@dataclass(eq=False)
class LimitReached(ChargehandError):
    """A tenant or a key has used what it may use; `detail` is shown to the client."""

    limit: str
    """Which limit it is: one of `LIMIT_NAMES`."""
    code: str
    detail: str
    retry_after_s: int
    notes: tuple[Any, ...] = ()
    """How it stands with the limits: each a `Note`."""

    def __str__(self) -> str:
        return f"{self.code}: {self.detail}"


@dataclass(eq=False)
class JobRefused(ChargehandError):
    """A request that cannot be carried out as it stands."""

    code: str
    detail: str
    errors: tuple[tuple[str, str], ...] = ()
    """Pairs of JSON pointer and detail."""


@dataclass(eq=False)
class DiffUnreadable(ChargehandError):
    """A text that was to be a unified diff is none, or a damaged one."""

    message: str
    line: int | None = None
    """Of the text, from 1; None where no single one is at fault."""

    def __str__(self) -> str:
        return self.message if self.line is None else f"Line {self.line}: {self.message}"


class IntakePaused(ChargehandError):
    """No jobs of this tenant are taken in for now."""


class HeldBack(ChargehandError):
    """A breaker holds the next call of a conversation. Nothing has happened: it is for `decide` to say what follows."""


class OwnershipLost(ChargehandError):
    """Another process owns this run now."""


class RunUnreadable(ChargehandError):
    """The run's row or log is not what this release writes. The cause says what is wrong with it."""


class Unwritable(ChargehandError):
    """What a run has to say cannot be written down: a bug of ours, or something that no border has cleaned."""


class IllegalMove(ChargehandError):
    """The event cannot happen in this state."""


FAULTS = (
    ValueError, LookupError, TypeError, AttributeError, ArithmeticError, AssertionError, RecursionError, IllegalMove,
)  # fmt: skip
"""What a value that is not what it should be does to our code: a damaged log, one of another release, a bug."""
