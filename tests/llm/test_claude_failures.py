"""What the Claude client makes of refusals, faults of the wire, and silence."""

import json
import socket
from decimal import Decimal
from typing import Any

import pytest

from app.domain.errors import (
    AccountProblem,
    ContextExceeded,
    ModelError,
    ProviderUnavailable,
    RateLimited,
    RequestRejected,
    StreamIncomplete,
)
from app.domain.usage import Usage
from app.llm.claude import Claude
from tests.support.model_calls import claude_at, failure_of, ignored, request
from tests.support.stub_answers import (
    Answer,
    cut,
    error_event,
    fault,
    low_credit,
    overloaded,
    prompt_too_long,
    rate_limited,
    request_too_large,
    reset,
    server_error,
    text,
    unauthorized,
)
from tests.support.stub_provider import StubProvider

NOTHING_BILLED = Usage(llm_calls=1)

NATIVE_OVERFLOW = '{"error": {"code": 400, "type": "exceed_context_size_error", "message": "the request exceeds"}}'
REFUSALS: dict[str, tuple[Answer, type[ModelError], str]] = {
    "429": (rate_limited(), RateLimited, "rate_limited"),
    "529": (overloaded(), ProviderUnavailable, "provider_unavailable"),
    "500": (server_error(), ProviderUnavailable, "provider_unavailable"),
    "503": (fault(503, "api_error", "down"), ProviderUnavailable, "provider_unavailable"),
    "408": (fault(408, "timeout_error", "slow"), ProviderUnavailable, "provider_unavailable"),
    "409": (fault(409, "conflict_error", "busy"), ProviderUnavailable, "provider_unavailable"),
    "prompt too long": (prompt_too_long(), ContextExceeded, "context_exceeded"),
    "413": (request_too_large(), ContextExceeded, "context_exceeded"),
    "low credit": (low_credit(), AccountProblem, "provider_billing"),
    "402": (fault(402, "billing_error", "unpaid"), AccountProblem, "provider_billing"),
    "401": (unauthorized(), AccountProblem, "provider_auth"),
    "403": (fault(403, "permission_error", "no access"), AccountProblem, "provider_auth"),
    "404": (fault(404, "not_found_error", "model: nope"), RequestRejected, "request_rejected"),
    "400": (fault(400, "invalid_request_error", "max_tokens: too high"), RequestRejected, "request_rejected"),
    "unknown type": (fault(422, "unheard_of_error", "?"), RequestRejected, "request_rejected"),
    "plain text": (Answer(status=500, raw_body="Internal Server Error"), ProviderUnavailable, "provider_unavailable"),
    "no envelope": (Answer(status=400, raw_body=NATIVE_OVERFLOW), ContextExceeded, "context_exceeded"),
}


@pytest.mark.parametrize("listener", [None, ignored], ids=["whole", "streamed"])
@pytest.mark.parametrize("name", REFUSALS)
async def test_a_refusal_is_sent_once_sorted_and_free(
    claude: Claude, stub: StubProvider, name: str, listener: Any
) -> None:
    answer, kind, code = REFUSALS[name]
    stub.on("work", answer)
    failure = await failure_of(claude, on_text=listener)
    assert (type(failure), failure.code) == (kind, code)
    assert failure.usage == NOTHING_BILLED
    assert failure.request_id == "req_000001"
    assert len(stub.log) == 1


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("overloaded_error", ProviderUnavailable),
        ("api_error", ProviderUnavailable),
        ("rate_limit_error", RateLimited),
        ("invalid_request_error", RequestRejected),
        ("billing_error", AccountProblem),
        ("unheard_of_error", ProviderUnavailable),
    ],
)
async def test_an_error_inside_a_stream_is_sorted_by_its_type(
    claude: Claude, stub: StubProvider, kind: str, expected: type[ModelError]
) -> None:
    stub.on("work", error_event(kind, after="par"))
    assert type(await failure_of(claude, on_text=ignored)) is expected


async def test_an_overload_is_the_same_before_content_after_content_and_as_a_status(
    claude: Claude, stub: StubProvider
) -> None:
    replies = [error_event("overloaded_error"), error_event("overloaded_error", after="par"), overloaded()]
    stub.on("work", replies=[*replies, text("done")])
    codes = [(await failure_of(claude, on_text=ignored)).code for _ in replies]
    reply = await claude.reply(request(on_text=ignored))
    assert codes == ["provider_unavailable"] * 3
    assert reply.content == [{"type": "text", "text": "done"}]


@pytest.mark.parametrize("name", ["event: error\n", ""], ids=["named", "unnamed"])
async def test_an_error_event_without_its_envelope_is_an_error_too(
    claude: Claude, stub: StubProvider, name: str
) -> None:
    stub.on("work", Answer(raw_stream=name + 'data: {"error": {"type": "rate_limit_error", "message": "x"}}\n\n'))
    assert type(await failure_of(claude, on_text=ignored)) is RateLimited


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7),
        ({"retry-after": "9", "retry-after-ms": "250"}, 0.25),
        ({"retry-after": "soon"}, None),
        ({}, None),
    ],
)
@pytest.mark.parametrize("status", [429, 529])
async def test_the_wait_that_the_provider_asks_for_is_passed_on(
    claude: Claude, stub: StubProvider, status: int, headers: dict[str, str], seconds: float | None
) -> None:
    stub.on("work", rate_limited(headers=headers) if status == 429 else overloaded(headers=headers))
    failure = await failure_of(claude)
    assert isinstance(failure, RateLimited | ProviderUnavailable)
    assert failure.retry_after_s == seconds


async def test_after_a_refusal_with_a_wait_the_model_is_left_alone(claude: Claude, stub: StubProvider) -> None:
    stub.on("work", replies=[rate_limited("30"), text("other model")])
    await failure_of(claude)
    refused = await failure_of(claude, timeout_s=5)
    other = await claude.reply(request(model="deep"))
    assert isinstance(refused, RateLimited)
    assert refused.retry_after_s == pytest.approx(30, abs=2)
    assert refused.usage == Usage()
    assert other.content[0]["text"] == "other model"
    assert len(stub.log) == 2


async def test_a_model_without_remaining_requests_waits_for_the_reset(claude: Claude, stub: StubProvider) -> None:
    limits = {
        "anthropic-ratelimit-requests-remaining": "0",
        "anthropic-ratelimit-requests-reset": "2999-01-01T00:00:00Z",
    }
    stub.on("work", replies=[text("last one", headers=limits), text("too early")])
    await claude.reply(request())
    assert isinstance(await failure_of(claude, timeout_s=5), RateLimited)
    assert len(stub.log) == 1


@pytest.mark.parametrize("events", range(1, 7))
@pytest.mark.parametrize("cleanly", [True, False], ids=["clean end", "torn down"])
async def test_a_stream_that_ends_before_its_stop_reason_is_incomplete(
    claude: Claude, stub: StubProvider, events: int, cleanly: bool
) -> None:
    stub.on("work", cut(text("abcdef"), events=events, cleanly=cleanly))
    failure = await failure_of(claude, on_text=ignored)
    assert (type(failure), failure.code) == (StreamIncomplete, "provider_stream_incomplete")
    assert failure.usage.llm_calls == 1
    assert failure.usage.estimated


@pytest.mark.parametrize("listener", [None, ignored], ids=["whole", "streamed"])
async def test_a_body_that_breaks_off_is_incomplete(claude: Claude, stub: StubProvider, listener: Any) -> None:
    stub.on("work", cut(text("abcdef"), after_bytes=20))
    failure = await failure_of(claude, on_text=listener)
    assert isinstance(failure, StreamIncomplete)
    assert failure.usage.estimated


async def test_a_broken_stream_costs_what_was_counted_and_written(claude: Claude, stub: StubProvider) -> None:
    usage = {"input_tokens": 10_000, "output_tokens": 1}
    stub.on("work", cut(text("x" * 4_000, start_usage=usage, pieces=1), events=4))
    failure = await failure_of(claude, model="claude-sonnet-5-5", on_text=ignored)
    assert (failure.usage.input_tokens, failure.usage.output_tokens) == (10_000, 1_000)
    assert failure.usage.cost_usd == Decimal("0.03")
    assert failure.usage.estimated


async def test_an_error_after_words_that_nobody_has_counted_costs_what_was_written(
    claude: Claude, stub: StubProvider
) -> None:
    events: list[dict[str, Any]] = [
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "x" * 400}},
        {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}},
    ]
    stub.on("work", Answer(raw_stream="".join(f"data: {json.dumps(event)}\n\n" for event in events)))
    failure = await failure_of(claude)
    assert failure.code == "provider_unavailable"
    assert (failure.usage.output_tokens, failure.usage.estimated) == (100, True)
    assert failure.usage.input_tokens > 0


@pytest.mark.parametrize("listener", [None, ignored], ids=["whole", "streamed"])
async def test_a_reset_connection_is_unavailable_and_may_have_been_billed(
    claude: Claude, stub: StubProvider, listener: Any
) -> None:
    stub.on("work", reset())
    failure = await failure_of(claude, on_text=listener)
    assert isinstance(failure, ProviderUnavailable)
    assert failure.usage.estimated
    assert failure.usage.cost_usd > 0


async def test_a_refused_connection_is_unavailable_and_free() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        claude = claude_at(f"http://127.0.0.1:{unused.getsockname()[1]}")
        failure = await failure_of(claude)
        await claude.close()
    assert isinstance(failure, ProviderUnavailable)
    assert failure.usage == NOTHING_BILLED


MALFORMED = {
    "not json": "<html>Welcome to the proxy</html>",
    "not an object": "[1, 2]",
    "another shape": '{"choices": []}',
    "content of strings": '{"content": ["x"], "stop_reason": "end_turn", "usage": {}}',
    "a call without a name": '{"content": [{"type": "tool_use", "id": "x"}], "stop_reason": "tool_use"}',
    "nested too deeply": '{"content": [{"type": "x", "y": ' + "[" * 5_000 + "]" * 5_000 + '}], "stop_reason": "x"}',
}


@pytest.mark.parametrize("name", MALFORMED)
async def test_a_body_that_is_no_reply_is_unavailable(claude: Claude, stub: StubProvider, name: str) -> None:
    stub.on("work", Answer(raw_body=MALFORMED[name]))
    assert isinstance(await failure_of(claude), ProviderUnavailable)


ORPHAN_DELTA = '{"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta"}}'


@pytest.mark.parametrize("line", ["{", "[]", ORPHAN_DELTA], ids=["not json", "not an object", "a delta of nothing"])
async def test_a_stream_that_is_no_reply_is_unavailable(claude: Claude, stub: StubProvider, line: str) -> None:
    stub.on("work", Answer(raw_stream=f"event: x\ndata: {line}\n\n"))
    assert isinstance(await failure_of(claude, on_text=ignored), ProviderUnavailable)


async def test_a_listener_that_fails_is_no_failure_of_the_provider(claude: Claude, stub: StubProvider) -> None:
    def broken(_: str) -> None:
        raise KeyError("ours")

    with pytest.raises(KeyError, match="ours"):
        await claude.reply(request(on_text=broken))


async def test_a_failure_shows_no_key_and_no_address(claude: Claude, stub: StubProvider) -> None:
    message = "litellm: cannot reach http://10.0.0.7:8000/v1 with Bearer sk-test-key for model"
    stub.on("work", fault(500, "api_error", message))
    failure = await failure_of(claude)
    assert "10.0.0.7" not in failure.message
    assert "sk-test" not in failure.message
    assert "for model" in failure.message
