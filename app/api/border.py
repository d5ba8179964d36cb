"""What every request passes on its way in and out: an id, a log line, HEAD, and the size of its body."""

import re
import time
from uuid import uuid4

import structlog
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.api.errors import Refusal, problem

log = structlog.get_logger(__name__)

_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,128}")
_PROBES = ("/livez", "/readyz")
_PATH_LOGGED = 200
"""Characters of a path that its log line shows."""
_CLOSE = {"Connection": "close"}
"""The rest of a refused body is not read, so its connection cannot serve another request."""


class RequestIds:
    """Gives every request an id, its own when that is a sound one, and writes one log line when it is answered."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        offered = Headers(scope=scope).get("x-request-id", "")
        request_id = offered if _REQUEST_ID.fullmatch(offered) else uuid4().hex
        scope.setdefault("state", {})["request_id"] = request_id
        started, status = time.perf_counter(), 0

        async def identified(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                MutableHeaders(scope=message)["X-Request-Id"] = request_id
            await send(message)

        with structlog.contextvars.bound_contextvars(request_id=request_id):
            try:
                await self._app(scope, receive, identified)
            finally:
                if scope["path"] not in _PROBES:
                    path, spent_ms = scope["path"][:_PATH_LOGGED], round((time.perf_counter() - started) * 1000)
                    log.info("request", method=scope["method"], path=path, status=status, duration_ms=spent_ms)


class HeadRequests:
    """Answers HEAD as GET without the body; what would follow the head is told that the client has gone."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "HEAD":
            await self._app(scope, receive, send)
            return

        async def head_alone(message: Message) -> None:
            if message["type"] == "http.response.start":
                await send(message)
                await send({"type": "http.response.body", "body": b"", "more_body": False})

        await self._app({**scope, "method": "GET"}, receive, head_alone)


class BodyLimit:
    """Refuses a body that is too large: by its declared length, or as soon as what has come is too much."""

    def __init__(self, app: ASGIApp, limit_bytes: int) -> None:
        self._app = app
        self._limit_bytes = limit_bytes
        self._detail = f"The body may have at most {limit_bytes} bytes."

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        declared = Headers(scope=scope).get("content-length", "")
        if declared.isdecimal() and int(declared) > self._limit_bytes:
            request_id = scope["state"]["request_id"]
            response = problem(request_id, 413, "body_too_large", self._detail, headers=_CLOSE)
            await response(scope, receive, send)
            return
        received = 0

        async def counted() -> Message:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            if received > self._limit_bytes:
                raise Refusal(413, "body_too_large", self._detail, headers=_CLOSE)
            return message

        await self._app(scope, counted, send)
