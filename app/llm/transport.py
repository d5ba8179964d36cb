"""What the SDK sends its requests through: aiohttp, and nothing around it that is done a second time.

The SDK puts a request together (address, key, headers) and hands it to an `httpx2.AsyncClient`. That would merge the
headers again, add what aiohttp adds anyway, and wrap the response into four iterators, each of which runs for every
chunk of a stream. Together that was over a quarter of the client's CPU for a call, so this client leaves it out.
"""

import ssl
from collections.abc import AsyncGenerator, Mapping
from functools import cache
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp
import httpx2

from app.llm.wire import CHUNK, start_of

KEEP_IDLE_S = 30
LARGEST_ERROR = 64 * 1024
"""Bytes that are read of an error's body."""


class Incoming(httpx2.AsyncByteStream):
    """A response as it comes in: its body, decompressed. Errors are those of aiohttp."""

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self._response = response
        self.headers: Mapping[str, str] = response.headers

    async def __aiter__(self) -> AsyncGenerator[bytes, None]:
        content = self._response.content
        while chunk := await content.read(CHUNK):
            yield chunk

    @property
    def is_read(self) -> bool:
        """Whether its end has come and nothing of it is left, so that the connection is free for others."""
        return self._response.content.at_eof()

    async def aclose(self) -> None:
        """Free the connection, or cut it when there is more to come."""
        self._response.release()


class Transport(httpx2.AsyncBaseTransport):
    """Sends requests to one provider. Proxies are those of the environment; redirects are followed."""

    def __init__(self, url: str, timeout: httpx2.Timeout, connections: int) -> None:
        self._proxy = _proxy_to(url)
        self._timeout = aiohttp.ClientTimeout(sock_connect=timeout.connect, sock_read=timeout.read)
        self._connections = connections
        self._opened: aiohttp.ClientSession | None = None

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """The provider's response: an error with the start of its body, anything else to be read as it comes in."""
        headers = [(name.decode(), value.decode()) for name, value in request.headers.raw]
        response = await self._session().request(
            request.method, str(request.url), headers=headers, data=request.read(), timeout=self._timeout
        )
        if response.status < 400:
            incoming = Incoming(response)
            return httpx2.Response(response.status, headers=response.raw_headers, stream=incoming, request=request)
        try:
            body = await start_of(Incoming(response), LARGEST_ERROR)
        finally:
            response.release()
        told = [(name, value) for name, value in response.raw_headers if not name.lower().startswith(b"content-")]
        return httpx2.Response(response.status, headers=told, content=body, request=request)

    async def aclose(self) -> None:
        """Let go of connections."""
        if self._opened is not None:
            await self._opened.close()

    def _session(self) -> aiohttp.ClientSession:
        """Opened by the first request: only then is there an event loop to belong to."""
        if self._opened is None:
            connector = aiohttp.TCPConnector(ssl=_tls(), limit=self._connections, keepalive_timeout=KEEP_IDLE_S)
            self._opened = aiohttp.ClientSession(connector=connector, proxy=self._proxy)
        return self._opened


class Client(httpx2.AsyncClient):
    """The client that the SDK asks to build its requests and to send them."""

    def __init__(self, transport: Transport) -> None:
        super().__init__(transport=transport, trust_env=False)
        self._sends_through = transport

    def build_request(self, method: str, url: httpx2.URL | str, **given: Any) -> httpx2.Request:
        """The request exactly as the SDK gives it."""
        return httpx2.Request(method, url, headers=given["headers"], stream=httpx2.ByteStream(given["content"]))

    async def send(self, request: httpx2.Request, **_: Any) -> httpx2.Response:
        """Send it at once: the key is in its headers, redirects and cookies are aiohttp's."""
        return await self._sends_through.handle_async_request(request)


@cache
def _tls() -> ssl.SSLContext:
    """How certificates are checked, the same for everybody: to read the trusted ones takes 20 ms."""
    return httpx2.create_ssl_context()


def _proxy_to(url: str) -> str | None:
    """The proxy that the environment names for this address."""
    address = urlsplit(url)
    if proxy_bypass(address.hostname or ""):
        return None
    proxies = getproxies()
    return proxies.get(address.scheme) or proxies.get("all")
