"""The shapes of webhooks and of what is delivered to them."""

from datetime import datetime
from typing import Literal

from app.api.schemas.shape import Page, Shape
from app.domain.webhooks import DeliveryError, DeliveryStatus, TenantNews


class Webhook(Shape):
    """Who is told of the runs of a tenant."""

    id: str
    """Its id, which stands in the log."""
    object: Literal["webhook"]
    """Always `webhook`."""
    url: str
    """Where it is told."""
    types: list[TenantNews]
    """What it is told."""
    created_at: datetime
    """When it was put there first."""
    disabled_at: datetime | None
    """When its receiver answered that it wants nothing more (410); null while it is told. `PUT` has it told again."""
    earlier_secret_until: datetime | None
    """Until when the secret before the present one signs too; null when none does."""


class SignedWebhook(Webhook):
    """A webhook as it is answered when its secret is made."""

    secret: str | None
    """What signs from now on: `whsec_…`. It is shown this once; null when it has not changed."""


class Delivery(Shape):
    """Something that a webhook is told."""

    id: str
    """Its id: the header `webhook-id`, the same however often it is sent."""
    object: Literal["delivery"]
    """Always `delivery`."""
    run_id: str | None
    """The run that it is about; null for a test."""
    type: str
    """What is told: the type of the event, or `webhook.test`."""
    timestamp: datetime
    """When that happened."""
    webhook: Literal["job", "tenant"] | None
    """Whose webhook it goes to: the job's own, or that of the tenant; null when that is gone."""
    host: str | None
    """The host that it goes to; null when its webhook is gone."""
    status: DeliveryStatus
    """`pending` until it is `delivered` or, after the last attempt, `failed`."""
    attempts: int
    """Attempts so far, since it was asked for."""
    response_status: int | None
    """HTTP status of the newest answer. Nothing else of it is kept."""
    error: DeliveryError | None
    """Why the newest attempt has not delivered: `receiver_refused` (its answer was something else than 2xx), `timeout`,
    `unreachable`, `address_blocked` (it is not on the public internet), `endpoint_disabled`, `endpoint_gone`,
    `no_secret` (there is none to sign with)."""
    created_at: datetime
    """When it was asked for first."""
    attempted_at: datetime | None
    """When the newest attempt began."""
    next_attempt_at: datetime | None
    """When the next one begins at the earliest; null when there is none."""
    ended_at: datetime | None
    """When it was delivered, or given up."""


class DeliveryPage(Page):
    """Deliveries, newest first."""

    data: list[Delivery]
    """Deliveries."""
