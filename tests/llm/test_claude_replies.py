"""What the Claude client makes of a reply, streamed or whole."""

import json
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from app.domain.conversation import Block
from app.llm.claude import Claude
from app.llm.model import Reply
from tests.support.model_calls import ignored, request
from tests.support.stub_answers import (
    Answer,
    call,
    refusal,
    text,
    thinking,
    tool_calls,
    truncated,
    truncated_call,
)
from tests.support.stub_provider import StubProvider

CITED = {
    "type": "text",
    "text": "Four.",
    "citations": [{"type": "web_search_result_location", "url": "u", "title": "t", "cited_text": "4"}],
}
SEARCH = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "sum"}}
FOUND = {
    "type": "web_search_tool_result",
    "tool_use_id": "srvtoolu_1",
    "content": [{"type": "web_search_result", "url": "u", "encrypted_content": "abc=="}],
}
UNHEARD_OF = {"type": "hologram", "depth": 3, "layers": [{"z": None}]}

ANSWERS = {
    "text": text("naïve 日本語 🙂 and a longer tail"),
    "tool calls": tool_calls(call("add", {"a": 2, "b": [1, {"c": "ü"}]}), call("now"), before="Let me see."),
    "thinking": Answer(content=(thinking("first this, then that", "c2ln/+=="), *text("4").content)),
    "provider tools": Answer(content=(SEARCH, FOUND, CITED)),
    "unknown blocks": Answer(content=(UNHEARD_OF, *text("4").content)),
    "refusal": refusal(),
    "truncated text": truncated("half a sen"),
    "several texts": Answer(content=(*text("one ").content, *text("two").content)),
}


async def _ask(claude: Claude, **changes: Any) -> Reply:
    return await claude.reply(request(**changes))


@pytest.mark.parametrize("name", ANSWERS)
async def test_blocks_survive_as_the_provider_sent_them(claude: Claude, stub: StubProvider, name: str) -> None:
    stub.on("work", ANSWERS[name])
    reply = await _ask(claude)
    assert json.dumps(reply.content) == json.dumps(list(ANSWERS[name].content))
    assert reply.stop_reason == ANSWERS[name].stop_reason


@pytest.mark.parametrize("name", ANSWERS)
async def test_a_streamed_reply_equals_a_whole_one(claude: Claude, stub: StubProvider, name: str) -> None:
    stub.on("work", replies=[replace(ANSWERS[name], streams=False), ANSWERS[name]])
    whole = await _ask(claude, on_text=ignored)
    streamed = await _ask(claude, on_text=ignored)
    assert [seen.streamed for seen in stub.log] == [True, True]
    assert streamed.content == whole.content
    assert (streamed.stop_reason, streamed.model, streamed.usage) == (whole.stop_reason, whole.model, whole.usage)


async def test_listeners_hear_the_visible_text_and_nothing_else(claude: Claude, stub: StubProvider) -> None:
    heard: list[str] = []
    blocks: list[Block] = [thinking("secret"), *text("Let me ").content, call("add", {"a": 1}), *text("see.").content]
    stub.on("work", Answer(content=blocks, stop_reason="tool_use"))
    await _ask(claude, on_text=heard.append)
    assert len(heard) > 2
    assert "".join(heard) == "Let me see."


async def test_a_reply_names_its_model_request_and_cost(claude: Claude, stub: StubProvider) -> None:
    usage = {"input_tokens": 1_000, "output_tokens": 200, "cache_read_input_tokens": None}
    stub.on("work", text("4", usage=usage))
    reply = await _ask(claude, model="balanced")
    assert (reply.model, reply.request_id) == ("claude-sonnet-5-5", "req_000001")
    assert (reply.usage.llm_calls, reply.usage.input_tokens, reply.usage.output_tokens) == (1, 1_000, 200)
    assert reply.usage.cost_usd == Decimal("0.004")
    assert not reply.usage.estimated


async def test_the_price_is_that_of_the_model_asked_for_if_the_server_names_another(
    claude: Claude, stub: StubProvider
) -> None:
    stub.on("work", text("4", model="qwen2.5-coder", usage={"input_tokens": 10_000, "output_tokens": 100}))
    reply = await _ask(claude, model="claude-sonnet-5-5")
    assert (reply.model, reply.usage.cost_usd) == ("qwen2.5-coder", Decimal("0.021"))


async def test_web_searches_are_paid_for(claude: Claude, stub: StubProvider) -> None:
    usage = {"input_tokens": 10, "output_tokens": 2, "server_tool_use": {"web_search_requests": 3}}
    stub.on("work", text("4", usage=usage))
    for listener in (None, ignored):
        assert (await _ask(claude, on_text=listener)).usage.cost_usd == Decimal("0.030002")


@pytest.mark.parametrize("reason", ["stop_sequence", "model_context_window_exceeded", "something_new"])
async def test_any_stop_reason_passes_through(claude: Claude, stub: StubProvider, reason: str) -> None:
    stub.on("work", text("4", stop_reason=reason))
    assert (await _ask(claude)).stop_reason == reason
    assert (await _ask(claude, on_text=ignored)).stop_reason == reason


@pytest.mark.parametrize("written", ['{"path":"a.txt","body":"hal', '{"path":"a.txt"', "{"])
async def test_a_tool_input_cut_in_the_middle_is_never_usable(claude: Claude, stub: StubProvider, written: str) -> None:
    stub.on("work", truncated_call("save_note", written))
    reply = await _ask(claude, on_text=ignored)
    assert reply.stop_reason == "max_tokens"
    assert reply.content[0]["input"] == {"INVALID_JSON": written}


async def test_a_tool_input_that_is_no_object_is_made_one_that_no_tool_takes(
    claude: Claude, stub: StubProvider
) -> None:
    answer = tool_calls({**call("add"), "input": ["a", 1]})
    for streams in (False, True):
        stub.on("work", replace(answer, streams=streams))
        assert (await _ask(claude)).content[0]["input"] == {"INVALID_JSON": '["a", 1]'}


async def test_text_is_cleaned_where_it_enters(claude: Claude, stub: StubProvider) -> None:
    dirty = "a\x00b \ud83d\ude00 \ud800"
    blocks = [*text(dirty).content, call("note", {"k\x00": dirty, "n": [float("nan")]})]
    for streams in (False, True):
        stub.on("work", Answer(content=blocks, pieces=9, streams=streams))
        reply = await _ask(claude)
        assert reply.content[0]["text"] == "a\ufffdb 😀 \ufffd"
        assert reply.content[1]["input"] == {"k\ufffd": "a\ufffdb 😀 \ufffd", "n": [None]}


async def test_empty_texts_are_dropped_since_no_provider_takes_them_back(claude: Claude, stub: StubProvider) -> None:
    asked = call("add", {"a": 1})
    answer = Answer(content=(*text("\n\n").content, asked, *text("").content), stop_reason="tool_use")
    for streams in (False, True):
        stub.on("work", replace(answer, streams=streams))
        assert (await _ask(claude)).content == [asked]


def _stream(*events: dict[str, Any]) -> Answer:
    lines = [f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events]
    return Answer(raw_stream=": keep-alive\n\n" + "".join(lines))


def _start(**usage: int) -> dict[str, Any]:
    message = {"id": "chatcmpl-1", "type": "message", "role": "assistant", "model": "qwen", "content": []}
    return {"type": "message_start", "message": {**message, "usage": usage}}


def _end(stop_reason: str, **usage: int) -> dict[str, Any]:
    return {"type": "message_delta", "delta": {"stop_reason": stop_reason}, "usage": usage}


def _block(index: int, **block: Any) -> dict[str, Any]:
    return {"type": "content_block_start", "index": index, "content_block": block}


def _delta(index: int, **delta: Any) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": index, "delta": delta}


async def test_blocks_may_overlap_and_a_tool_call_may_open_without_input(claude: Claude, stub: StubProvider) -> None:
    events = (
        _start(input_tokens=7),
        _block(0, type="text", text=""),
        _block(1, type="tool_use", id="c1", name="add"),
        _block(2, type="tool_use", id="c2", name="now"),
        _delta(1, type="input_json_delta", partial_json='{"a": '),
        _delta(0, type="text_delta", text="Adding"),
        _delta(1, type="input_json_delta", partial_json="2}"),
        _delta(0, type="something_delta", stuff=1),
        *({"type": "content_block_stop", "index": index} for index in (0, 1, 2)),
        _end("tool_use", output_tokens=5),
    )
    stub.on("work", _stream(*events))
    reply = await _ask(claude, on_text=ignored)
    assert reply.content == [
        {"type": "text", "text": "Adding"},
        {"type": "tool_use", "id": "c1", "name": "add", "input": {"a": 2}},
        {"type": "tool_use", "id": "c2", "name": "now", "input": {}},
    ]


@pytest.mark.parametrize(
    ("started", "ended"),
    [
        ({"input_tokens": 0, "output_tokens": 0}, {"input_tokens": 7, "output_tokens": 5}),
        ({"input_tokens": 7, "output_tokens": 1}, {"output_tokens": 5}),
        ({"input_tokens": 7, "output_tokens": 1}, {"input_tokens": 0, "output_tokens": 5}),
    ],
)
async def test_usage_is_read_from_whichever_event_has_it(
    claude: Claude, stub: StubProvider, started: dict[str, int], ended: dict[str, int]
) -> None:
    stub.on("work", _stream(_start(**started), _block(0, type="text", text="hi"), _end("end_turn", **ended)))
    usage = (await _ask(claude, on_text=ignored)).usage
    assert (usage.input_tokens, usage.output_tokens) == (7, 5)


async def test_one_connection_serves_call_after_call(claude: Claude, stub: StubProvider) -> None:
    for listener in (None, ignored, None, ignored):
        await _ask(claude, on_text=listener)
    assert len({seen.peer for seen in stub.log}) == 1
