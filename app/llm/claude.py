"""The Messages API through the vendor's SDK: one request in, one reply or one classified error out.

The SDK adds the address, the key and the headers, and no more. It does not retry (we own retries), and it builds
objects neither of the request nor of the reply: blocks go back to the provider in later requests, so they are kept as
the JSON that came, fields the SDK knows nothing of included. Every call is streamed, so that silence means trouble: for
us, and for the gateways and networks in between, which cut connections that say nothing.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import anthropic
import httpx2
import structlog
from pydantic_core import to_json

from app.domain.errors import (
    FAULTS,
    ModelError,
    OutOfTime,
    ProviderUnavailable,
    ReplyTooLarge,
    StreamIncomplete,
    Transient,
)
from app.domain.failures import PASSING, PERMANENT
from app.domain.reasoning import without_reasoning
from app.domain.usage import Usage
from app.llm.exchange import BrokenOff, Exchange
from app.llm.gate import Gate
from app.llm.habits import Habits, body_of, remedy
from app.llm.model import Reply, Request
from app.llm.pricing import Prices
from app.llm.refusals import ProviderRefused, error_of
from app.llm.transport import Client, Incoming, Transport
from app.llm.wire import MalformedReply, TooLarge
from app.llm.wording import loggable, message_of

log = structlog.get_logger(__name__)

ANTHROPIC_URL = "https://api.anthropic.com"
MOST_REFUSALS = 6
"""How often one request may be refused and tried in another form."""

_NEVER_SENT = (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError)
_FAILURES = (
    ProviderRefused,
    MalformedReply,
    TooLarge,
    BrokenOff,
    anthropic.AnthropicError,
    aiohttp.ClientError,
    TimeoutError,
)


class Claude:
    """A model behind the Messages API."""

    def __init__(
        self,
        *,
        api_key: str | None,
        base_url: str | None,
        tiers: Mapping[str, str],
        calls_at_once: int,
        connect_timeout_s: float = 10,
        read_timeout_s: float = 120,
    ) -> None:
        """`read_timeout_s` bounds the provider's silence, before a reply and inside of it."""
        self._tiers = tiers
        self.prices = Prices()
        """The published ones, until an operator has others."""
        self._gate = Gate(calls_at_once)
        self._habits: dict[str, Habits] = {}
        self._key = api_key
        key = api_key or "none"  # a server without keys ignores it; one with keys answers 401
        url = (base_url or ANTHROPIC_URL).rstrip("/")
        self._host = urlsplit(url).hostname
        self._address = f"{url}/v1/messages"  # whole, or the SDK would put it together for each call
        timeout = anthropic.Timeout(None, connect=connect_timeout_s, read=read_timeout_s)
        # Servers other than the vendor's may know only the older of the two headers for the key.
        headers = {"x-api-key": key} if url != ANTHROPIC_URL else {}
        self._client = anthropic.AsyncAnthropic(
            api_key=key,
            base_url=url,
            max_retries=0,
            timeout=timeout,
            default_headers=headers,
            open_telemetry=False,
            http_client=Client(Transport(url, timeout, calls_at_once)),
        )

    def brakes(self) -> Mapping[str, datetime]:
        return self._gate.brakes()

    def model_id(self, model: str) -> str:
        """The id that a tier or an id stands for."""
        return self._tiers.get(model, model)

    def lift(self, model: str) -> None:
        self._gate.lift(model)

    async def close(self) -> None:
        """Let go of connections."""
        await self._client.close()

    async def reply(self, request: Request) -> Reply:
        """Send the request, again only in a form that the server may take. Raises `ModelError`.

        A call that is cancelled, or that breaks our own code, closes its connection and tells the request's `progress`
        what it has cost.
        """
        model_id = self.model_id(request.model)
        exchange = Exchange(request, model_id, self._habits.get(model_id, Habits()), self.prices)
        exchange.on_begin = lambda: self._gate.answered(model_id)
        try:
            async with self._gate.slot(model_id, request.progress, request.before_sending):
                async with asyncio.timeout(request.timeout_s) as clock:
                    exchange.sent(clock)
                    return await self._reply_in_some_form(exchange)
        except _FAILURES as error:
            raise self._failure(error, exchange) from error
        except (asyncio.CancelledError, *FAULTS):
            spent = Usage() if request.progress.held else exchange.usage(ended=exchange.is_complete)
            request.progress.usage = spent
            raise

    async def _reply_in_some_form(self, exchange: Exchange) -> Reply:
        while True:
            body = body_of(exchange.request, exchange.model_id, exchange.habits)
            try:
                reply = await self._send_once(body, exchange)
            except ProviderRefused as refused:
                habits = None if exchange.draft.characters else remedy(refused, body, exchange.habits)
                if habits is None or exchange.refusals >= MOST_REFUSALS:
                    raise
                exchange.anew(habits)
            else:
                self._remember(exchange, reply)
                return reply

    async def _send_once(self, body: dict[str, Any], exchange: Exchange) -> Reply:
        try:
            response: httpx2.Response = await self._client.post(  # type: ignore[assignment]
                self._address,
                content=to_json(body),
                cast_to=httpx2.Response,
                stream=True,
                stream_cls=anthropic.AsyncStream[Any],
            )
        except anthropic.APIStatusError as error:
            raise ProviderRefused.from_body(error.status_code, error.body, error.response.headers) from error
        incoming = response.stream
        assert isinstance(incoming, Incoming)
        try:
            self._gate.note(exchange.model_id, incoming.headers)
            return await exchange.read(incoming)
        finally:
            await incoming.aclose()

    def _remember(self, exchange: Exchange, reply: Reply) -> None:
        """Keep what the server has taken, and how the model speaks, for the next call."""
        text = "".join(block["text"] for block in reply.content if block["type"] == "text")
        unopened = not text.lstrip().startswith("<") and without_reasoning(text) != text
        habits = replace(exchange.habits, room=None, thinks_aloud=exchange.habits.thinks_aloud or unopened)
        before = self._habits.get(exchange.model_id, Habits())
        self._habits[exchange.model_id] = habits
        if (habits.most_tokens, habits.without) != (before.most_tokens, before.without):
            log.warning(
                "the server takes less than was asked; it is asked for less from now on",
                model=exchange.model_id,
                host=self._host,
                without=sorted(habits.without),
                most_tokens=habits.most_tokens,
            )

    def _failure(self, error: Exception, exchange: Exchange) -> ModelError:
        failure = _failure_of(error, exchange, self._tiers)
        if failure.code in PASSING | PERMANENT:
            self._gate.failed(exchange.model_id)
        if isinstance(failure, Transient) and failure.retry_after_s:
            self._gate.hold(exchange.model_id, failure.retry_after_s)
        refused = error if isinstance(error, ProviderRefused) else None
        (log.error if failure.code in PERMANENT else log.warning)(
            "model call failed",
            code=failure.code,
            status=refused.status if refused else None,
            model=exchange.model_id,
            host=self._host,
            said=loggable(refused.text, exchange.request, self._key) if refused else failure.message,
            see=failure.setting,
            request_id=failure.request_id,
        )
        return failure


def _failure_of(error: Exception, exchange: Exchange, tiers: Mapping[str, str]) -> ModelError:
    """The error that our side must react to, with what the call has cost as far as that is known."""
    if isinstance(error, ProviderRefused):
        usage = exchange.usage(ended=False) if exchange.billed else exchange.free()
        message, setting = message_of(error, exchange.model_id, tiers)
        return error_of(error, message, setting, usage)
    causes = _chain(error)
    if any(isinstance(cause, _NEVER_SENT) for cause in causes):
        setting = "ANTHROPIC_BASE_URL"
        return ProviderUnavailable("The provider cannot be reached.", exchange.free(), setting=setting)
    usage = exchange.usage(ended=False)
    if isinstance(error, TooLarge):
        return ReplyTooLarge(str(error), usage)
    if isinstance(error, MalformedReply):
        return ProviderUnavailable(str(error), usage)
    if exchange.out_of_time and exchange.cut_short:
        return OutOfTime("The reply was not finished within the time of whoever asked for it.", usage)
    if any(isinstance(cause, TimeoutError) for cause in causes):
        return ProviderUnavailable("The provider did not answer in time.", usage)
    if exchange.draft.counts or any(isinstance(cause, (BrokenOff, aiohttp.ClientPayloadError)) for cause in causes):
        return StreamIncomplete("The reply broke off before its end.", usage)
    return ProviderUnavailable("The connection to the provider failed.", usage)


def _chain(error: BaseException | None) -> list[BaseException]:
    chain: list[BaseException] = []
    while error is not None:
        chain.append(error)
        error = error.__cause__
    return chain
