"""One suite over every implementation of the port to language models."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

import pytest

from app.agents.supervisor.plan import read_plan
from app.agents.supervisor.synthesis_reply import read_synthesis
from app.agents.worker.report import read_report, report_schema
from app.domain.conversation import Message, text_of, tool_calls_of
from app.domain.plan import validated
from app.domain.results import Output
from app.domain.team import Team
from app.domain.worker import Worker
from app.llm.demo import DemoModel
from app.llm.model import Model, Request
from app.tools.calculate import CALCULATE
from tests.llm import demo_driver as driver
from tests.support.model_calls import claude_at
from tests.support.stub_answers import Answer, as_json, call, held, tool_calls
from tests.support.stub_provider import StubProvider
from tests.support.stub_script import SeenRequest

TASK = {
    "id": "t1", "title": "Sum", "instruction": "What is 2 + 2?", "context": "", "success_criterion": "",
    "worker": "reckoner", "depends_on": [], "required": True,
}  # fmt: skip
PLAN = {"goal": "A sum", "final_instruction": "", "tasks": [TASK]}
REPORT = {"summary": "It is 4.", "text": "2 + 2 = 4", "confidence": 0.9, "sources": [], "escalation": None}
STATEMENT = {"text": "It is 4.", "tasks": ["t1"]}
ANSWER = {"answer": "It is 4.", "confidence": 0.9, "statements": [STATEMENT], "conflicts": [], "gaps": []}

WORKER = Worker(name="reckoner", description="Calculates.", instructions="Calculate.", tools=("calculate",))
TEAM = Team(name="crew", workers=(WORKER,))
TO_PLAN = driver.plan_request(TEAM, "What is 2 + 2?")
TO_WORK = driver.request_of(
    "work",
    driver.work_prompt(WORKER, "What is 2 + 2?", max_steps=5),
    tools=[CALCULATE.spec],
    output_schema=report_schema(None),
)
TO_RECONCILE = driver.synthesis_request(TEAM, [driver.result("t1")])
REQUESTS = {"plan": TO_PLAN, "work": TO_WORK, "synthesize": TO_RECONCILE}


@dataclass
class Candidate:
    """An implementation under test."""

    model: Model
    slow: Model
    """Of the same kind; it would answer long after the test."""
    slow_has_begun: Callable[[], Awaitable[object]]


@asynccontextmanager
async def demo() -> AsyncIterator[Candidate]:
    # It begins its answer as soon as it is scheduled, and tells nobody.
    yield Candidate(DemoModel(delay_s=0), DemoModel(delay_s=600), lambda: asyncio.sleep(0))


@asynccontextmanager
async def claude() -> AsyncIterator[Candidate]:
    async with StubProvider() as stub, StubProvider() as silent:
        stub.on("plan", as_json(PLAN))
        stub.on("work", _worked)
        stub.on("synthesize", as_json(ANSWER))
        silent.on("*", held(as_json(PLAN)))
        candidate = Candidate(claude_at(stub.url), claude_at(silent.url), lambda: silent.seen(1))
        yield candidate
        await candidate.model.close()
        await candidate.slow.close()


def _worked(seen: SeenRequest) -> Answer:
    if len(seen.body["messages"]) == 1:
        return tool_calls(call("calculate", {"expression": "2 + 2"}), before="Let me see.")
    return as_json(REPORT)


@pytest.fixture(params=[demo, claude], ids=["demo", "claude"])
async def candidate(request: pytest.FixtureRequest) -> AsyncIterator[Candidate]:
    async with request.param() as candidate:
        yield candidate


def after_the_tool(content: list[dict[str, object]]) -> Request:
    """The work request that follows a reply with tool calls."""
    results = [
        {"type": "tool_result", "tool_use_id": block["id"], "content": "4", "is_error": False}
        for block in tool_calls_of(content)
    ]
    return replace(TO_WORK, messages=[*TO_WORK.messages, Message("assistant", content), Message("user", results)])


async def test_the_reply_to_a_plan_request_is_a_sound_plan(candidate: Candidate) -> None:
    reply = await candidate.model.reply(TO_PLAN)

    assert reply.stop_reason == "end_turn"
    assert validated(read_plan(text_of(reply.content)), ["reckoner"], 12).validation.ok


async def test_a_worker_calls_an_offered_tool_and_then_reports(candidate: Candidate) -> None:
    asking = await candidate.model.reply(TO_WORK)
    reporting = await candidate.model.reply(after_the_tool(asking.content))

    assert asking.stop_reason == "tool_use"
    assert [(block["name"], block["input"]) for block in tool_calls_of(asking.content)] == [
        ("calculate", {"expression": "2 + 2"})
    ]
    assert reporting.stop_reason == "end_turn"
    assert isinstance(read_report(text_of(reporting.content), None), Output)


async def test_the_reply_to_a_synthesis_request_rests_on_what_was_delivered(candidate: Candidate) -> None:
    reply = await candidate.model.reply(TO_RECONCILE)

    synthesis = read_synthesis(text_of(reply.content), ["t1"], [])
    assert [statement.tasks for statement in synthesis.statements] == [("t1",)]


@pytest.mark.parametrize("purpose", REQUESTS)
async def test_a_reply_counts_as_one_call_whose_tokens_are_known(candidate: Candidate, purpose: str) -> None:
    usage = (await candidate.model.reply(REQUESTS[purpose])).usage

    assert (usage.llm_calls, usage.tool_calls, usage.estimated) == (1, 0, False)
    assert usage.input_tokens > 0
    assert usage.output_tokens > 0


@pytest.mark.parametrize("purpose", REQUESTS)
async def test_a_listener_hears_exactly_the_visible_text(candidate: Candidate, purpose: str) -> None:
    heard: list[str] = []

    reply = await candidate.model.reply(replace(REQUESTS[purpose], on_text=heard.append))

    assert len(heard) > 1
    assert "".join(heard) == text_of(reply.content)


@pytest.mark.parametrize("purpose", REQUESTS)
async def test_it_makes_no_difference_to_the_reply_whether_somebody_listens(candidate: Candidate, purpose: str) -> None:
    listened = await candidate.model.reply(replace(REQUESTS[purpose], on_text=lambda _: None))
    silent = await candidate.model.reply(REQUESTS[purpose])

    assert text_of(listened.content) == text_of(silent.content)
    assert listened.stop_reason == silent.stop_reason


async def test_the_reply_names_the_model_that_the_tier_stands_for(candidate: Candidate) -> None:
    reply = await candidate.model.reply(TO_PLAN)

    assert reply.model == candidate.model.model_id(TO_PLAN.model)


@pytest.mark.parametrize("model", ["fast", "balanced", "deep", "some-model-of-your-own"])
async def test_a_model_id_stands_for_itself(candidate: Candidate, model: str) -> None:
    model_id = candidate.model.model_id(model)

    assert candidate.model.model_id(model_id) == model_id


@pytest.mark.parametrize("purpose", REQUESTS)
async def test_a_cancelled_call_ends_at_once(candidate: Candidate, purpose: str) -> None:
    calling = asyncio.create_task(candidate.slow.reply(REQUESTS[purpose]))
    await candidate.slow_has_begun()

    calling.cancel()

    async with asyncio.timeout(5):
        with pytest.raises(asyncio.CancelledError):
            await calling


async def test_a_cancelled_call_leaves_the_model_usable(candidate: Candidate) -> None:
    for _ in range(2):
        calling = asyncio.create_task(candidate.slow.reply(TO_PLAN))
        await candidate.slow_has_begun()
        calling.cancel()
        with pytest.raises(asyncio.CancelledError):
            await calling

    assert (await candidate.model.reply(TO_PLAN)).stop_reason == "end_turn"


async def test_replies_to_calls_at_the_same_time_do_not_mix(candidate: Candidate) -> None:
    planned, asking, reconciled = await asyncio.gather(*map(candidate.model.reply, REQUESTS.values()))

    assert read_plan(text_of(planned.content)).tasks
    assert tool_calls_of(asking.content)
    assert read_synthesis(text_of(reconciled.content), ["t1"], []).answer


async def test_closing_twice_is_closing_once(candidate: Candidate) -> None:
    await candidate.model.reply(TO_PLAN)

    await candidate.model.close()
    await candidate.model.close()
