"""A small web server whose every answer is given byte by byte by the test."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Reply:
    """What the server answers; `body_repeated` times the body, streamed without a length."""

    body: bytes = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=lambda: {"Content-Type": "text/html; charset=utf-8"})
    body_repeated: int = 1


@dataclass
class Site:
    """A running server: its answers by path, and what reached it."""

    host: str
    port: int = 0
    replies: dict[str, Reply] = field(default_factory=dict)
    connections: int = 0
    requests: list[str] = field(default_factory=list)
    """Request heads."""
    bytes_sent: int = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one request, then close."""
        self.connections += 1
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            self.requests.append(head)
            await self._answer(self.replies.get(head.split()[1], Reply(b"nothing here", status=404)), writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    async def _answer(self, reply: Reply, writer: asyncio.StreamWriter) -> None:
        headers = "".join(f"{name}: {value}\r\n" for name, value in reply.headers.items())
        writer.write(f"HTTP/1.1 {reply.status} X\r\n{headers}Connection: close\r\n\r\n".encode("latin-1"))
        for _ in range(reply.body_repeated):
            writer.write(reply.body)
            await writer.drain()
            self.bytes_sent += len(reply.body)


@asynccontextmanager
async def open_site(host: str) -> AsyncIterator[Site]:
    """A server on a free port of `host`."""
    site = Site(host)
    server = await asyncio.start_server(site.serve, host, 0)
    site.port = server.sockets[0].getsockname()[1]
    async with server:
        yield site
