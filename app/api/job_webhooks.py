"""Whom a job or a tenant wants told, as far as this service can tell them."""

from app.api.errors import Refusal
from app.api.visits import Visit
from app.domain.webhooks import JobWebhook, may_be_told
from app.runtime import Runtime, Webhooks
from app.store.webhooks import OwnWebhook, find_webhook


async def own_webhook(visit: Visit, wanted: JobWebhook | None) -> OwnWebhook | None:
    """The webhook of a job with its secret sealed; None for a job that has none. Raises `Refusal`."""
    if wanted is None:
        return None
    webhooks = means_to_tell(visit.runtime, "/webhook")
    check_receiver(webhooks, wanted.url, "/webhook/url")
    if wanted.secret is not None:
        return OwnWebhook(wanted.url, webhooks.vault.seal(wanted.secret))
    if await find_webhook(visit.database, visit.tenant) is None:
        detail = "Send a secret; only where the tenant has a webhook (PUT /v1/webhooks) its secret is taken instead."
        raise _refused("/webhook/secret", detail)
    return OwnWebhook(wanted.url, None)


def means_to_tell(runtime: Runtime, place: str) -> Webhooks:
    """What webhooks are told with. Raises `Refusal`, at `place`, where there is no key for their secrets."""
    if runtime.webhooks is None:
        detail = "This service tells no webhooks: its operator has to set CHARGEHAND_SECRETS_KEY."
        raise Refusal(
            422,
            "webhooks_unavailable",
            "Webhooks cannot be used.",
            errors=[{"pointer": place, "detail": detail}],
        )
    return runtime.webhooks


def check_receiver(webhooks: Webhooks, url: str, place: str) -> None:
    """Raises `Refusal`, at `place`, for a URL that is never told."""
    if not may_be_told(url, webhooks.hosts):
        raise _refused(place, "This must begin with https://; only hosts in CHARGEHAND_WEBHOOK_HOSTS need no TLS.")


def _refused(pointer: str, detail: str) -> Refusal:
    errors = [{"pointer": pointer, "detail": detail}]
    return Refusal(422, "request_invalid", "The webhook cannot be used.", errors=errors)
