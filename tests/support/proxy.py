"""A network between a replica and Postgres, whose connections can be lost, go silent, or find nobody at home."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Literal
from urllib.parse import parse_qs, urlsplit, urlunsplit

CHUNK_BYTES = 65_536


@dataclass(eq=False, slots=True)
class Link:
    """One connection through the proxy."""

    client: asyncio.StreamWriter
    server: asyncio.StreamWriter | None = None
    listens: bool = False
    """Whether the client has said LISTEN."""
    flowing: asyncio.Event = field(default_factory=asyncio.Event)

    def drop(self) -> None:
        """Close both ends."""
        self.client.close()
        if self.server is not None:
            self.server.close()


def listening(link: Link) -> bool:
    """Links that wait for notices."""
    return link.listens


class Proxy:
    """Listens on TCP and passes everything on to the Unix socket of a Postgres server."""

    def __init__(self, socket_path: str) -> None:
        self.url = ""
        self.newcomers: Literal["pass", "refuse", "swallow"] = "pass"
        """What becomes of new connections: they go through, are closed, or are never answered."""
        self.attempts: list[float] = []
        """When clients have tried to connect, on the monotonic clock."""
        self.links: set[Link] = set()
        self._socket_path = socket_path
        self._serving: set[asyncio.Task[None]] = set()

    def drop(self, which: Callable[[Link], bool] = lambda _: True) -> int:
        """Lose connections; how many."""
        chosen = [link for link in self.links if which(link)]
        for link in chosen:
            link.drop()
        return len(chosen)

    def silence(self, which: Callable[[Link], bool] = lambda _: True) -> int:
        """Hold everything back on connections, which stay open; how many."""
        chosen = [link for link in self.links if which(link)]
        for link in chosen:
            link.flowing.clear()
        return len(chosen)

    def resume(self) -> None:
        """Pass on what was held back, and let newcomers through."""
        self.newcomers = "pass"
        for link in self.links:
            link.flowing.set()

    def close(self) -> None:
        """Lose everything."""
        for task in self._serving:
            task.cancel()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection."""
        task = asyncio.current_task()
        assert task is not None
        self._serving.add(task)
        task.add_done_callback(self._serving.discard)
        self.attempts.append(time.monotonic())
        link = Link(writer)
        self.links.add(link)
        try:
            with suppress(OSError):
                await self._pass_on(link, reader)
        except asyncio.CancelledError:
            return  # The server would take it for a fault.
        finally:
            self.links.discard(link)
            link.drop()

    async def _pass_on(self, link: Link, from_client: asyncio.StreamReader) -> None:
        if self.newcomers == "refuse":
            return
        if self.newcomers == "pass":
            link.flowing.set()
        await link.flowing.wait()
        from_server, link.server = await asyncio.open_unix_connection(self._socket_path)
        pumps = {
            asyncio.create_task(_pump(link, from_client, link.server, towards_server=True)),
            asyncio.create_task(_pump(link, from_server, link.client, towards_server=False)),
        }
        try:
            await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for pump in pumps:
                pump.cancel()
            await asyncio.wait(pumps)


async def _pump(link: Link, source: asyncio.StreamReader, sink: asyncio.StreamWriter, *, towards_server: bool) -> None:
    with suppress(OSError):
        while chunk := await source.read(CHUNK_BYTES):
            link.listens = link.listens or (towards_server and b"LISTEN " in chunk)
            await link.flowing.wait()
            sink.write(chunk)
            await sink.drain()


@asynccontextmanager
async def proxied(database_url: str) -> AsyncIterator[Proxy]:
    """A proxy before the database at `database_url`, whose server listens on a Unix socket."""
    parts = urlsplit(database_url)
    where = parse_qs(parts.query)
    proxy = Proxy(f"{where['host'][0]}/.s.PGSQL.{where['port'][0]}")
    server = await asyncio.start_server(proxy.serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    query = f"host=127.0.0.1&port={port}&sslmode=disable&gssencmode=disable"
    proxy.url = urlunsplit(parts._replace(query=query))
    try:
        yield proxy
    finally:
        server.close()
        proxy.close()
        await server.wait_closed()
