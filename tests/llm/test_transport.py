"""What stands between the SDK and the network: compression, redirects, proxies, headers of any kind."""

import asyncio
import gzip
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from app.domain.errors import ProviderUnavailable, RateLimited, Transient
from app.llm.claude import Claude
from tests.llm.asking import claude_at, failure_of, request
from tests.support.stub_provider import StubProvider

WHOLE = json.dumps(
    {
        "model": "claude",
        "content": [{"type": "text", "text": "4"}],
        "stop_reason": "end_turn",
        "usage": {"input_tokens": 3, "output_tokens": 1},
    }
).encode()
REFUSAL = json.dumps({"type": "error", "error": {"type": "rate_limit_error", "message": "slow down"}}).encode()


def response(status: int, body: bytes, *headers: bytes) -> bytes:
    lines = [b"HTTP/1.1 %d Said" % status, b"content-length: %d" % len(body), *headers]
    return b"\r\n".join([*lines, b"", body])


@asynccontextmanager
async def claude_hearing(*said: bytes) -> AsyncIterator[Claude]:
    """A client of a server that answers its requests with these bytes, one after the other."""
    answers = iter(said)

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        _, _, length = head.lower().partition(b"content-length:")
        await reader.readexactly(int(length.split()[0]))
        writer.write(next(answers))
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        claude = claude_at("http://{}:{}".format(*server.sockets[0].getsockname()))
        yield claude
        await claude.close()


async def test_a_compressed_reply_is_read() -> None:
    async with claude_hearing(response(200, gzip.compress(WHOLE), b"content-encoding: gzip")) as claude:
        assert (await claude.reply(request())).content == [{"type": "text", "text": "4"}]


@pytest.mark.parametrize("encoding", [b"gzip", b"deflate", b"br", b"zstd"])
@pytest.mark.parametrize("status", [200, 429])
async def test_what_only_claims_to_be_compressed_is_a_passing_failure(status: int, encoding: bytes) -> None:
    async with claude_hearing(response(status, b"none of it " * 9, b"content-encoding: " + encoding)) as claude:
        assert isinstance(await failure_of(claude), Transient)


async def test_an_error_is_read_whatever_its_headers_hold() -> None:
    headers = [b"content-encoding: gzip", b"retry-after: 7", b"x-note: \xff\xfe", b"request-id: req_1"]
    async with claude_hearing(response(429, gzip.compress(REFUSAL), *headers)) as claude:
        failure = await failure_of(claude)
    assert isinstance(failure, RateLimited)
    assert (failure.message, failure.retry_after_s, failure.request_id) == ("slow down", 7, "req_1")


async def test_a_redirect_is_followed_with_the_request() -> None:
    moved = response(307, b"", b"location: /elsewhere", b"connection: close")
    async with claude_hearing(moved, response(200, WHOLE)) as claude:
        assert (await claude.reply(request())).content == [{"type": "text", "text": "4"}]


async def test_redirects_without_an_end_are_a_failure() -> None:
    moved = response(307, b"", b"location: /v1/messages", b"connection: close")
    async with claude_hearing(*[moved] * 20) as claude:
        assert isinstance(await failure_of(claude), ProviderUnavailable)


async def test_the_proxy_of_the_environment_is_used(stub: StubProvider, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", stub.url)
    claude = claude_at("http://provider.invalid")
    await claude.reply(request())
    await claude.close()
    assert stub.log[0].body["model"] == "claude-haiku-5-5"


async def test_hosts_that_the_environment_exempts_are_asked_directly(
    stub: StubProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    claude = claude_at(stub.url)
    await claude.reply(request())
    await claude.close()
    assert len(stub.log) == 1
