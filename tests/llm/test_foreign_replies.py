"""Replies of gateways and of servers that mean no good: read by what they are, bounded, and never a bug of ours."""

import asyncio
import json
import time
from typing import Any

import pytest

from app.domain.errors import (
    AccountProblem,
    ContextExceeded,
    ModelError,
    ProviderUnavailable,
    RateLimited,
    ReplyTooLarge,
)
from app.llm.claude import Claude
from app.llm.partial_reply import LARGEST_CONTENT, MOST_BLOCKS, MOST_CALLS
from app.llm.wire import LARGEST_DOCUMENT
from tests.support.model_calls import failure_of, ignored, request
from tests.support.stub_answers import Answer, call, text
from tests.support.stub_provider import StubProvider

START = {"type": "message_start", "message": {"model": "m", "content": [], "usage": {"input_tokens": 7}}}
BLOCK = {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
HELLO = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "hello"}}
END = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 2}}
STOP = {"type": "message_stop"}


def events(*payloads: dict[str, Any], end: str = "\n") -> str:
    lines = [f"event: {each['type']}{end}data: {json.dumps(each)}{end}{end}" for each in payloads]
    return "".join(lines)


WHOLE = events(START, BLOCK, HELLO, END, STOP)
BEHIND = {
    "nothing": "",
    "done": "data: [DONE]\n\n",
    "a named done": "event: done\ndata: \n\n",
    "a done of no JSON": "event: done\ndata: bye\n\n",
    "an error": 'event: error\ndata: {"type": "error", "error": {"type": "overloaded_error"}}\n\n',
    "half an event": "event: ping\nda",
}


@pytest.mark.parametrize("behind", BEHIND)
async def test_what_stands_behind_the_end_of_a_stream_is_none_of_ours(
    claude: Claude, stub: StubProvider, behind: str
) -> None:
    stub.on("work", Answer(raw_stream=WHOLE + BEHIND[behind]))
    reply = await claude.reply(request())
    assert reply.content == [{"type": "text", "text": "hello"}]
    assert not reply.usage.estimated


STREAMS = {
    "done in place of the end": events(START, BLOCK, HELLO, END) + "data: [DONE]\n\n",
    "no end at all": events(START, BLOCK, HELLO, END),
    "no blank line at the end": WHOLE.rstrip("\n"),
    "windows line ends": events(START, BLOCK, HELLO, END, STOP, end="\r\n"),
    "old mac line ends": events(START, BLOCK, HELLO, END, STOP, end="\r"),
    "a byte order mark": "\ufeff" + WHOLE,
    "blank lines and comments first": "\n\n: hi\n\n" + WHOLE,
}


@pytest.mark.parametrize("name", STREAMS)
async def test_streams_are_read_in_every_usual_form(claude: Claude, stub: StubProvider, name: str) -> None:
    stub.on("work", Answer(raw_stream=STREAMS[name]))
    heard: list[str] = []
    assert (await claude.reply(request(on_text=heard.append))).content == [{"type": "text", "text": "hello"}]
    assert heard == ["hello"]


@pytest.mark.parametrize("kind", ["application/json", "text/plain", "text/event-stream", "application/octet-stream"])
@pytest.mark.parametrize("streams", [True, False])
async def test_a_reply_is_read_by_what_it_is_and_not_by_what_was_asked_or_said(
    claude: Claude, stub: StubProvider, kind: str, streams: bool
) -> None:
    stub.on("work", text("hello", streams=streams, headers={"content-type": kind}))
    heard: list[str] = []
    assert (await claude.reply(request(on_text=heard.append))).content == [{"type": "text", "text": "hello"}]
    assert "".join(heard) == "hello"
    assert len(stub.log) == 1


TOO_LONG = (ContextExceeded, "context_exceeded")
BODIES: dict[str, tuple[Any, type[ModelError], str]] = {
    "too long": (
        {"type": "invalid_request_error", "message": "prompt is too long"},
        ContextExceeded,
        "context_exceeded",
    ),
    "no credits": ({"code": 402, "message": "more credits are required"}, AccountProblem, "provider_billing"),
    "wrong key": ({"type": "authentication_error", "message": "no"}, AccountProblem, "provider_auth"),
    "wrong key untyped": ({"message": "Invalid API key"}, AccountProblem, "provider_auth"),
    "credits untyped": ("Insufficient credits.", AccountProblem, "provider_billing"),
    "rate": ({"code": 429, "message": "slow down"}, RateLimited, "rate_limited"),
    "unknown": ({"message": "boom"}, ProviderUnavailable, "provider_unavailable"),
    "odd": ([{"type": {}}], ProviderUnavailable, "provider_unavailable"),
}


@pytest.mark.parametrize("name", BODIES)
async def test_an_error_in_the_body_of_a_200_is_one(claude: Claude, stub: StubProvider, name: str) -> None:
    error, kind, code = BODIES[name]
    stub.on("work", Answer(raw_body=json.dumps({"type": "error", "error": error})))
    failure = await failure_of(claude)
    assert (type(failure), failure.code) == (kind, code)
    assert failure.usage.llm_calls == len(stub.log) == 1


def message(**changes: Any) -> dict[str, Any]:
    whole = {"model": "m", "content": [{"type": "text", "text": "x"}], "stop_reason": "end_turn"}
    return {**whole, "usage": {"input_tokens": 7, "output_tokens": 2}, **changes}


ODD = {
    "stop reason a number": message(stop_reason=5),
    "stop reason an object": message(stop_reason={"a": 1}),
    "stop reason of a megabyte": message(stop_reason="x" * 1_000_000),
    "content null": message(content=None),
    "content an object": message(content={"type": "text"}),
    "a block that is a text": message(content=["x"]),
    "a block type that is a list": message(content=[{"type": ["text"]}]),
    "text a number": message(content=[{"type": "text", "text": 5}]),
    "text a list": message(content=[{"type": "text", "text": ["x"]}]),
    "thinking an object": message(content=[{"type": "thinking", "thinking": {}, "signature": "s"}]),
    "a call without a name": message(content=[{"type": "tool_use", "id": "c"}]),
    "a call whose id is a number": message(content=[{"type": "tool_use", "id": 3, "name": "x"}]),
    "a call with an endless name": message(content=[{"type": "tool_use", "id": "c", "name": "x" * 10_000}]),
    "two calls of one id": message(content=[call("a", call_id="c"), call("b", call_id="c")]),
    "a server tool without a name": message(content=[{"type": "server_tool_use", "id": "s"}]),
    "a result of a list": message(content=[{"type": "web_search_tool_result", "tool_use_id": ["s"]}]),
    "nested too deeply": message(content=[json.loads('{"type": "x", "y": ' + "[" * 900 + "]" * 900 + "}")]),
}


@pytest.mark.parametrize("name", ODD)
@pytest.mark.parametrize("streams", [True, False])
async def test_a_reply_of_an_odd_form_is_malformed_and_counted(
    claude: Claude, stub: StubProvider, name: str, streams: bool
) -> None:
    if streams and isinstance(ODD[name]["content"], list) and all(isinstance(b, dict) for b in ODD[name]["content"]):
        opened = [{**BLOCK, "index": at, "content_block": block} for at, block in enumerate(ODD[name]["content"])]
        end = {**END, "delta": {"stop_reason": ODD[name]["stop_reason"]}}
        stub.on("work", Answer(raw_stream=events(START, *opened, end, STOP)))
    else:
        stub.on("work", Answer(raw_body=json.dumps(ODD[name])))
    failure = await failure_of(claude, on_text=ignored)
    assert isinstance(failure, ProviderUnavailable)
    assert (failure.usage.llm_calls, failure.usage.input_tokens) == (1, 7)


@pytest.mark.parametrize("odd", ["a\x00b", "a\ud800b"])
async def test_names_are_cleaned_like_texts(claude: Claude, stub: StubProvider, odd: str) -> None:
    stub.on("work", Answer(raw_body=json.dumps(message(stop_reason=odd, model=odd))))
    reply = await claude.reply(request())
    assert (reply.stop_reason, reply.model) == ("a\ufffdb", "a\ufffdb")


@pytest.mark.parametrize("model", [None, 5, {"a": 1}, ["m"]])
async def test_a_model_that_is_no_name_is_the_one_asked_for(claude: Claude, stub: StubProvider, model: Any) -> None:
    stub.on("work", Answer(raw_body=json.dumps(message(model=model))))
    assert (await claude.reply(request())).model == "claude-haiku-5-5"


def stream_of(blocks: int, kind: dict[str, Any]) -> str:
    opened = ({**BLOCK, "index": at, "content_block": {**kind, "id": f"c{at}"}} for at in range(blocks))
    return events(START, *opened, END, STOP)


CALL = {"type": "tool_use", "name": "x", "input": {}}
LONG = {**HELLO, "delta": {"type": "text_delta", "text": "x" * 1_000_000}}
BIG_INPUT = {"type": "input_json_delta", "partial_json": '{"a": "' + "x" * (LARGEST_DOCUMENT // 2)}
TOO_LARGE = {
    "calls": Answer(raw_stream=stream_of(MOST_CALLS + 1, CALL)),
    "a hundred thousand calls": Answer(raw_stream=stream_of(100_000, CALL)),
    "calls at once": Answer(raw_body=json.dumps(message(content=[{**CALL, "id": f"c{n}"} for n in range(10_000)]))),
    "blocks": Answer(raw_stream=stream_of(MOST_BLOCKS + 1, {"type": "text", "text": ""})),
    "text": Answer(raw_stream=events(START, BLOCK, *[LONG] * (LARGEST_CONTENT // 1_000_000 + 1), END, STOP)),
    "an event": Answer(raw_stream="event: x\ndata: " + "x" * (LARGEST_DOCUMENT + 1)),
    "a line that never ends": Answer(raw_stream="x" * (LARGEST_DOCUMENT * 3)),
    "a body": Answer(raw_body=json.dumps(message(content=[{"type": "text", "text": "x" * (LARGEST_DOCUMENT + 1)}]))),
    "values": Answer(raw_body=json.dumps(message(content=[{**CALL, "id": "c", "input": {"a": [1] * 100_000}}]))),
    "brackets": Answer(raw_body=json.dumps(message(content=[{**CALL, "id": "c", "input": {"a": [[]] * 400_000}}]))),
    "an input": Answer(
        raw_stream=events(START, {**BLOCK, "content_block": {**CALL, "id": "c"}}, *[{**HELLO, "delta": BIG_INPUT}] * 3)
        + events(END, STOP)
    ),
    "empty events": Answer(raw_stream=events(START) + ": x\n\n" * 250_000),
}


@pytest.mark.parametrize("name", TOO_LARGE)
async def test_a_reply_past_a_bound_is_refused_while_it_is_read_and_counted(
    claude: Claude, stub: StubProvider, name: str
) -> None:
    stub.on("work", TOO_LARGE[name])
    failure = await failure_of(claude)
    assert (type(failure), failure.code) == (ReplyTooLarge, "result_too_large")
    assert failure.usage.llm_calls == 1
    assert failure.usage.input_tokens > 0


async def test_a_large_part_within_the_bound_is_taken(claude: Claude, stub: StubProvider) -> None:
    large = {**HELLO, "delta": {"type": "text_delta", "text": "x" * 1_900_000}}
    stub.on("work", Answer(raw_stream=events(START, BLOCK, large, END, STOP)))
    reply = await claude.reply(request())
    assert len(reply.content[0]["text"]) == 1_900_000


async def test_no_reply_holds_the_loop_for_long(claude: Claude, stub: StubProvider) -> None:
    longest = 0.0
    ended = asyncio.Event()

    async def watch() -> None:
        nonlocal longest
        while not ended.is_set():
            before = time.thread_time()
            await asyncio.sleep(0)
            longest = max(longest, time.thread_time() - before)

    stub.on("work", Answer(raw_body="[" + ",".join(["[]"] * 600_000) + "]"))
    watching = asyncio.create_task(watch())
    await failure_of(claude)
    ended.set()
    await watching
    assert longest < 0.5


async def test_of_an_error_no_more_is_read_than_anybody_wants_to_know(claude: Claude, stub: StubProvider) -> None:
    stub.on("work", Answer(status=500, raw_body="x " * 5_000_000))
    failure = await failure_of(claude)
    assert isinstance(failure, ProviderUnavailable)
    assert len(failure.message) <= 400


async def test_a_reply_that_begins_with_reasoning_is_heard_without_it(claude: Claude, stub: StubProvider) -> None:
    unopened = text("Maybe 12 %? No.\n</think>\n\nIt is 14 %.", pieces=9)
    opened = text("<think>Maybe 12 %? No.</think>\n\nIt is 14 %.", pieces=11)
    stub.on("work", replies=[opened, unopened, unopened, text("It is 14 %.", pieces=5)])
    heard = []
    for _ in range(4):
        said: list[str] = []
        await claude.reply(request(on_text=said.append))
        heard.append("".join(said))
    assert heard[0] == "It is 14 %."
    # Of a model that is not known yet nobody can tell; after its first reply it is known to think aloud.
    assert heard[1].endswith("It is 14 %.")
    assert heard[2:] == ["It is 14 %."] * 2
