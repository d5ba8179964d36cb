"""HTTP to a server that need not mean well: answers are bounded, redirects end there, and trouble is an answer too.

The SDK lets an error of the network end a whole session, and all its calls with it. So what goes wrong with a request
is turned into the protocol's own form of an error, and fails that request alone.
"""

from collections.abc import AsyncIterator, Callable, Mapping
from http import HTTPStatus
from typing import Any

import httpx2

CONNECT_S = 10.0
GOODBYE_S = 1.0
"""For the word that a session has ended."""
UNREACHABLE = -32_099
"""Our own code in the range that the protocol leaves to implementations: the request was not answered."""
_SESSION = "mcp-session-id"


class CutOff(httpx2.StreamError):
    """The rest of an answer is not read: it is too long, or did not come. The SDK fails the one request for it."""


class BoundedTransport(httpx2.AsyncBaseTransport):
    """Sends requests to one server. `trouble` is told when one was not answered."""

    def __init__(self, limit: int, trouble: Callable[[], None], inner: httpx2.AsyncBaseTransport | None = None) -> None:
        self._limit = limit
        self._trouble = trouble
        self._inner = inner or httpx2.AsyncHTTPTransport()

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """The answer, or the error in its place."""
        if request.method == "GET":
            # The stream on which a server speaks unasked: nothing that it could say there is waited for.
            return httpx2.Response(HTTPStatus.METHOD_NOT_ALLOWED, request=request)
        if request.method == "DELETE":
            request.extensions["timeout"] = httpx2.Timeout(GOODBYE_S).as_dict()
        try:
            response = await self._inner.handle_async_request(request)
        except httpx2.HTTPError as error:
            self._trouble()
            return _in_place_of_an_answer(request, f"it cannot be reached ({type(error).__name__})")
        if refused := _refusal(request, response):
            self._trouble()
            await response.aclose()
            return _in_place_of_an_answer(request, refused)
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        return httpx2.Response(
            response.status_code,
            headers=response.headers,
            stream=_BoundedStream(response.stream, self._limit),
            extensions=response.extensions,
            request=request,
        )

    async def aclose(self) -> None:
        """Close every connection."""
        await self._inner.aclose()


class _BoundedStream(httpx2.AsyncByteStream):
    def __init__(self, inner: httpx2.AsyncByteStream, limit: int) -> None:
        self._inner = inner
        self._left = limit

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for chunk in self._inner:
                self._left -= len(chunk)
                if self._left < 0:
                    raise CutOff("the answer is too long")
                yield chunk
        except httpx2.HTTPError as error:
            raise CutOff(f"the answer broke off ({type(error).__name__})") from error

    async def aclose(self) -> None:
        await self._inner.aclose()


def client_for(
    headers: Mapping[str, str], limit: int, silence_s: float, trouble: Callable[[], None]
) -> httpx2.AsyncClient:
    """The client of one server. `silence_s` bounds what no call waits for any more."""
    return httpx2.AsyncClient(
        transport=BoundedTransport(limit, trouble),
        # What is sent compressed could be far longer than what was counted.
        headers={**headers, "Accept-Encoding": "identity"},
        timeout=httpx2.Timeout(CONNECT_S, read=silence_s),
        trust_env=False,
        follow_redirects=False,
    )


def _refusal(request: httpx2.Request, response: httpx2.Response) -> str | None:
    """Why an answer is not taken as one. Errors that the server words itself, as JSON, are."""
    status = response.status_code
    if response.headers.get("content-encoding", "identity").lower() != "identity":
        return "its answer is compressed, which was not asked for"
    if HTTPStatus.MULTIPLE_CHOICES <= status < HTTPStatus.BAD_REQUEST:
        return f"it redirects elsewhere ({status}), which is not followed"
    if status == HTTPStatus.NOT_FOUND and _SESSION in request.headers:
        return "it does not know the session any more"
    worded = response.headers.get("content-type", "").lower().startswith("application/json")
    if status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
        return f"it refuses the credentials ({status})"
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR and not worded:
        return f"it answered {status}"
    return None


def _in_place_of_an_answer(request: httpx2.Request, why: str) -> httpx2.Response:
    error: dict[str, Any] = {"jsonrpc": "2.0", "id": None, "error": {"code": UNREACHABLE, "message": why}}
    return httpx2.Response(HTTPStatus.BAD_GATEWAY, json=error, request=request)
