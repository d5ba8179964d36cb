"""What the trace says of a run against what its provider saw of it."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest

from app.api.app import create_app
from app.api.schemas.trace import Trace
from app.api.trace import TOOL_CHARACTERS
from app.domain import events as ev
from app.runtime import Runtime
from tests.support.service import Service, plan_of, report, task
from tests.support.stub_answers import as_json, call, fault, tool_calls
from tests.support.stub_provider import StubProvider
from tests.support.stub_script import SeenRequest, system_of
from tests.support.toolbox import Nothing, team_with, tool
from tests.support.troubled import PROSE, troubled_run


@asynccontextmanager
async def client_of(service: Service) -> AsyncIterator[httpx2.AsyncClient]:
    """A client of the API over the runtime of a service."""

    @asynccontextmanager
    async def lent() -> AsyncIterator[Runtime]:
        yield service.runtime

    app = create_app(lent, body_limit_bytes=1_000)
    async with (
        app.router.lifespan_context(app),
        httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url="http://api.test") as client,
    ):
        yield client


async def trace_of(service: Service, run_id: str, query: str = "") -> Any:
    async with client_of(service) as client:
        answer = await client.get(f"/v1/runs/{run_id}/trace{query}")
    assert answer.status_code == 200, answer.text
    Trace.model_validate(answer.json())
    return answer.json()


def calls_in(trace: Any) -> list[Any]:
    """The spans of model calls, as the calls ended."""
    calls = [span for span in trace["spans"] if span["kind"] == "llm"]
    return sorted(calls, key=lambda span: int(span["id"].split(":")[1]))


def as_the_provider_saw_it(seen: SeenRequest) -> dict[str, Any]:
    """The request without what is there for its cache alone."""

    def bare(block: dict[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in block.items() if name != "cache_control"}

    return {
        "max_tokens": seen.body["max_tokens"],
        "system": system_of(seen.body),
        "messages": [turn | {"content": list(map(bare, turn["content"]))} for turn in seen.body["messages"]],
        "tools": seen.body.get("tools", []),
        "output_schema": seen.body["output_config"]["format"]["schema"],
    }


async def test_the_trace_has_every_request_as_the_provider_saw_it(service: Service, stub: StubProvider) -> None:
    run = await troubled_run(service, stub)
    trace = await trace_of(service, run["id"], "?include=content")

    shown = [span["content"]["request"] | {"model": None} for span in calls_in(trace)]
    seen = [as_the_provider_saw_it(each) | {"model": None} for each in stub.log]
    assert run["status"] == "succeeded"
    assert len(seen) == 13
    assert sorted(map(json.dumps, map(ordered, shown))) == sorted(map(json.dumps, map(ordered, seen)))


def ordered(value: Any) -> Any:
    """The value with the names in its objects in order."""
    return json.loads(json.dumps(value, sort_keys=True))


async def test_the_trace_says_why_a_reply_was_not_used(service: Service, stub: StubProvider) -> None:
    run = await troubled_run(service, stub)
    trace = await trace_of(service, run["id"])

    told = [(span["attributes"]["purpose"], span["attributes"]["outcome"]) for span in calls_in(trace)]
    assert sorted(told) == sorted(
        [("plan", "rejected"), ("plan", "used"), ("refine", "used")]
        + [("work", outcome) for outcome in ("cut", "used", "failed", "used")]
        + [("work", outcome) for outcome in ("refused", "rejected", "rejected", "used")]
        + [("synthesize", "rejected"), ("synthesize", "used")]
    )
    [cut] = [span for span in calls_in(trace) if span["attributes"]["outcome"] == "cut"]
    [after, *_] = [
        span for span in calls_in(trace) if span["parent_id"] == cut["parent_id"] and span["id"] != cut["id"]
    ]
    assert cut["attributes"]["error_message"] == (
        "The reply was cut at the output cap; it is asked for again under a doubled cap."
    )
    assert after["attributes"]["max_tokens"] == 2 * cut["attributes"]["max_tokens"]
    [event] = [event for event in trace["events"] if f"llm:{event['seq']}" == cut["id"]]
    assert event["data"]["thrown_away"]["code"] == "output_truncated"
    assert [span["content"] for span in trace["spans"] if "content" in span] == []


async def test_prose_that_was_taken_for_a_result_is_said_to_be(service: Service, stub: StubProvider) -> None:
    run = await troubled_run(service, stub)
    trace = await trace_of(service, run["id"])

    by_task = {output["task"]: output for output in run["result"]["outputs"]}
    assert {name: output["free_form"] for name, output in by_task.items()} == {"t1": True, "t2": False, "t3": False}
    assert by_task["t1"]["text"] == PROSE
    assert run["result"]["free_form"] is True
    told = [span["parent_id"] for span in calls_in(trace) if span["attributes"].get("free_form")]
    assert sorted(told) == ["attempt:t1:1", "synthesis", "task:t3"]


async def test_the_outputs_of_a_result_say_what_each_task_delivered_or_why_not(
    service: Service, stub: StubProvider
) -> None:
    run = await troubled_run(service, stub)

    by_task = {output["task"]: output for output in run["result"]["outputs"]}
    assert by_task["t3"] | {"text": "checked", "confidence": 0.9, "sources": [], "error": None} == by_task["t3"]
    assert by_task["t2"] | {"text": None, "confidence": None} == by_task["t2"]
    assert by_task["t2"]["error"]["code"] == "model_refusal"


async def test_terms_are_spelled_out_once_in_a_run_and_named_by_every_call(
    service: Service, stub: StubProvider
) -> None:
    run = await troubled_run(service, stub)
    calls = [
        event.data
        for event in await service.events(run["id"])
        if isinstance(event.data, ev.LlmCompleted | ev.LlmFailed)
    ]

    names = {call.terms_id for call in calls}
    told = [call.terms_id for call in calls if call.terms is not None]
    assert None not in names
    assert (len(told), set(told)) == (len(names), names)
    assert len(told) == 5  # Planning, refinement, synthesis, reports with tools and without.


async def test_long_inputs_and_outputs_of_tools_are_whole_only_when_asked_for(
    service: Service, stub: StubProvider
) -> None:
    wordy = tool("wordy", lambda _, __: "word " * 2_000, arguments=Nothing)
    service.offer(wordy)
    stub.on("work", call=1, reply=tool_calls(call("wordy")))
    stub.on("work", as_json(report()))
    run_id = await service.submit(team=team_with(wordy), plan=plan_of(task("t1", "keeper")))
    await service.ended(run_id)

    [small] = [span for span in (await trace_of(service, run_id))["spans"] if span["kind"] == "tool"]
    whole_trace = await trace_of(service, run_id, "?include=content")
    [whole] = [span for span in whole_trace["spans"] if span["kind"] == "tool"]
    assert len(small["attributes"]["output"]) <= TOOL_CHARACTERS
    assert "shortened" in small["attributes"]["output"]
    assert whole["attributes"]["output"] == "word " * 2_000


@pytest.mark.parametrize("status", [400, 401, 500])
async def test_no_secret_is_in_a_trace_even_when_the_provider_repeats_it(
    service: Service, stub: StubProvider, status: int
) -> None:
    stub.on("*", fault(status, "some_error", "invalid x-api-key: sk-test, Authorization: Bearer sk-test"))
    run_id = await service.submit(limits={"timeout_s": 2})
    await service.ended(run_id)

    text = json.dumps(await trace_of(service, run_id, "?include=content"))
    assert "sk-test" not in text
    assert service.url not in text
