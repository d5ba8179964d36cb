"""Odd requests, as bytes: of clients that are wrong, broken or unfriendly."""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from tests.fuzz import oddities
from tests.fuzz.tool_calls import odd_inputs
from tests.support.service import plan_of, task

PATIENCE_S = 40
"""For one answer; a client that never ends its request is sent away sooner."""
SILENCE_S = 4
MOST_READ = 8_000_000
PATHS: Sequence[str] = (
    "/v1/jobs", "/v1/runs", "/v1/runs/{}", "/v1/runs/{}/plan", "/v1/runs/{}/tasks", "/v1/runs/{}/tasks/t1",
    "/v1/runs/{}/events", "/v1/runs/{}/trace", "/v1/runs/{}/inputs/data.csv", "/v1/teams", "/v1/teams/general",
    "/v1/tools", "/livez", "/readyz", "/", "/docs", "/openapi.json", "/v1/runs/{}/cancel",
    "/v1/runs/{}/plan/revisions", "/v1/runs/{}/plan/approve", "/v1/runs/{}/plan/reject",
)  # fmt: skip
QUERIES: Sequence[str] = (
    "limit=1", "limit=0", "limit=1e3", "limit=999999999999999999999", "limit=1&limit=2", "after=1",
    "after=-1", "after=abc", "after=%00", "after=eyJhIjoxfQ", "status=failed", "status=FAILED", "state=failed",
    "team=general", "team=%F0%9F%92%A5", "types=run.queued", "types=x", "deltas=true", "deltas=2", "format=otlp",
    "dry_run=true", "dryrun=true", "include=content", "include=x", "revision=0", "a=" + "b" * 3_000, "%", "&&&=",
    "after=9999-12-31T23:59:59Z", "\u2028",
)  # fmt: skip
HEADERS: Sequence[str] = (
    "accept: text/event-stream", "accept: application/json", "accept: */*;q=0", "last-event-id: 5",
    "last-event-id: x", "last-event-id: -1", "last-event-id: 99999999999999999999", "prefer: wait=1",
    "prefer: wait=-1", "prefer: wait=1e9", "prefer: wait=1, wait=2", "if-none-match: *", 'if-none-match: W/"1"',
    "if-match: *", 'if-match: "1"',
    "idempotency-key: k", "idempotency-key: ", "idempotency-key: " + "k" * 300, "idempotency-key: é",
    "traceparent: 00-x", "content-encoding: gzip", "expect: 100-continue", "x-request-id: \x01",
    "cookie: " + "c" * 5_000, "host: evil.example", "range: bytes=0-1", "transfer-encoding: chunked",
    "content-length: -1", "content-length: 1e3", "connection: upgrade", "x: " + "y" * 90_000,
)  # fmt: skip
TYPES = (
    "application/json",
    "application/json",
    "application/json",
    "text/plain",
    "multipart/form-data; boundary=x",
    "",
    "application/json; charset=utf-16",
)


@dataclass(frozen=True, slots=True)
class Response:
    """What came back; `status` is 0 when the connection was closed without an answer, -1 when it was not."""

    status: int
    head: bytes
    body: bytes

    def fault(self) -> str | None:
        """What is wrong with it, whatever was asked."""
        if self.status < 0:
            return f"no end within {PATIENCE_S} s"
        if self.status >= 500 and self.status != 503:
            return f"status {self.status}: {self.body[:300]!r}"
        if b"Traceback" in self.body:
            return "a traceback went to the client"
        if self.status >= 400 and self.body and b"application/problem+json" in self.head.lower():
            problem, _ = json.JSONDecoder().raw_decode(_unchunked(self).decode())  # Another answer may stand behind it.
            return None if {"code", "status", "title"} <= problem.keys() else f"not a problem: {problem}"
        return None

    def run_id(self) -> str | None:
        """The id of the run that was accepted."""
        if self.status not in (200, 202) or b"/v1/runs/" not in self.head:
            return None
        told = json.loads(_unchunked(self))
        return str(told.get("id") or told["run_id"])


def _unchunked(response: Response) -> bytes:
    if b"transfer-encoding: chunked" not in response.head.lower():
        return response.body
    whole, rest = b"", response.body
    while rest:
        size, _, rest = rest.partition(b"\r\n")
        length = int(size, 16)
        whole, rest = whole + rest[:length], rest[length + 2 :]
    return whole


def good_job(chance: Random) -> dict[str, Any]:
    """A job with every field there is."""
    job: dict[str, Any] = {
        "objective": "Find out.", "team": "crew", "inputs": odd_inputs(chance), "approval": "none", "strategy": None,
        "priority": 1,
        "limits": {"tasks": 4, "timeout_s": 30, "tokens": 100_000, "cost_usd": "0.5", "concurrency": 2, "attempts": 2},
        "metadata": {"ticket": "T-1", "n": 1},
    }  # fmt: skip
    if chance.random() < 0.5:
        job["plan"] = plan_of(task("a", "analyst"), task("b", "writer", ["a"]))
    return job


def odd_request(chance: Random, run_id: str) -> bytes:
    """A request, mostly for a job, with something odd about it."""
    if chance.random() < 0.6:
        body = _body(chance)
        path, method = "/v1/jobs", "POST"
    else:
        path, method = (
            chance.choice(PATHS).format(_id(chance, run_id)),
            chance.choice(("GET", "GET", "GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "X")),
        )
        body = chance.choice((b"", b"", b"{}", b'{"reason": "\x00"}')) if method != "GET" else b""
    query = chance.choice(QUERIES) if chance.random() < 0.3 else ""
    kind = chance.choice(TYPES) if chance.random() < 0.2 else "application/json"
    lines = [f"{method} {path}{'?' if query else ''}{query} HTTP/1.{chance.choice('1110')}", "host: localhost"]
    lines += [f"content-type: {kind}", f"content-length: {len(body)}", "connection: close"]
    lines += chance.sample(HEADERS, chance.choice((0, 0, 0, 0, 1, 1, 3)))
    head = ("\r\n".join(lines) + "\r\n\r\n").encode("utf-8", "surrogatepass")
    return oddities.damaged(head, chance) + body if chance.random() < 0.08 else head + body


def _id(chance: Random, run_id: str) -> str:
    return chance.choice(
        (
            run_id,
            run_id,
            run_id,
            "run_0",
            "run_" + "f" * 32,
            "%00",
            "..",
            "x" * 3_000,
            run_id.upper(),
            "run_%F0%9F%92%A5",
        )
    )


def _body(chance: Random) -> bytes:
    job = good_job(chance)
    match chance.choice(("mutated", "mutated", "mutated", "damaged", "odd", "good", "good", "doubled", "deep", "wide")):
        case "mutated":
            return oddities.encoded(oddities.mutated(job, chance), chance)
        case "damaged":
            return oddities.damaged(oddities.encoded(job, chance), chance)
        case "odd":
            return oddities.encoded(oddities.value(chance), chance)
        case "doubled":
            return oddities.encoded(job, chance)[:-1] + b', "objective": "Another."}'
        case "deep":
            return b'{"objective": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"
        case "wide":
            return b'{"objective": "x", "metadata": {' + b",".join(b'"%d": 1' % n for n in range(60_000)) + b"}}"
        case _:
            return oddities.encoded(job, chance)


async def _first(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
    """The first bytes of the answer; who gets none for a while says that the request is over, whole or not."""
    first = asyncio.ensure_future(reader.read(MOST_READ))
    await asyncio.wait([first], timeout=SILENCE_S)
    if not first.done():
        writer.write_eof()
    return await first


async def answer_to(request: bytes, port: int) -> Response:
    """Send the bytes and read all that comes back; status -1 when it does not end in time."""
    try:
        async with asyncio.timeout(PATIENCE_S):
            read = await _read_from(request, port)
    except TimeoutError:
        return Response(-1, b"", b"")
    head, _, body = read.partition(b"\r\n\r\n")
    status = int(head.split(b" ")[1]) if head.startswith(b"HTTP/1.") else 0
    return Response(status, head, body)


async def _read_from(request: bytes, port: int) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    read = b""
    try:
        writer.write(request)
        await writer.drain()
        read = await _first(reader, writer)
        while more := await reader.read(MOST_READ):
            read += more if len(read) < MOST_READ else b""
    except ConnectionError:
        pass  # Sent away in the middle of what it had to say: what was answered counts.
    finally:
        writer.close()
    return read
