"""One connection of a client, bounded before any of our code sees a request.

The parser takes heads, trailers and chunk extensions of any size, and waits for ever. Here each request has bounds on
its line, its headers and all that is not its body, a time for its head, and a time for each stretch of its body. What
passes a bound is answered with a problem document, behind the answers to what came before it on the connection; that is
then closed as soon as the client has had the time to read it.
"""

import asyncio
import resource
from time import monotonic as now
from typing import Any
from uuid import uuid4

import httptools
import structlog
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle

from app.api.errors import problem

log = structlog.get_logger(__name__)

LINE_BYTES = 8 * 1024
"""Bytes of a request's target."""
HEADER_BYTES = 16 * 1024
"""Bytes of one header, its name included."""
HEAD_BYTES = 64 * 1024
"""Bytes of all headers, and of whatever else is neither head nor body."""
HEADERS_ALLOWED = 100
HEAD_SECONDS = 10.0
"""Time for a head, from its first byte or from the opening of the connection."""
STRETCH_SECONDS = 20.0
"""Time for each `STRETCH_BYTES` of a body, and for its end."""
STRETCH_BYTES = 256 * 1024
LINGER_SECONDS = 2.0
"""Time for a refused client to read why."""
HALF_CLOSED_SECONDS = 2.0
"""Time for the answers to a client that has closed its half of the connection."""
PIPELINED_ALLOWED = 20
"""Requests that may wait for the answer to one before them on the same connection."""
FRAMING = 8
"""Bytes of chunk framing that come with one byte of body at most, without extensions."""


def connections_allowed() -> int:
    """Connections of clients that one process holds: half of the files it may have open, the rest is for itself."""
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return 10_000 if files == resource.RLIM_INFINITY else min(files // 2, 10_000)


class _Refused(Exception):
    """A request that is not looked at; raised within the parser."""

    def __init__(self, status: int, code: str, detail: str) -> None:
        super().__init__(detail)
        self.status, self.code, self.detail = status, code, detail


_MALFORMED = _Refused(400, "request_malformed", "What was sent is not HTTP/1.1.")
_HEAD_TOO_LARGE = _Refused(
    431, "headers_too_large", f"Headers may have {HEAD_BYTES} bytes, one of them {HEADER_BYTES}."
)
_TARGET_TOO_LONG = _Refused(414, "target_too_long", f"Path and query may have {LINE_BYTES} bytes.")
_TOO_MANY_PIPELINED = _Refused(400, "too_many_pipelined", f"At most {PIPELINED_ALLOWED} requests may wait in line.")
_TOO_SLOW = _Refused(408, "request_timeout", "The request did not come in time.")
_FULL = _Refused(503, "too_many_connections", "This process has no room for another connection; try again in a moment.")


class BoundedConnection(HttpToolsProtocol):
    """A connection whose requests keep to the bounds. `close_if_overdue` is to be called about once a second."""

    _refused: _Refused | None = None
    """Why nothing more is read."""
    _half_closed = False
    """Whether the client sends nothing more; it may be there to read, or may have gone."""
    _answering: RequestResponseCycle | None = None
    """The request that is being answered, or was the last to be; `cycle` is the newest, which may wait behind it."""
    _due = 0.0
    """When what is awaited must have come; 0 while nothing is awaited from the client."""
    _sent = 0
    """Bytes that came in later pieces than the one in which this request began."""
    _body = 0
    _stretch = 0
    _target = 0
    _header_bytes = 0
    _header_count = 0
    _in_head = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take the connection, or refuse it when there are too many."""
        super().connection_made(transport)
        self._await(HEAD_SECONDS)
        if len(self.connections) > connections_allowed():
            self._refuse(_FULL)

    def data_received(self, data: bytes) -> None:
        """Read on, within the bounds."""
        if self._refused:
            return
        self._unset_keepalive_if_required()
        self._sent += len(data)
        try:
            self._read(data)
        except httptools.HttpParserError as error:
            reason = error.__context__
            self._refuse(reason if isinstance(reason, _Refused) else _MALFORMED)
            return
        if self._sent - FRAMING * self._body > HEAD_BYTES:
            self._refuse(_TARGET_TOO_LONG if self._target > LINE_BYTES else _HEAD_TOO_LARGE)

    def _read(self, data: bytes) -> None:
        """Have the parser read on. It leaves off behind a head that offers another protocol, even when a body follows:
        what comes is then read by a new one, as if nothing had been offered.
        """
        while data:
            try:
                self.parser.feed_data(data)
                return
            except httptools.HttpParserUpgrade as offered:
                data = self._head_without_offer() + data[offered.args[0] :]
                self.parser = httptools.HttpRequestParser(self)
                self.parser.set_dangerous_leniencies(lenient_data_after_close=True)

    def _head_without_offer(self) -> bytes:
        method, version = self.parser.get_method(), self.parser.get_http_version().encode()
        headers = [b"%b: %b\r\n" % header for header in self.headers if header[0] != b"upgrade"]
        return b"%b %b HTTP/%b\r\n%b\r\n" % (method, self.url, version, b"".join(headers))

    def eof_received(self) -> bool:  # type: ignore[override]
        """Answer what was asked in full, if that does not take long: who has gone looks like one who only listens."""
        self._half_closed = self._refused is None and self._is_answering()
        if self._half_closed:
            self._await(HALF_CLOSED_SECONDS)
        return self._half_closed

    def _is_answering(self) -> bool:
        """Whether all that was begun has come, and the answer has not gone out."""
        newest = self.cycle
        return newest is not None and newest.scope is self.scope and not (newest.more_body or newest.response_complete)

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        if self._answering is not None:
            _disconnect(self._answering)

    def on_message_begin(self) -> None:
        if len(self.pipeline) >= PIPELINED_ALLOWED:
            raise _TOO_MANY_PIPELINED
        super().on_message_begin()
        self._sent = self._body = self._stretch = 0
        self._target = self._header_bytes = self._header_count = 0
        self._in_head = True
        self._await(HEAD_SECONDS)

    def on_url(self, url: bytes) -> None:
        self._target += len(url)
        if self._target > LINE_BYTES:
            raise _TARGET_TOO_LONG
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        size = len(name) + len(value)
        self._header_bytes += size
        self._header_count += 1
        if size > HEADER_BYTES or self._header_bytes > HEAD_BYTES or self._header_count > HEADERS_ALLOWED:
            raise _HEAD_TOO_LARGE
        if self._in_head:  # What follows a body in chunks must not pass for a header.
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        if self.parser.get_method() == b"CONNECT":
            raise _MALFORMED
        self._in_head = False
        if not self.parser.should_upgrade():
            super().on_headers_complete()
            self._await(STRETCH_SECONDS)

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        self._answering = cycle
        super()._start_asgi_task(cycle, app)

    def on_body(self, body: bytes) -> None:
        self._body += len(body)
        self._stretch += len(body)
        if self._stretch >= STRETCH_BYTES:
            self._stretch = 0
            self._await(STRETCH_SECONDS)
        super().on_body(body)

    def on_message_complete(self) -> None:
        if self.parser.should_upgrade():
            return
        self._due = 0.0
        super().on_message_complete()
        self._await_next()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self._refused is not None:
            self._end_when_answered(self._refused)
        elif not self._half_closed:
            self._await_next()
        elif self.cycle.response_complete:
            self.transport.close()

    def _await_next(self) -> None:
        """Give the client its time for another request, once nothing is left to do about the newest one."""
        if not self._due and self.cycle.response_complete:
            self._await(HEAD_SECONDS)

    def close_if_overdue(self) -> None:
        """End the connection of a client that has kept us waiting for too long."""
        if not self._due or now() < self._due or self.transport.is_closing():
            return
        if self._refused or self._half_closed or self._is_idle():
            self.transport.close()
        elif self.flow.read_paused:  # It may have sent everything: the one who waits for us is the client.
            self._await(STRETCH_SECONDS)
        else:
            self._refuse(_TOO_SLOW)

    def _await(self, seconds: float) -> None:
        self._due = now() + seconds

    def _is_idle(self) -> bool:
        """Whether the client has said nothing since the last answer, or nothing at all."""
        return self.scope is None or (self.cycle is not None and self.cycle.scope is self.scope and self._answered())

    def _answered(self) -> bool:
        return self.cycle.response_complete or not self.cycle.more_body

    def _refuse(self, refused: _Refused) -> None:
        """Read nothing more, and let the connection end once all that came before has been answered."""
        self._refused, self._due = refused, 0.0
        self.flow.resume_reading()  # To hear of it when the client goes.
        newest = self.cycle
        if newest is not None and newest.scope is self.scope and newest.more_body:  # It is the one that is refused.
            if newest.response_started:
                self.transport.close()
                return
            if self.pipeline and self.pipeline[0][0] is newest:
                self.pipeline.popleft()
            _disconnect(newest)
        self._end_when_answered(refused)

    def _end_when_answered(self, refused: _Refused) -> None:
        """Say why nothing more is read, unless an answer is under way: to the client ours would be that answer."""
        answering = self._answering
        if answering is not None and not (answering.response_complete or answering.disconnected):
            return
        if self.transport.is_closing():
            return
        request_id = uuid4().hex
        log.info("connection refused", code=refused.code, status=refused.status, request_id=request_id)
        self.transport.write(_answer(refused, request_id))
        if not self.transport.can_write_eof():
            self.transport.close()
            return
        self.transport.write_eof()
        self._await(LINGER_SECONDS)


def _disconnect(request: RequestResponseCycle) -> None:
    """Have whoever answers the request know that nobody waits for that any more."""
    if not request.response_complete:
        request.disconnected = True
        request.message_event.set()


def _answer(refused: _Refused, request_id: str) -> bytes:
    headers = {"Connection": "close", "X-Request-Id": request_id, "Cache-Control": "no-store"}
    if refused.status == 503:
        headers["Retry-After"] = "2"
    response = problem(request_id, refused.status, refused.code, refused.detail, headers=headers)
    lines = [STATUS_LINE[refused.status], *(b"%b: %b\r\n" % header for header in response.raw_headers), b"\r\n"]
    return b"".join([*lines, bytes(response.body)])
