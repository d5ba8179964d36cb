"""What the client leaves out when a server refuses it."""

from typing import Any

import pytest

from app.domain.errors import ContextExceeded, RequestRejected
from app.llm.claude import Claude
from tests.llm.test_claude_requests import SCHEMA, TOOLS
from tests.support.model_calls import failure_of, request
from tests.support.stub_answers import Answer, error_event, fault, text
from tests.support.stub_provider import StubProvider
from tests.support.stub_script import SeenRequest


def refused(message: str, **more: Any) -> Answer:
    return fault(400, "invalid_request_error", message, **more)


CAPS = {
    "max_tokens: 16000 > 4096, which is the maximum allowed number of output tokens for small-1": 4_096,
    "max_tokens must be between 1 and 8192": 8_192,
    "Invalid max_tokens value, the valid range of max_tokens is [1, 8,192]": 8_192,
    "The maximum tokens you requested exceeds the model limit of 4096.": 4_096,
    "'max_tokens' is too large: 16000. The maximum context length is 8192 tokens and your request has 100 input tokens "
    "(16000 > 8192 - 100).": 8_092,
    "input length and `max_tokens` exceed context limit: 190000 + 16000 > 200000": 10_000,
}


@pytest.mark.parametrize("message", CAPS)
async def test_a_stated_cap_is_kept_to(claude: Claude, stub: StubProvider, message: str) -> None:
    def answer(seen: SeenRequest) -> Answer:
        return text("done") if seen.body["max_tokens"] <= CAPS[message] else refused(message)

    stub.on("work", answer)
    reply = await claude.reply(request(max_tokens=16_000))
    assert [seen.body["max_tokens"] for seen in stub.log] == [16_000, CAPS[message]]
    assert reply.usage.llm_calls == 2
    assert not reply.usage.estimated


async def test_a_cap_is_remembered_for_its_model_alone(claude: Claude, stub: StubProvider) -> None:
    stub.on("work", replies=[refused("max_tokens: 16000 > 4096, which is the maximum for small-1")], reply=text("ok"))
    first = await claude.reply(request(max_tokens=16_000))
    await claude.reply(request(max_tokens=32_000))
    await claude.reply(request(max_tokens=1_000))
    await claude.reply(request(max_tokens=16_000, model="deep"))
    assert [seen.body["max_tokens"] for seen in stub.log] == [16_000, 4_096, 4_096, 1_000, 16_000]
    assert first.left_out == ("max_tokens above 4096",)


async def test_what_one_prompt_leaves_is_not_remembered(claude: Claude, stub: StubProvider) -> None:
    stub.on("work", replies=[refused("`max_tokens`: 190000 + 16000 > 200000")], reply=text("ok"))
    await claude.reply(request(max_tokens=16_000))
    await claude.reply(request(max_tokens=16_000))
    assert [seen.body["max_tokens"] for seen in stub.log] == [16_000, 10_000, 16_000]


UNKNOWN_FORMATS = [
    "output_config: Extra inputs are not permitted",
    "output_config.format: Extra inputs are not permitted",
    "This model does not support structured outputs.",
]


@pytest.mark.parametrize("message", UNKNOWN_FORMATS)
@pytest.mark.parametrize("status", [400, 422])
async def test_a_server_without_output_formats_is_asked_without(
    claude: Claude, stub: StubProvider, message: str, status: int
) -> None:
    def answer(seen: SeenRequest) -> Answer:
        return fault(status, "invalid_request_error", message) if "output_config" in seen.body else text("{}")

    stub.on("*", answer)
    for _ in range(2):
        reply = await claude.reply(request(output_schema=SCHEMA))
    assert ["output_config" in seen.body for seen in stub.log] == [True, False, False]
    assert reply.left_out == ("output_config",)
    assert stub.log[0].body["system"] == stub.log[1].body["system"]


UNKNOWN_TOOLS = [
    "tools.2: Input tag 'web_search_20260318' found using 'type' does not match any of the expected tags",
    "tools.2.input_schema: Field required",
    "Unsupported tool type: web_search",
]


@pytest.mark.parametrize("message", UNKNOWN_TOOLS)
async def test_a_server_that_runs_no_tools_is_asked_without_them_and_the_model_is_told(
    claude: Claude, stub: StubProvider, message: str
) -> None:
    def answer(seen: SeenRequest) -> Answer:
        return refused(message) if any("type" in tool for tool in seen.body["tools"]) else text("done")

    stub.on("work", answer)
    for _ in range(2):
        reply = await claude.reply(request(tools=TOOLS))
    assert [[tool["name"] for tool in seen.body["tools"]] for seen in stub.log[1:]] == [["zeta", "alpha"]] * 2
    assert "web_search" not in stub.log[0].body["system"][0]["text"]
    assert "cannot be used here, whatever is said elsewhere: web_search." in stub.log[1].body["system"][0]["text"]
    assert reply.left_out == ("tool web_search",)


async def test_several_things_are_left_out_one_after_the_other(claude: Claude, stub: StubProvider) -> None:
    def answer(seen: SeenRequest) -> Answer:
        if "cache_control" in str(seen.body):
            return refused("system.0.cache_control: Extra inputs are not permitted")
        if "output_config" in seen.body:
            return refused("output_config: Extra inputs are not permitted")
        return refused("streaming is not supported") if seen.streamed else text("done")

    stub.on("*", answer)
    reply = await claude.reply(request(output_schema=SCHEMA))
    assert reply.usage.llm_calls == len(stub.log) == 4
    assert (await claude.reply(request(output_schema=SCHEMA))).usage.llm_calls == 1


async def test_a_refusal_inside_a_stream_is_learnt_from_too(claude: Claude, stub: StubProvider) -> None:
    message = "output_config: Extra inputs are not permitted"
    stub.on("*", replies=[error_event("invalid_request_error", message=message)], reply=text("done"))
    await claude.reply(request(output_schema=SCHEMA))
    assert len(stub.log) == 2


async def test_what_a_refusal_inside_a_stream_has_cost_is_part_of_the_call(claude: Claude, stub: StubProvider) -> None:
    refusal = error_event(
        "invalid_request_error", message="output_config: no", start_usage={"input_tokens": 900, "output_tokens": 0}
    )
    stub.on("*", replies=[refusal], reply=text("done", usage={"input_tokens": 800, "output_tokens": 5}))
    usage = (await claude.reply(request(output_schema=SCHEMA))).usage
    assert (usage.llm_calls, usage.input_tokens, usage.output_tokens, usage.estimated) == (2, 1_700, 5, True)


async def test_each_remedy_is_tried_once_and_only_what_was_answered_is_remembered(
    claude: Claude, stub: StubProvider
) -> None:
    stub.on("*", refused("output_config: no; max_tokens: no; tools.2: no"))
    failure = await failure_of(claude, output_schema=SCHEMA, tools=TOOLS)
    assert isinstance(failure, RequestRejected)
    assert failure.usage.llm_calls == len(stub.log) == 3
    stub.on("*", text("done"))
    assert (await claude.reply(request(output_schema=SCHEMA, tools=TOOLS))).left_out == ()


@pytest.mark.parametrize(
    "message", ["max_tokens: 16000 > 4, the maximum", "max_tokens: must be at least 1", "messages.0: no", ""]
)
async def test_a_refusal_that_names_nothing_to_leave_out_stands(
    claude: Claude, stub: StubProvider, message: str
) -> None:
    stub.on("work", refused(message))
    assert isinstance(await failure_of(claude, max_tokens=16_000), RequestRejected)
    assert len(stub.log) == 1


async def test_a_prompt_that_leaves_no_room_for_a_reply_is_too_long(claude: Claude, stub: StubProvider) -> None:
    stub.on("work", refused("input length and `max_tokens` exceed context limit: 199990 + 16000 > 200000"))
    assert isinstance(await failure_of(claude, max_tokens=16_000), ContextExceeded)
    assert len(stub.log) == 1
