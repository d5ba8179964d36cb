"""What a run makes of replies that are not what they say, or not what they should be."""

import json
from decimal import Decimal

import pytest

from tests.support.service import Service, plan_of, report, synthesis, task
from tests.support.stub_answers import Answer, Block, as_json, call, text, tool_calls
from tests.support.stub_provider import StubProvider

ONE = plan_of(task("t1"))


@pytest.mark.parametrize("reason", ["end_turn", "stop_sequence", "tool_use"])
async def test_a_call_is_run_whatever_the_reply_says_it_stopped_for(
    service: Service, stub: StubProvider, reason: str
) -> None:
    asked = tool_calls(call("calculate", {"expression": "2 + 2"}), before="Let me see first.", stop_reason=reason)
    stub.on("work", replies=[asked], reply=as_json(report("It is 4.")))

    run = await service.ended(await service.submit(plan=plan_of(task("t1", "researcher"))))

    assert (run["status"], run["result"]["answer"]) == ("succeeded", "It is 4.")
    assert run["usage"]["tool_calls"] == 1


CALL_AS_TEXT = 'Let me look.\n<invoke name="calculate"><parameter name="expression">2 + 2</parameter></invoke>'


@pytest.mark.parametrize("said", [CALL_AS_TEXT, '{"name": "calculate", "arguments": {"expression": "2 + 2"}}'])
@pytest.mark.parametrize("reason", ["end_turn", "tool_use"])
async def test_a_call_written_as_text_is_asked_for_again_and_never_the_answer(
    service: Service, stub: StubProvider, said: str, reason: str
) -> None:
    stub.on("work", replies=[text(said, stop_reason=reason)], reply=as_json(report("It is 4.")))

    run = await service.ended(await service.submit(plan=plan_of(task("t1", "researcher"))))

    assert (run["status"], run["result"]["answer"]) == ("succeeded", "It is 4.")
    assert len(stub.log) == 2


@pytest.mark.parametrize("role", ["plan", "synthesize"])
@pytest.mark.parametrize("blocks", [(), (call("look"),)], ids=["as text", "as a call"])
async def test_a_call_of_the_supervisor_is_asked_for_again_too(
    service: Service, stub: StubProvider, role: str, blocks: tuple[Block, ...]
) -> None:
    stub.on("plan", as_json(plan_of(task("a"), task("b"))))
    stub.on("work", as_json(report()))
    stub.on("synthesize", as_json(synthesis()))
    preamble = "Let me look at the file first."
    stub.on(role, call=1, reply=Answer(content=(*text(preamble).content, *blocks), stop_reason="tool_use"))

    run = await service.ended(await service.submit())

    assert (run["status"], run["result"]["answer"]) == ("succeeded", "the answer")
    assert len(stub.of(role)) == 2


async def test_drafts_in_a_models_reasoning_are_neither_plan_nor_answer(service: Service, stub: StubProvider) -> None:
    def thought(value: object) -> Answer:
        drafts = json.dumps(plan_of(task("x"))) + json.dumps(plan_of(task("y")))
        return text(f"<think>Either {drafts}</think>\n\n{json.dumps(value)}")

    stub.on("plan", thought(plan_of(task("a"), task("b"))))
    stub.on("work", text("Maybe 12 %? No.\n</think>\n\nThe margin is 14 %."))
    stub.on("synthesize", thought(synthesis()))

    run = await service.ended(await service.submit())

    assert run["status"] == "succeeded"
    assert {output["summary"] for output in run["result"]["outputs"]} == {"The margin is 14 %."}
    assert run["usage"]["llm_calls"] == 4


ODD_REPLIES = {
    "a stop reason that cannot be stored": as_json(report(), stop_reason="end\x00turn"),
    "a model that cannot be stored": as_json(report(), model="m\x00\ud800"),
    "a usage of objects": as_json(report(), usage={"input_tokens": {"n": 1}, "output_tokens": [2]}),
    "a usage below zero": as_json(report(), usage={"input_tokens": -(10**9), "output_tokens": -(10**9)}),
    "a server tool of odd content": Answer(
        content=(
            {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": 5},
            {"type": "web_search_tool_result", "tool_use_id": "s1", "content": {"error_code": {"a": ["\x00"]}}},
            *as_json(report()).content,
        )
    ),
    "a block that is a number": Answer(content=({"type": "text", "text": 7},)),
}


@pytest.mark.parametrize("odd", ODD_REPLIES)
async def test_no_reply_breaks_a_run_or_goes_uncounted(service: Service, stub: StubProvider, odd: str) -> None:
    stub.on("work", ODD_REPLIES[odd])

    run = await service.ended(await service.submit(plan=ONE, limits={"attempts": 1}))

    assert run["stop_reason"] in ("completed", "no_results", "provider_unavailable")
    assert run["usage"]["llm_calls"] == len(stub.log) <= 3
    assert Decimal(run["usage"]["cost_usd"]) > 0


async def test_a_token_limit_binds_where_the_server_counts_nothing(service: Service, stub: StubProvider) -> None:
    stub.on("work", as_json(report("x" * 8_000), usage={}, start_usage={}))

    run = await service.ended(
        await service.submit(plan=plan_of(task("a"), task("b", "writer", ["a"])), limits={"tokens": 12_000})
    )

    assert (run["status"], run["stop_reason"]) == ("partial", "budget_exhausted")
    assert run["usage"]["estimated"]
