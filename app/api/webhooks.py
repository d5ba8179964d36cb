"""The webhook of a tenant, for those who administer it."""

from typing import Any

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import JSONResponse, Response

from app.api.bodies import JsonBodyRoute
from app.api.deliveries import delivery_resource
from app.api.errors import Refusal
from app.api.job_webhooks import check_receiver, means_to_tell
from app.api.resources import instant, page
from app.api.schemas.service import PROBLEMS
from app.api.schemas.webhooks import Delivery, DeliveryPage, SignedWebhook, Webhook
from app.api.visits import Visit, VisitOf
from app.domain.webhooks import TENANT_NEWS, TenantNews, WebhookUrl, new_secret
from app.store import webhooks as stored
from app.store.deliveries import deliveries_of_webhook, try_webhook

router = APIRouter(prefix="/v1/webhooks", route_class=JsonBodyRoute, tags=["operations"], responses=PROBLEMS)


class WebhookWanted(BaseModel):
    """Whom a tenant wants told of its runs."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)

    url: WebhookUrl
    """Where to tell it: `https://…`."""
    types: list[TenantNews] = Field(default=list(TENANT_NEWS), min_length=1, max_length=20)
    """What to tell: ends of runs; `run.waiting`: that one waits for a person; and `limit.warning`: that most of what
    may be spent is spent."""


@router.get("", response_model=Webhook)
async def get_webhook(visit: VisitOf) -> Response:
    """The webhook of the tenant. It is told of every run that is not nested and not dry."""
    return JSONResponse(_resource(_found(await stored.find_webhook(visit.database, visit.tenant))))


@router.put("", response_model=SignedWebhook)
async def put_webhook(visit: VisitOf, body: WebhookWanted) -> Response:
    """Have the tenant told at a URL, or at another one than so far.

    The first time a secret is made and shown, once: it signs what is delivered, by the rules of Standard Webhooks. A
    webhook that is there keeps its secret and its deliveries, and is told again when it was disabled.
    """
    webhooks = means_to_tell(visit.runtime, "")
    check_receiver(webhooks, body.url, "/url")
    secret, types = new_secret(), [news for news in TENANT_NEWS if news in body.types]
    sealed = webhooks.vault.seal(secret)
    webhook, is_new = await stored.put_webhook(visit.database, visit.tenant, body.url, types, sealed=sealed)
    return JSONResponse({**_resource(webhook), "secret": secret if is_new else None})


@router.delete("", response_model=Webhook)
async def delete_webhook(visit: VisitOf) -> Response:
    """Tell the tenant nothing more. What was to be delivered fails (`endpoint_gone`)."""
    return JSONResponse(_resource(_found(await stored.delete_webhook(visit.database, visit.tenant))))


@router.post("/rotate", response_model=SignedWebhook)
async def rotate_secret(visit: VisitOf) -> Response:
    """Exchange the secret. Both sign for 24 hours: receivers accept what either has signed."""
    secret = new_secret()
    sealed = means_to_tell(visit.runtime, "").vault.seal(secret)
    webhook = _found(await stored.rotate_secret(visit.database, visit.tenant, sealed=sealed))
    return JSONResponse({**_resource(webhook), "secret": secret})


@router.post("/test", status_code=202, response_model=Delivery)
async def test_webhook(visit: VisitOf) -> Response:
    """Have a `webhook.test` delivered, which is about no run. `GET /v1/webhooks/deliveries` says what became of it."""
    means_to_tell(visit.runtime, "")
    delivery = await try_webhook(visit.database, visit.tenant)
    if delivery is None:
        raise await _untold(visit)
    return JSONResponse(delivery_resource(delivery), 202)


@router.get("/deliveries", response_model=DeliveryPage)
async def list_webhook_deliveries(visit: VisitOf) -> Response:
    """What the webhook of the tenant was told, and is to be told, newest first: at most 1,000."""
    found = await deliveries_of_webhook(visit.database, visit.tenant)
    return JSONResponse(page([delivery_resource(delivery) for delivery in found]))


async def _untold(visit: Visit) -> Refusal:
    _found(await stored.find_webhook(visit.database, visit.tenant))
    return Refusal(409, "webhook_disabled", "The receiver wants nothing more; PUT /v1/webhooks has it told again.")


def _found(webhook: stored.Webhook | None) -> stored.Webhook:
    if webhook is None:
        raise Refusal(404, "webhook_not_found", "There is no webhook; PUT /v1/webhooks makes one.")
    return webhook


def _resource(webhook: stored.Webhook) -> dict[str, Any]:
    return {
        "id": webhook.id,
        "object": "webhook",
        "url": webhook.url,
        "types": list(webhook.types),
        "created_at": instant(webhook.created_at),
        "disabled_at": instant(webhook.disabled_at),
        "earlier_secret_until": instant(webhook.earlier_until),
    }
