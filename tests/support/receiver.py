"""A receiver of webhooks: a plain server on this machine that does as it is told and keeps what it was sent."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from standardwebhooks import Webhook

from tests.support.waiting import until

SECRETS_KEY = "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="
"""A key under which secrets may be kept."""

Reply = Callable[[asyncio.StreamWriter], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Told:
    """One request."""

    headers: dict[str, str]
    body: bytes

    @property
    def id(self) -> str:
        return self.headers["webhook-id"]

    def read_with(self, secret: str) -> Any:
        """What it says, if the secret has signed it. Raises `WebhookVerificationError`."""
        return Webhook(secret).verify(self.body, self.headers)


def status(number: int, *headers: str) -> Reply:
    """Answers with a status and nothing else."""

    async def reply(writer: asyncio.StreamWriter) -> None:
        lines = [f"HTTP/1.1 {number} As told", "content-length: 0", *headers, "", ""]
        writer.write("\r\n".join(lines).encode())
        await writer.drain()

    return reply


async def silence(writer: asyncio.StreamWriter) -> None:
    """Never answers."""
    await asyncio.Event().wait()


async def endless(writer: asyncio.StreamWriter) -> None:
    """Answers that all is well, with a body of a gigabyte."""
    writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 1000000000\r\n\r\n")
    with suppress(ConnectionError):
        for _ in range(1_000):
            writer.write(b"x" * 1_000_000)
            await writer.drain()


@dataclass(slots=True)
class Receiver:
    """The receiver: `then` says what it does next; otherwise all is well."""

    port: int = 0
    told: list[Told] = field(default_factory=list)
    then: list[Reply] = field(default_factory=list)

    @property
    def place(self) -> str:
        """As the setting names it."""
        return f"127.0.0.1:{self.port}"

    @property
    def url(self) -> str:
        return f"http://{self.place}/hook"

    @property
    def settings(self) -> dict[str, Any]:
        """Settings of a service that may tell it."""
        return {"secrets_key": SECRETS_KEY, "webhook_hosts": self.place, "webhook_timeout_s": 2}

    async def heard(self, count: int, timeout_s: float = 20) -> list[Told]:
        """What it was told, once it is so much."""
        await until(lambda: len(self.told) >= count, timeout_s)
        return self.told

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            head = (await reader.readuntil(b"\r\n\r\n")).decode().splitlines()[1:]
            headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head) if name}
            body = await reader.readexactly(int(headers["content-length"]))
            reply = self.then.pop(0) if self.then else status(204)
            self.told.append(Told(headers, body))
            await reply(writer)
        writer.close()


@asynccontextmanager
async def receiving() -> AsyncIterator[Receiver]:
    """A receiver at work."""
    receiver, tasks = Receiver(), set[asyncio.Task[None]]()

    def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        tasks.add(asyncio.create_task(receiver.answer(reader, writer)))

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    receiver.port = server.sockets[0].getsockname()[1]
    try:
        yield receiver
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def said(told: Told) -> Any:
    """The body of a request, whoever signed it."""
    return json.loads(told.body)
