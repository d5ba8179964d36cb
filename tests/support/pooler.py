"""A pooler in transaction mode before Postgres: clients have a session of the server for a transaction at a time.

It knows just enough of the wire protocol: who says hello is told what the server said at its own start, and what a
client sends then goes to the one session there is, until the server is ready for the next transaction.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

import psycopg

_SSL_REQUESTS = (80_877_103, 80_877_104)
_UNUSED = b"options"


@dataclass(slots=True)
class _Session:
    """The session of the server that all clients share."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    greeting: bytes
    free: asyncio.Lock = field(default_factory=asyncio.Lock)


async def _message(reader: asyncio.StreamReader) -> bytes:
    head = await reader.readexactly(5)
    return head + await reader.readexactly(int.from_bytes(head[1:], "big") - 4)


async def _until_ready(reader: asyncio.StreamReader) -> tuple[bytes, bool]:
    """What the server says until it is ready; whether a transaction goes on."""
    said = b""
    while True:
        message = await _message(reader)
        said += message
        if message[:1] == b"Z":
            return said, message[5:6] != b"I"


async def _startup(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
    while True:
        size = int.from_bytes(await reader.readexactly(4), "big")
        body = await reader.readexactly(size - 4)
        if int.from_bytes(body[:4], "big") not in _SSL_REQUESTS:
            return size.to_bytes(4, "big") + body
        writer.write(b"N")


async def _asked(reader: asyncio.StreamReader) -> bytes:
    """What a client says until it waits for the server; empty when it leaves."""
    said = b""
    while True:
        message = await _message(reader)
        if message[:1] == b"X":
            return b""
        said += message
        if message[:1] in b"QS":
            return said


async def _serve(session: _Session, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    hello = await _startup(reader, writer)
    if _UNUSED in hello:
        text = b"SFATAL\0C08P01\0Munsupported startup parameter: options\0\0"
        writer.write(b"E" + (len(text) + 4).to_bytes(4, "big") + text)
        return
    writer.write(session.greeting)
    while asked := await _asked(reader):
        async with session.free:
            goes_on = True
            while goes_on and asked:
                session.writer.write(asked)
                answer, goes_on = await _until_ready(session.reader)
                writer.write(answer)
                asked = await _asked(reader) if goes_on else b""


@asynccontextmanager
async def transaction_pooler(database_url: str) -> AsyncIterator[str]:
    """The URL of a pooler before the database at `database_url`, whose server listens on a Unix socket."""
    there = psycopg.conninfo.conninfo_to_dict(database_url)
    reader, writer = await asyncio.open_unix_connection(f"{there['host']}/.s.PGSQL.{there['port']}")
    names = f"user\0{there['user']}\0database\0{there['dbname']}\0\0".encode()
    writer.write((len(names) + 8).to_bytes(4, "big") + (3 << 16).to_bytes(4, "big") + names)
    greeting, _ = await _until_ready(reader)
    session = _Session(reader, writer, greeting)

    async def serve(from_client: asyncio.StreamReader, to_client: asyncio.StreamWriter) -> None:
        with suppress(OSError, EOFError, asyncio.CancelledError):
            await _serve(session, from_client, to_client)
        to_client.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    try:
        yield f"postgresql://{there['user']}@127.0.0.1:{port}/{there['dbname']}?sslmode=disable&gssencmode=disable"
    finally:
        server.close()
        writer.close()
