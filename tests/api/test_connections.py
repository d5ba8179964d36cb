"""What a connection may send, and how long it may take, on a true server."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any
from urllib.parse import urlsplit

import pytest
from starlette.types import ASGIApp, Receive, Scope, Send

from app.api import connections
from app.api.connections import (
    FRAMING,
    HEAD_BYTES,
    HEADER_BYTES,
    HEADERS_ALLOWED,
    LINE_BYTES,
    PIPELINED_ALLOWED,
    STRETCH_BYTES,
    STRETCH_SECONDS,
)
from app.api.server import Server, listening_socket, shown_address
from tests.api.serving import Api, served
from tests.support.waiting import until

BODY = json.dumps({"objective": "Find out."}).encode()
HEAD = b"POST /v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"


@dataclass(slots=True)
class Wire:
    """A connection on which a test says what it likes."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def say(self, *pieces: bytes) -> None:
        """Send pieces, each in packets of its own."""
        for piece in pieces:
            self.writer.write(piece)
            await self.writer.drain()

    async def answer(self) -> tuple[int, dict[str, Any]]:
        """Status and JSON body of the next answer."""
        head = await asyncio.wait_for(self.reader.readuntil(b"\r\n\r\n"), 10)
        lines = head.decode().split("\r\n")
        headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines[1:])}
        body = await self.reader.readexactly(int(headers["content-length"]))
        return int(lines[0].split()[1]), json.loads(body)

    async def end(self) -> bytes:
        """What still comes until the server ends the connection."""
        return await asyncio.wait_for(self.reader.read(), 15)


@asynccontextmanager
async def wire(address: str) -> AsyncIterator[Wire]:
    server = urlsplit(address)
    reader, writer = await asyncio.open_connection(server.hostname, server.port)
    yield Wire(reader, writer)
    writer.close()


def pieces(size: int) -> Iterator[bytes]:
    """A flood of so many bytes."""
    for _ in range(size // 16_384):
        yield b"a" * 16_384


@dataclass(slots=True)
class Serving:
    """A server without our application."""

    address: str
    close_overdue: Callable[[], None]


@asynccontextmanager
async def serving(application: ASGIApp) -> AsyncIterator[Serving]:
    up = asyncio.Event()
    with listening_socket("127.0.0.1", 0) as listener:
        server = Server(application, up=up.set, lifespan=False, goodbye_s=1)
        task = asyncio.create_task(server.serve([listener]))
        await asyncio.wait_for(up.wait(), 10)
        yield Serving(f"http://{shown_address(listener)}", server.close_overdue)
        server.should_exit = True
        await task


@pytest.fixture
async def hasty(monkeypatch: pytest.MonkeyPatch, api: Api) -> AsyncIterator[str]:
    """A server that waits for nobody."""
    for name in ("HEAD_SECONDS", "STRETCH_SECONDS", "LINGER_SECONDS", "HALF_CLOSED_SECONDS"):
        monkeypatch.setattr(connections, name, 0.3)
    async with served(api) as address:
        yield address


@pytest.mark.parametrize(
    ("head", "status", "code"),
    [
        (b"GET /livez?" + b"x" * LINE_BYTES + b" HTTP/1.1\r\n\r\n", 414, "target_too_long"),
        (b"GET /livez HTTP/1.1\r\nA: " + b"x" * HEADER_BYTES + b"\r\n\r\n", 431, "headers_too_large"),
        (b"GET /livez HTTP/1.1\r\n" + b"A: x\r\n" * (HEADERS_ALLOWED + 1) + b"\r\n", 431, "headers_too_large"),
        (b"GET /livez HTTP/1.1\r\n" + b"A: %b\r\n" % (b"x" * 9_000) * 8 + b"\r\n", 431, "headers_too_large"),
        (b"GET /livez HTTP/1.1\r\nA\r\n\r\n", 400, "request_malformed"),
        (b"\x16\x03\x01\x02\x00\x01", 400, "request_malformed"),
    ],
    ids=["target", "header", "number of headers", "headers", "no header", "tls"],
)
async def test_a_head_beyond_its_bounds_is_a_problem(address: str, head: bytes, status: int, code: str) -> None:
    async with wire(address) as client:
        await client.say(head)
        answered, problem = await client.answer()

        assert (answered, problem["status"], problem["code"]) == (status, status, code)
        assert problem["request_id"]
        assert await client.end() == b""


@pytest.mark.parametrize(
    ("start", "status"),
    [
        (b"GET /", 414),
        (b"GET / HTTP/1.1\r\nA: ", 431),
        (b"GET / HTTP/1.1\r\n", 431),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\n0\r\nA: ", 431),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\n1;a=", 431),
    ],
    ids=["target", "header", "header name", "trailer", "chunk extension"],
)
async def test_a_head_that_never_ends_is_refused_before_it_takes_room(address: str, start: bytes, status: int) -> None:
    async with wire(address) as client:
        await client.say(start, *pieces(HEAD_BYTES * 6))
        answered, _ = await client.answer()

    assert answered == status


async def test_bodies_in_the_smallest_chunks_are_taken(address: str) -> None:
    body = json.dumps({"objective": "x" * 20_000}).encode()
    chunks = b"".join(b"1\r\n%c\r\n" % byte for byte in body)
    assert len(chunks) > HEAD_BYTES
    assert len(chunks) < FRAMING * len(body)
    async with wire(address) as client:
        await client.say(HEAD + b"Transfer-Encoding: chunked\r\n\r\n", chunks, b"0\r\n\r\n")
        status, _ = await client.answer()

    assert status == 202


@pytest.mark.parametrize(
    "start",
    [b"", b"\r\n", b"GET /livez HTT", b"GET /livez HTTP/1.1\r\nHost: x\r\n", HEAD + b"Content-Length: 9\r\n\r\n{"],
    ids=["nothing", "line end", "half a line", "half a head", "half a body"],
)
async def test_a_request_that_does_not_come_in_time_is_ended(hasty: str, start: bytes) -> None:
    async with wire(hasty) as client:
        await client.say(start)
        said = await client.end()

    assert (b" 408 " in said) is bool(start.strip())


async def test_a_body_has_as_much_time_as_it_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    received, clock = 0, 1000.0
    monkeypatch.setattr(connections, "now", lambda: clock)

    async def swallow(scope: Scope, receive: Receive, send: Send) -> None:
        nonlocal received
        while (message := await receive())["type"] == "http.request":
            received += len(message["body"])

    def reached(size: int) -> bool:
        return received >= size

    async with serving(swallow) as server, wire(server.address) as client:
        await client.say(b"PUT / HTTP/1.1\r\nContent-Length: %d\r\n\r\n" % (9 * STRETCH_BYTES))
        for stretch in range(1, 4):
            await client.say(b"x" * STRETCH_BYTES)
            await until(partial(reached, stretch * STRETCH_BYTES))
            clock += STRETCH_SECONDS - 1
            server.close_overdue()
        await client.say(b"x" * (STRETCH_BYTES // 2))
        clock += 2
        server.close_overdue()
        status, problem = await client.answer()

    assert (status, problem["code"]) == (408, "request_timeout")
    assert received >= 3 * STRETCH_BYTES


async def test_a_client_that_waits_for_its_answer_is_not_hurried(hasty: str, api: Api) -> None:
    run_id = await api.post()
    head = f"GET /v1/runs/{run_id} HTTP/1.1\r\nPrefer: wait=3\r\n\r\n".encode()
    async with wire(hasty) as client:
        await client.say(b"GET /livez HTTP/1.1\r\n\r\n" + head)
        first, second = await client.answer(), await client.answer()

    assert (first[0], second[0]) == (200, 200)
    assert second[1]["id"] == run_id


@pytest.mark.parametrize(
    ("framing", "body"),
    [
        (b"Content-Length: %d" % len(BODY), BODY),
        (b"Transfer-Encoding: chunked", b"%x\r\n%b\r\n0\r\n\r\n" % (len(BODY), BODY)),
    ],
    ids=["length", "chunks"],
)
async def test_an_offer_of_another_protocol_is_passed_over(address: str, framing: bytes, body: bytes) -> None:
    offer = b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAEAAEAA\r\n"
    request = HEAD + offer + framing + b"\r\n\r\n" + body
    async with wire(address) as client:
        await client.say(request + request[:100], request[100:] + b"GET /livez HTTP/1.1\r\n" + offer + b"\r\n")

        assert [(await client.answer())[0] for _ in range(3)] == [202, 202, 200]


async def test_fields_behind_a_body_are_no_headers(address: str) -> None:
    trailer = b"Content-Type: text/plain\r\nIdempotency-Key: \x80\r\nX-Request-Id: theirs\r\n"
    chunks = b"%x\r\n%b\r\n0\r\n" % (len(BODY), BODY)
    async with wire(address) as client:
        await client.say(HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + chunks + trailer + b"\r\n")
        status, _ = await client.answer()

    assert status == 202


async def test_beyond_the_bound_a_connection_is_told_to_come_back(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "connections_allowed", lambda: 1)
    async with wire(address) as first, wire(address) as second:
        status, problem = await second.answer()
        await first.say(b"GET /livez HTTP/1.1\r\n\r\n")

        assert (status, problem["code"]) == (503, "too_many_connections")
        assert (await first.answer())[0] == 200


async def test_a_line_of_waiting_requests_has_an_end(address: str) -> None:
    async with wire(address) as client:
        await client.say(b"GET /livez HTTP/1.1\r\n\r\n" * (PIPELINED_ALLOWED + 10))
        answers = [await client.answer() for _ in range(PIPELINED_ALLOWED + 2)]

        assert [status for status, _ in answers] == [200] * (PIPELINED_ALLOWED + 1) + [400]
        assert answers[-1][1]["code"] == "too_many_pipelined"
        assert await client.end() == b""


@pytest.mark.parametrize(
    ("behind", "status"),
    [(b"xx", 400), (b"GET /" + b"x" * 9_000, 414), (HEAD + b"Transfer-Encoding: chunked\r\n\r\nx", 400)],
    ids=["garbage", "long target", "chunk"],
)
async def test_what_is_refused_gets_its_answer_behind_those_to_what_came_before(
    address: str, behind: bytes, status: int
) -> None:
    job = HEAD + b"Content-Length: %d\r\n\r\n" % len(BODY) + BODY
    async with wire(address) as client:
        await client.say(job + job + behind)

        assert [(await client.answer())[0] for _ in range(3)] == [202, 202, status]
        assert await client.end() == b""


async def test_a_stream_ends_with_its_connection_whatever_waits_behind_it(address: str, api: Api) -> None:
    run_id = await api.post()
    stream = f"GET /v1/runs/{run_id}/events HTTP/1.1\r\nAccept: text/event-stream\r\n\r\n".encode()
    async with wire(address) as client:
        await client.say(stream + b"GET /livez HTTP/1.1\r\n\r\n")
        await api.until_heard_by(1)

    await api.until_heard_by(0)


async def test_a_client_that_closes_its_half_gets_the_answers_to_all_that_it_asked(address: str) -> None:
    job = HEAD + b"Content-Length: %d\r\n\r\n" % len(BODY) + BODY
    async with wire(address) as client:
        await client.say(job + job + b"GET /livez HTTP/1.1\r\n\r\n")
        client.writer.write_eof()

        assert [(await client.answer())[0] for _ in range(3)] == [202, 202, 200]
        assert await client.end() == b""


async def test_a_client_that_has_closed_its_half_is_not_served_for_long(hasty: str, api: Api) -> None:
    run_id = await api.post()
    async with wire(hasty) as client:
        await client.say(f"GET /v1/runs/{run_id}/events HTTP/1.1\r\nAccept: text/event-stream\r\n\r\n".encode())
        client.writer.write_eof()
        await api.until_heard_by(1)
        await api.until_heard_by(0)

        assert b"here it begins" in await client.end()


async def test_half_a_request_of_a_client_that_has_closed_its_half_ends_the_connection(address: str) -> None:
    async with wire(address) as client:
        await client.say(HEAD + b"Content-Length: 9\r\n\r\n{")
        client.writer.write_eof()

        assert await client.end() == b""


async def test_a_server_on_every_address_serves_both_families() -> None:
    with listening_socket("::", 0) as listener:
        for family, host in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
            with socket.socket(family) as client:
                client.connect((host, listener.getsockname()[1]))
