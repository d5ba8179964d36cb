"""The receivers of webhooks: one signed request each time, of whose answer nothing but the head is read."""

import asyncio
from collections.abc import Collection
from functools import cached_property

import httpx2
import structlog
from standardwebhooks import Webhook as Signer

from app.domain.errors import ToolError
from app.domain.webhooks import Outcome, answered, may_be_told
from app.runtime import Webhooks
from app.store.deliveries import DueDelivery
from app.tools.guarded_http import GuardedTransport
from app.tools.network_guard import AddressBlocked, NetworkGuard

log = structlog.get_logger(__name__)


class Receivers:
    """Tells receivers. It holds a connection pool: `close` it."""

    def __init__(self, webhooks: Webhooks) -> None:
        self._webhooks = webhooks

    @cached_property
    def _client(self) -> httpx2.AsyncClient:
        return httpx2.AsyncClient(
            transport=GuardedTransport(NetworkGuard(named=self._webhooks.hosts)),
            trust_env=False,
            follow_redirects=False,
            timeout=self._webhooks.timeout_s,
            headers={"User-Agent": "Chargehand", "Content-Type": "application/json"},
        )

    async def close(self) -> None:
        """Close every connection."""
        if "_client" in vars(self):
            await self._client.aclose()

    async def tell(self, due: DueDelivery) -> Outcome:
        """Make one attempt, and say what came of it."""
        if due.url is None:
            return Outcome(error="endpoint_gone")
        if due.disabled:
            return Outcome(error="endpoint_disabled")
        if not may_be_told(due.url, self._webhooks.hosts):
            return Outcome(error="address_blocked")  # It was named once.
        opened = [self._webhooks.vault.open(secret) for secret in due.secrets]
        secrets = [secret for secret in opened if secret is not None]
        if len(secrets) < len(opened):
            log.error("secret of a webhook unreadable", endpoint=due.endpoint, see="CHARGEHAND_SECRETS_KEY")
        if not secrets:
            return Outcome(error="no_secret")
        return await self._post(due, due.url, secrets)

    async def _post(self, due: DueDelivery, url: str, secrets: Collection[str]) -> Outcome:
        body = due.news.body
        signatures = [Signer(secret).sign(due.id, due.now, body) for secret in secrets]
        headers = {
            "webhook-id": due.id,
            "webhook-timestamp": str(int(due.now.timestamp())),
            "webhook-signature": " ".join(signatures),
        }
        try:
            async with (
                asyncio.timeout(self._webhooks.timeout_s),
                # Whatever body it sends stays unread, and its connection is closed.
                self._client.stream("POST", url, content=body.encode(), headers=headers) as answer,
            ):
                return answered(answer.status_code, answer.headers.get("retry-after"), due.now)
        except (TimeoutError, httpx2.TimeoutException):
            return Outcome(error="timeout")
        except AddressBlocked:
            return Outcome(error="address_blocked")
        except (httpx2.HTTPError, httpx2.InvalidURL, ToolError, UnicodeError):
            return Outcome(error="unreachable")
