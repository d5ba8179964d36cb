"""The Messages API through the vendor's SDK: one request in, one reply or one classified error out.

The SDK carries the bytes and nothing else. It does not retry (we own retries), and it builds objects neither of the
request nor of the reply: blocks go back to the provider in later requests, so they are kept as the JSON that came,
fields the SDK knows nothing of included. It also costs a third less CPU.
"""

import asyncio
import json
from collections.abc import Iterator, Mapping
from typing import Any

import aiohttp
import anthropic
import httpx2
import structlog

from app.domain.conversation import ToolSpec
from app.domain.errors import ModelError, ProviderUnavailable, StreamIncomplete, Transient
from app.domain.usage import Usage
from app.llm.draft import Draft, MalformedReply
from app.llm.failures import ProviderRefused, error_of
from app.llm.gate import Gate
from app.llm.model import Reply, Request
from app.llm.pricing import CHARACTERS_PER_TOKEN, counted_usage, estimated_usage, priced

log = structlog.get_logger(__name__)

ANTHROPIC_URL = "https://api.anthropic.com"
STREAM_ABOVE_TOKENS = 21_333
"""Longer outputs are streamed even if nobody listens: they outlast the idle time that networks allow a connection."""

_KEEP_IDLE_S = 30
_NEVER_SENT = (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError)
_FREE = Usage(llm_calls=1)
_CACHED = {"cache_control": {"type": "ephemeral"}}


class _BrokenOff(Exception):
    """The reply ended before the provider had said why."""


_FAILURES = (
    ProviderRefused,
    MalformedReply,
    _BrokenOff,
    anthropic.AnthropicError,
    httpx2.HTTPError,
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
        """`read_timeout_s` bounds the silence inside a stream; a whole reply may take all of the request's time."""
        self._tiers = tiers
        self._gate = Gate(calls_at_once)
        self._stream_timeout = anthropic.Timeout(None, connect=connect_timeout_s, read=read_timeout_s)
        self._whole_timeout = anthropic.Timeout(None, connect=connect_timeout_s)
        key = api_key or "none"  # a server without keys ignores it; one with keys answers 401
        url = (base_url or ANTHROPIC_URL).rstrip("/")
        # Servers other than the vendor's may know only the older of the two headers for the key.
        headers = {"x-api-key": key} if url != ANTHROPIC_URL else {}
        self._client = anthropic.AsyncAnthropic(
            api_key=key,
            base_url=url,
            max_retries=0,
            timeout=self._whole_timeout,
            default_headers=headers,
            open_telemetry=False,
            http_client=anthropic.DefaultAioHttpClient(
                limits=httpx2.Limits(max_connections=calls_at_once, keepalive_expiry=_KEEP_IDLE_S)
            ),
        )

    def model_id(self, model: str) -> str:
        """The id that a tier or an id stands for."""
        return self._tiers.get(model, model)

    async def close(self) -> None:
        """Let go of connections."""
        await self._client.close()

    async def reply(self, request: Request) -> Reply:
        """Send the request once. Raises `ModelError`; a cancelled call closes its connection."""
        model_id = self.model_id(request.model)
        draft = Draft()
        try:
            return await self._reply_within_limits(request, model_id, draft)
        except _FAILURES as error:
            failure = _failure_of(error, request, model_id, draft)
            if isinstance(failure, Transient) and failure.retry_after_s:
                self._gate.hold(model_id, failure.retry_after_s)
            log.info("model call failed", code=failure.code, model=model_id, request_id=failure.request_id)
            raise failure from error

    async def _reply_within_limits(self, request: Request, model_id: str, draft: Draft) -> Reply:
        async with self._gate.slot(model_id, request.timeout_s), asyncio.timeout(request.timeout_s):
            return await self._send_once(request, model_id, draft)

    async def _send_once(self, request: Request, model_id: str, draft: Draft) -> Reply:
        streamed = request.on_text is not None or request.max_tokens > STREAM_ABOVE_TOKENS
        body = _body_of(request, model_id) | {"stream": streamed}
        response: httpx2.Response = await self._client.post(  # type: ignore[assignment]
            "/v1/messages",
            content=json.dumps(body, ensure_ascii=False).encode(),
            cast_to=httpx2.Response,
            options={
                "headers": {"content-type": "application/json"},
                "timeout": self._stream_timeout if streamed else self._whole_timeout,
            },
            stream=streamed,
            stream_cls=anthropic.AsyncStream[Any],
        )
        self._gate.note(model_id, response.headers)
        try:
            await (_read_stream(response, draft, request) if streamed else _read_whole(response, draft))
        finally:
            await response.aclose()
        return _reply_of(draft, model_id, response.headers.get("request-id"))


async def _read_whole(response: httpx2.Response, draft: Draft) -> None:
    draft.take_message(_json_of(await response.aread()))


async def _read_stream(response: httpx2.Response, draft: Draft, request: Request) -> None:
    async for sse in anthropic.AsyncStream.raw_events(response):
        if not sse.data:
            continue
        event = _json_of(sse.data)
        if sse.event == "error" or event.get("type", "error") == "error":
            raise ProviderRefused.from_body(200, event, response.headers)
        written = draft.take_event(event)
        if written and request.on_text is not None:
            request.on_text(written)


def _json_of(text: str | bytes) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise MalformedReply("The reply is not JSON.") from error
    if not isinstance(value, dict):
        raise MalformedReply("The reply is not a JSON object.")
    return value


def _reply_of(draft: Draft, model_id: str, request_id: str | None) -> Reply:
    if draft.stop_reason is None:
        raise _BrokenOff
    answered_by = draft.model or model_id
    usage = counted_usage(draft.counts, model_id, answered_by)
    return Reply(draft.content(), draft.stop_reason, usage, answered_by, request_id)


def _body_of(request: Request, model_id: str) -> dict[str, Any]:
    """The request in the provider's terms. Equal requests have equal bytes, and what is stable comes first."""
    body: dict[str, Any] = {
        "model": model_id,
        "max_tokens": request.max_tokens,
        "messages": _messages_of(request),
    }
    if request.system:
        body["system"] = [{"type": "text", "text": request.system, **_CACHED}]
    if request.tools:
        body["tools"] = [_tool_of(tool) for tool in request.tools]
    if request.output_schema is not None:
        body["output_config"] = {"format": {"type": "json_schema", "schema": request.output_schema}}
    return body


def _messages_of(request: Request) -> list[dict[str, Any]]:
    """The conversation, with a cache breakpoint at the end of our last words once it goes to and fro.

    The model's own turns are never touched: they must come back as they were sent.
    """
    messages = [{"role": message.role, "content": list(message.content)} for message in request.messages]
    if len(messages) > 1:
        ours: Any = next(message["content"] for message in reversed(messages) if message["role"] == "user")
        ours[-1] = {**ours[-1], **_CACHED}
    return messages


def _tool_of(tool: ToolSpec) -> dict[str, Any]:
    if tool.server is not None:
        return tool.server
    # Not `strict`: it refuses schemas with limits and defaults, and the tool checks its arguments anyway.
    return {"name": tool.name, "description": tool.description, "input_schema": tool.input_schema}


def _failure_of(error: Exception, request: Request, model_id: str, draft: Draft) -> ModelError:
    """The error that our side must react to, with what the call has cost as far as that is known."""
    match error:
        case ProviderRefused():
            return error_of(error, _usage_of_broken(draft, request, model_id) if draft.counts else _FREE)
        case anthropic.APIStatusError():
            return error_of(ProviderRefused.from_body(error.status_code, error.body, error.response.headers), _FREE)
    causes = list(_chain(error))
    if any(isinstance(cause, _NEVER_SENT) for cause in causes):
        return ProviderUnavailable("The provider cannot be reached.", _FREE)
    usage = _usage_of_broken(draft, request, model_id)
    if isinstance(error, MalformedReply):
        return ProviderUnavailable(str(error), usage)
    if any(isinstance(cause, (TimeoutError, httpx2.TimeoutException)) for cause in causes):
        return ProviderUnavailable("The provider did not answer in time.", usage)
    if draft.counts or any(isinstance(cause, (_BrokenOff, httpx2.ReadError)) for cause in causes):
        return StreamIncomplete("The reply broke off before its end.", usage)
    return ProviderUnavailable("The connection to the provider failed.", usage)


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__


def _usage_of_broken(draft: Draft, request: Request, model_id: str) -> Usage:
    """What a call without an end has cost: the provider's counts where it gave any, our estimate for the rest."""
    if not draft.counts:
        return estimated_usage(request, model_id)
    estimate = estimated_usage(request, model_id, draft.characters // CHARACTERS_PER_TOKEN)
    known = counted_usage(draft.counts, model_id)
    return priced(
        known.model_copy(
            update={
                "input_tokens": known.input_tokens or estimate.input_tokens,
                "output_tokens": max(known.output_tokens, estimate.output_tokens),
                "estimated": True,
            }
        ),
        model_id,
    )
