"""Webhooks: what is told to a receiver when a run ends or waits for people, or most of what may be spent is spent, by
the rules of Standard Webhooks.

The specification is https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md.
"""

import base64
import binascii
import secrets
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Annotated, Any, Literal, get_args
from urllib.parse import SplitResult, urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from pydantic_core import PydanticCustomError, to_json

from app.domain.moments import written
from app.domain.text import has_line_end

RunNews = Literal["run.succeeded", "run.partial", "run.failed", "run.cancelled", "run.waiting"]
"""What a run may have told: its end, and that it waits for a person."""
RUN_NEWS: tuple[RunNews, ...] = get_args(RunNews)
LimitNews = Literal["limit.warning"]
LIMIT_WARNING: LimitNews = "limit.warning"
"""That most of what may be spent is spent."""
TenantNews = Literal[RunNews, LimitNews]
"""What the webhook of a tenant may be told."""
TENANT_NEWS: tuple[TenantNews, ...] = (*RUN_NEWS, LIMIT_WARNING)
TEST = "webhook.test"
"""What is sent to try a receiver."""

DeliveryStatus = Literal["pending", "delivered", "failed"]
DeliveryError = Literal[
    "receiver_refused", "timeout", "unreachable", "address_blocked", "endpoint_disabled", "endpoint_gone", "no_secret"
]
"""Why an attempt has not delivered: the receiver answered with something else than 2xx, not in time, or could not be
reached; its address is not one that may be reached; the endpoint was disabled or deleted; there is no secret to sign
with that this process can read."""

SECRET_PREFIX = "whsec_"
LEAST_SECRET_BYTES, MOST_SECRET_BYTES = 24, 64
LONGEST_URL = 2_000
WAITS_S = (0, 5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400)
"""Seconds before each attempt, after the one before it has failed: three days in all."""
JITTER = 0.1
"""Share by which a wait may be longer, so that what has failed together does not come again together."""
LONGEST_WAIT_S = 86_400
SLOW_DOWN = (HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE)
"""Statuses with which a receiver may say when it takes something again."""
PASSING = (HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.CONFLICT, HTTPStatus.TOO_EARLY, HTTPStatus.TOO_MANY_REQUESTS)
"""Of the statuses that blame the request, those that may be gone at the next attempt."""
BOTH_SIGN = timedelta(hours=24)
"""For how long a secret that was exchanged signs beside the new one."""

Place = tuple[str, int]
"""A host as URLs name it, in lower case, and a port."""


def _checked_url(url: str) -> str:
    problem = "This must be an absolute URL with https://, without a user name, a password or a fragment."
    try:
        parts = urlsplit(url)
        reachable = url.startswith(("http://", "https://")) and bool(parts.hostname) and parts.port != 0
    except ValueError:
        reachable = False
    if not reachable or has_line_end(url) or not url.isprintable() or " " in url or "@" in parts.netloc or "#" in url:
        raise PydanticCustomError("url_invalid", problem)
    return url


def _checked_secret(secret: str) -> str:
    if not is_secret(secret):
        problem = "This must be whsec_ and the base64 of 24 to 64 random bytes."
        raise PydanticCustomError("secret_invalid", problem)
    return secret


WebhookUrl = Annotated[str, Field(max_length=LONGEST_URL), AfterValidator(_checked_url)]
WebhookSecret = Annotated[str, Field(max_length=200), AfterValidator(_checked_secret)]


class JobWebhook(BaseModel):
    """Who is told of the run of one job."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True, extra="forbid")

    url: WebhookUrl
    """Where it is told: `https://…`."""
    secret: WebhookSecret | None = Field(default=None, repr=False)
    """What signs it: `whsec_` and the base64 of 24 to 64 random bytes. It is kept encrypted and shown nowhere; null for
    that of the tenant's own webhook."""


def is_secret(text: str) -> bool:
    """Whether a text is a secret that can sign."""
    if not text.startswith(SECRET_PREFIX):
        return False
    try:
        decoded = base64.b64decode(text.removeprefix(SECRET_PREFIX), validate=True)
    except binascii.Error:
        return False
    return LEAST_SECRET_BYTES <= len(decoded) <= MOST_SECRET_BYTES


def new_secret() -> str:
    """A secret that nobody has."""
    return SECRET_PREFIX + base64.b64encode(secrets.token_bytes(32)).decode()


def place_in(url: str) -> Place:
    """The host and the port that a checked URL leads to."""
    parts: SplitResult = urlsplit(url)
    return (parts.hostname or "").lower(), parts.port or (443 if parts.scheme == "https" else 80)


def may_be_told(url: str, named: Collection[Place]) -> bool:
    """Whether a checked URL may be told anything: in secret, but for places that the operator has named."""
    return url.startswith("https:") or place_in(url) in named


@dataclass(frozen=True, slots=True)
class News:
    """What is told: it stays the same however often it is sent."""

    type: str
    at: datetime
    run_id: str | None
    """None where it is about none: for a test, and for a limit."""
    said: Mapping[str, Any]
    """What the event says of the run: `status`, `stop_reason`, `waiting_for`; what is said of a limit."""

    @property
    def body(self) -> str:
        """The body of the request, which is thin: whoever wants more follows the links."""
        about = {} if self.type == LIMIT_WARNING else {"run_id": self.run_id}
        told = {**about, **self.said, "links": self._links}
        return to_json({"type": self.type, "timestamp": written(self.at), "data": told}).decode()

    @property
    def _links(self) -> Mapping[str, str]:
        if self.type == LIMIT_WARNING:
            return {"limits": "/v1/limits"}
        if self.run_id is None:
            return {}
        path = f"/v1/runs/{self.run_id}"
        asked = {"plan_approval": {"plan": f"{path}/plan"}, "answer": {"questions": f"{path}/questions"}}
        return {"self": path, **asked.get(self.said.get("waiting_for") or "", {})}


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one attempt."""

    status: int | None = None
    """HTTP status of the answer."""
    error: DeliveryError | None = None
    """None when it was delivered."""
    retry_after_s: float | None = None
    """How long the receiver wants to be left alone."""

    @property
    def disables(self) -> bool:
        """Whether the receiver wants nothing more, for good."""
        return self.status == HTTPStatus.GONE

    @property
    def is_final(self) -> bool:
        """Whether a further attempt could change nothing: a request that is refused for what it is stays what it is."""
        blamed = self.status is not None and 400 <= self.status < 500 and self.status not in PASSING
        return self.error in (None, "endpoint_disabled", "endpoint_gone") or blamed


def wait_after(attempt: int, outcome: Outcome, chance: float) -> float | None:
    """Seconds until a delivery is tried again whose attempt, counted from 1, has failed; None when it is given up.

    `chance` lies between 0 and 1.
    """
    if outcome.is_final or attempt >= len(WAITS_S):
        return None
    wait = WAITS_S[attempt] * (1 + JITTER * chance)
    return max(wait, outcome.retry_after_s or 0)


def answered(status: int, retry_after: str | None, now: datetime) -> Outcome:
    """The outcome of an attempt that was answered. Redirects are answers like others: nobody follows them."""
    if 200 <= status < 300:
        return Outcome(status)
    pause = _pause(retry_after, now) if status in SLOW_DOWN and retry_after else None
    return Outcome(status, "receiver_refused", pause)


def _pause(retry_after: str, now: datetime) -> float | None:
    """The seconds that a `Retry-After` asks for, at most a day; None for one that means nothing."""
    text = retry_after.strip()
    if text.isascii() and text.isdigit():
        return float(min(int(text[:9]), LONGEST_WAIT_S))
    try:
        at = parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return None
    wait = (at if at.tzinfo else at.replace(tzinfo=UTC)) - now
    return min(max(wait.total_seconds(), 0.0), LONGEST_WAIT_S)
