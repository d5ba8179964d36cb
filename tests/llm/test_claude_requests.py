"""What the Claude client sends."""

import pytest

from app.domain.conversation import Message, ToolSpec
from app.llm.claude import Claude
from tests.support.model_calls import assistant, claude_at, ignored, request, user
from tests.support.stub_answers import call, paused, text, thinking
from tests.support.stub_provider import StubProvider

SCHEMA = {
    "type": "object",
    "properties": {"answer": {"type": "string"}},
    "required": ["answer"],
    "additionalProperties": False,
}
TOOLS = (
    ToolSpec("zeta", "Last by name.", {"type": "object", "properties": {}, "additionalProperties": False}),
    ToolSpec("alpha", "First by name.", {"type": "object", "properties": {}, "additionalProperties": False}),
    ToolSpec("web_search", "", {}, server={"type": "web_search_20260318", "name": "web_search", "max_uses": 3}),
)


async def test_a_request_says_what_was_asked_and_nothing_more(claude: Claude, stub: StubProvider) -> None:
    await claude.reply(request())
    assert stub.log[0].body == {
        "model": "claude-haiku-5-5",
        "max_tokens": 1_000,
        "messages": [{"role": "user", "content": [{"type": "text", "text": "What is 2 + 2?"}]}],
        "system": [{"type": "text", "text": request().system, "cache_control": {"type": "ephemeral"}}],
        "stream": True,
    }


async def test_tools_keep_their_order_and_a_provider_tool_is_declared_as_it_is(
    claude: Claude, stub: StubProvider
) -> None:
    await claude.reply(request(tools=TOOLS))
    assert [tool["name"] for tool in stub.log[0].body["tools"]] == ["zeta", "alpha", "web_search"]
    assert stub.log[0].body["tools"][2] == TOOLS[2].server


async def test_a_schema_is_asked_for_as_the_output_format(claude: Claude, stub: StubProvider) -> None:
    await claude.reply(request(output_schema=SCHEMA))
    assert stub.log[0].body["output_config"] == {"format": {"type": "json_schema", "schema": SCHEMA}}


async def test_equal_requests_have_equal_bytes(claude: Claude, stub: StubProvider) -> None:
    for _ in range(2):
        await claude.reply(request(tools=TOOLS, output_schema=SCHEMA))
    assert stub.log[0].body_sha256 == stub.log[1].body_sha256


async def test_a_longer_conversation_is_cached_up_to_our_last_words(claude: Claude, stub: StubProvider) -> None:
    asked = call("add", {"a": 2, "b": 2}, call_id="toolu_1")
    answered = [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "4"}, {"type": "text", "text": "Go on."}]
    conversation = [user("Add."), assistant(asked), Message("user", answered)]
    await claude.reply(request(messages=conversation))
    sent = stub.log[0].body["messages"]
    assert sent[2]["content"][-1] == {"type": "text", "text": "Go on.", "cache_control": {"type": "ephemeral"}}
    assert "cache_control" not in str(sent[:2])
    assert "cache_control" not in answered[1]


async def test_a_paused_turn_goes_back_unchanged(claude: Claude, stub: StubProvider) -> None:
    stub.on("work", replies=[paused(thinking("hm"), *paused().content), text("ok")])
    first = await claude.reply(request())
    second = await claude.reply(request(messages=[user("Search."), assistant(*first.content)]))
    assert first.stop_reason == "pause_turn"
    assert stub.log[1].body["messages"][-1] == {"role": "assistant", "content": first.content}
    assert second.content == [{"type": "text", "text": "ok"}]


async def test_every_call_is_streamed_so_that_no_network_takes_it_for_dead(claude: Claude, stub: StubProvider) -> None:
    await claude.reply(request())
    await claude.reply(request(on_text=ignored, max_tokens=32_000))
    assert [seen.streamed for seen in stub.log] == [True, True]


async def test_a_tier_stands_for_its_model_and_an_id_for_itself(claude: Claude, stub: StubProvider) -> None:
    await claude.reply(request(model="deep"))
    await claude.reply(request(model="claude-fable-5-2"))
    assert [seen.body["model"] for seen in stub.log] == ["claude-opus-5-5", "claude-fable-5-2"]
    assert claude.model_id("balanced") == "claude-sonnet-5-5"


async def test_a_server_that_knows_only_the_older_key_header_gets_it_too(claude: Claude, stub: StubProvider) -> None:
    await claude.reply(request())
    assert stub.log[0].headers["authorization"] == "Bearer sk-test-key"
    assert stub.log[0].headers["x-api-key"] == "sk-test-key"


async def test_without_a_key_no_key_of_the_environment_is_used(
    stub: StubProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-of-somebody-else")
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "token-of-somebody-else")
    claude = claude_at(stub.url, api_key=None)
    await claude.reply(request())
    await claude.close()
    assert "somebody" not in str(stub.log[0].headers)


async def test_an_empty_system_prompt_is_left_out(claude: Claude, stub: StubProvider) -> None:
    await claude.reply(request(system=""))
    assert "system" not in stub.log[0].body
