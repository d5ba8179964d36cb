"""What every request passes on its way in and out: an id, a log line, HEAD, and the room for its body."""

import asyncio
import re
import time
from contextlib import suppress
from uuid import uuid4

import structlog
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.api.console import HOME
from app.api.errors import Refusal, problem
from app.domain.keys import Caller

log = structlog.get_logger(__name__)

_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,128}")
_PROBES = ("/livez", "/readyz", "/metrics")
_FILES = f"{HOME}/"
"""A page there is made of many, and what counts are the requests of the API that it makes."""
_PATH_LOGGED = 200
"""Characters of a path that its log line shows."""
_PRIVATE = "/v1/"
"""Paths whose answers nobody may keep: they tell what jobs are about."""
_LENGTH_DIGITS = 15
_SMALL_BYTES = 64 * 1024
"""Bytes of each body that need no room, so that large ones never keep small ones out."""
BODIES_AT_ONCE = 8
"""Bodies of the largest size for which one process has room."""
READ_OUT_SECONDS = 10.0
READ_OUT_BYTES = 256 * 1024 * 1024
"""How long, and how much, is read of a body that nobody wants."""
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
                headers = MutableHeaders(scope=message)
                headers["X-Request-Id"] = request_id
                if scope["path"].startswith(_PRIVATE):
                    headers["Cache-Control"] = "no-store"
            await send(message)

        with structlog.contextvars.bound_contextvars(request_id=request_id):
            try:
                await self._app(scope, receive, identified)
            finally:
                if scope["path"] not in _PROBES:
                    path, spent_ms = scope["path"][:_PATH_LOGGED], round((time.perf_counter() - started) * 1000)
                    about = {"method": scope["method"], "path": path, "status": status, "duration_ms": spent_ms}
                    tell = log.debug if path.startswith(_FILES) and status < 400 else log.info
                    tell("request", **about, **whose_request(scope))


def whose_request(scope: Scope) -> dict[str, str]:
    """From whom a request comes, and about which run it is, as far as both are known."""
    state = scope["state"]
    caller: Caller | None = state.get("caller")
    known = {
        "tenant": caller and caller.tenant,
        "key": caller and caller.key,
        "run_id": state.get("run_id"),
        "trace_id": state.get("trace_id"),
    }
    return {name: value for name, value in known.items() if value is not None}


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


class WholeBodies:
    """Reads for a while what still comes of a body that was answered before its end: a client that is sending when its
    connection is closed gets a reset, and not the answer.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not _has_body(Headers(scope=scope)):
            await self._app(scope, receive, send)
            return
        whole = False

        async def watched() -> Message:
            nonlocal whole
            message = await receive()
            whole = not message.get("more_body", False)
            return message

        async def patient(message: Message) -> None:
            if message["type"] == "http.response.body" and not message.get("more_body", False) and not whole:
                await send({**message, "more_body": True})
                with suppress(TimeoutError):
                    async with asyncio.timeout(READ_OUT_SECONDS):
                        await read_out()
                message = {"type": "http.response.body", "body": b"", "more_body": False}
            await send(message)

        async def read_out() -> None:
            left = READ_OUT_BYTES
            while not whole and left > 0:
                left -= len((await watched()).get("body", b""))

        await self._app(scope, watched, patient)


def _has_body(headers: Headers) -> bool:
    """Whether a body comes without having been asked for."""
    return "expect" not in headers and (
        "transfer-encoding" in headers or headers.get("content-length", "0").strip("0") != ""
    )


class BodyLimit:
    """Refuses a body that is too large, by its declared length or as soon as what has come is too much; and any for
    which there is no room beside the others: what has come of a body takes room until its request is answered.
    """

    def __init__(self, app: ASGIApp, limit_bytes: int) -> None:
        self._app = app
        self._limit_bytes = limit_bytes
        self._room_bytes = BODIES_AT_ONCE * limit_bytes
        self._too_large = Refusal(
            413, "body_too_large", f"The body may have at most {limit_bytes} bytes.", headers=_CLOSE
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        length = Headers(scope=scope).get("content-length", "")
        declared = int(length[:_LENGTH_DIGITS]) if length.isdecimal() else 0
        if declared > self._limit_bytes:
            await refused_with(self._too_large)(scope, receive, send)
            return
        if declared - _SMALL_BYTES > self._room_bytes:
            await refused_with(_no_room())(scope, receive, send)
            return
        received = taken = 0

        async def counted() -> Message:
            nonlocal received, taken
            message = await receive()
            received += len(message.get("body", b""))
            more = max(received - _SMALL_BYTES - taken, 0)
            if received > self._limit_bytes:
                raise self._too_large
            if more > self._room_bytes:
                raise _no_room()
            self._room_bytes -= more
            taken += more
            return message

        try:
            await self._app(scope, counted, send)
        finally:
            self._room_bytes += taken


def _no_room() -> Refusal:
    headers = _CLOSE | {"Retry-After": "2"}
    return Refusal(503, "bodies_too_many", "There is no room for this body beside others; try again.", headers=headers)


def refused_with(refusal: Refusal) -> ASGIApp:
    """What answers a request with a refusal before anything of the application has seen it."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        request_id = scope["state"]["request_id"]
        response = problem(request_id, refusal.status_code, refusal.code, refusal.detail, headers=refusal.headers)
        await response(scope, receive, send)

    return answer
