import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from itertools import count
from typing import Any

import pytest

from app.domain import events as ev
from app.domain.protocol import LONGEST_TEXT
from app.tools.tool import ToolContext
from tests.support.service import Service, new_run_id, plan_of, report, synthesis, task
from tests.support.stub_answers import (
    Answer,
    as_json,
    call,
    paused,
    refusal,
    text,
    thinking,
    tool_calls,
    truncated_call,
)
from tests.support.stub_provider import StubProvider
from tests.support.stub_script import SeenRequest
from tests.support.toolbox import Note, Nothing, Numbers, team_with, tool

KEEP = plan_of(task("t1", "keeper"))


def results_in(seen: SeenRequest) -> list[dict[str, Any]]:
    """The tool results that the last message of a request starts with."""
    return [block for block in seen.body["messages"][-1]["content"] if block["type"] == "tool_result"]


def raw_call(name: str, given: Any, call_id: str = "toolu_raw") -> dict[str, Any]:
    """A tool call as no well-behaved model would write it."""
    return {"type": "tool_use", "id": call_id, "name": name, "input": given}


async def task_error(service: Service, run_id: str) -> str | None:
    """The code of the first task's error."""
    [first, *_] = (await service.folded(run_id)).tasks.values()
    return first.error.code if first.error else None


async def returning(value: Any) -> Any:
    return value


def saying(output: Any) -> Callable[[Any, ToolContext], Awaitable[Any]]:
    """What a tool does that always says the same."""
    return lambda _, __: returning(output)


def keeping(kept: list[Any]) -> Callable[[Any, ToolContext], Awaitable[str]]:
    """What a tool does that keeps what it is given."""

    async def keep(given: Any, _: ToolContext) -> str:
        kept.append(given)
        return "kept"

    return keep


@pytest.mark.parametrize("followed", [True, False])
async def test_a_call_that_was_cut_never_runs_and_is_asked_for_with_more_room_once(
    service: Service, stub: StubProvider, followed: bool
) -> None:
    kept: list[Note] = []
    save = tool("save_note", keeping(kept), arguments=Note, effect="once")
    service.offer(save)
    stub.on("work", truncated_call("save_note", '{"path":"a.txt","body":"hal'))
    run_id, heard = new_run_id(), list[str]()

    with service.runtime.deltas.listening(run_id if followed else "another run", heard.append):
        await service.submit(team=team_with(save), plan=KEEP, limits={"attempts": 1}, run_id=run_id)
        run = await service.ended(run_id)

    assert (run["status"], await task_error(service, run_id)) == ("failed", "output_truncated")
    assert kept == []
    first, second = stub.log
    assert second.body["max_tokens"] > first.body["max_tokens"]
    assert run["usage"]["llm_calls"] == 2
    assert run["usage"]["tool_calls"] == 0


async def test_every_call_of_a_turn_is_answered_in_order_whatever_became_of_it(
    service: Service, stub: StubProvider
) -> None:
    third_may_end = asyncio.Event()

    async def breaks(_: Any, __: ToolContext) -> str:
        third_may_end.set()
        raise RuntimeError

    async def comes_last(_: Any, __: ToolContext) -> str:
        await third_may_end.wait()
        return "C"

    tools = (
        tool("first", lambda _, __: returning("A")),
        tool("breaks", breaks),
        tool("late", comes_last),
        tool("hangs", lambda _, __: asyncio.Event().wait(), timeout_s=0.1),
    )
    service.offer(*tools)
    stub.on("work", call=1, reply=tool_calls(*(call(each.name, call_id=f"t{n}") for n, each in enumerate(tools, 1))))
    stub.on("work", as_json(report()))

    run = await service.ended(await service.submit(team=team_with(*tools), plan=KEEP))

    assert run["status"] == "succeeded"
    found = results_in(stub.log[1])
    assert [block["tool_use_id"] for block in found] == ["t1", "t2", "t3", "t4"]
    assert [block["is_error"] for block in found] == [False, True, False, True]
    assert (found[0]["content"], found[2]["content"]) == ("A", "C")
    assert "RuntimeError" in found[1]["content"]
    assert "did not finish within 0.1 s" in found[3]["content"]
    assert run["usage"]["tool_calls"] == 4


async def test_the_calls_of_a_turn_run_a_few_at_a_time(service: Service, stub: StubProvider) -> None:
    running, most = 0, 0

    async def count_themselves(_: Any, __: ToolContext) -> str:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0)
        running -= 1
        return "counted"

    counts = tool("counts", count_themselves)
    service.offer(counts)
    stub.on("work", call=1, reply=tool_calls(*(call("counts", call_id=f"t{n}") for n in range(60))))
    stub.on("work", as_json(report()))

    run = await service.ended(await service.submit(team=team_with(counts), plan=KEEP))

    assert run["usage"]["tool_calls"] == 60
    assert 1 < most <= 8


WRONG_CALLS: dict[str, tuple[dict[str, Any], Sequence[str]]] = {
    "of a tool that is not there": (raw_call("serch", {}), ["'serch'", "add_up"]),
    "with a list in a string": (raw_call("add_up", {"ids": "[1,2]"}), ["ids: Input should be a valid list"]),
    "with no object": (raw_call("add_up", ["x"]), ["is not valid"]),
    "with an unknown field": (raw_call("add_up", {"ids": [1], "colour": "red"}), ["colour: Extra inputs"]),
    "with a field left out": (raw_call("add_up", {}), ["ids: Field required"]),
}


@pytest.mark.parametrize("wrong", WRONG_CALLS)
async def test_a_wrong_call_is_answered_with_what_is_wrong_and_the_worker_goes_on(
    service: Service, stub: StubProvider, wrong: str
) -> None:
    block, reasons = WRONG_CALLS[wrong]
    summed: list[Numbers] = []
    add_up = tool("add_up", keeping(summed), arguments=Numbers)
    service.offer(add_up)
    stub.on("work", call=1, reply=tool_calls(block, before="Let me see."))
    stub.on("work", as_json(report()))

    run = await service.ended(await service.submit(team=team_with(add_up), plan=KEEP))

    assert (run["status"], summed) == ("succeeded", [])
    [result] = results_in(stub.log[1])
    assert result["is_error"] is True
    assert all(reason in result["content"] for reason in reasons), result["content"]
    assert stub.log[1].body["messages"][1]["content"][0]["text"] == "Let me see."


async def test_a_text_that_looks_like_json_reaches_the_tool_as_the_text_it_is(
    service: Service, stub: StubProvider
) -> None:
    kept: list[Note] = []
    save = tool("save_note", keeping(kept), arguments=Note)
    service.offer(save)
    stub.on("work", call=1, reply=tool_calls(call("save_note", {"path": "a", "body": '{"a":1}'})))
    stub.on("work", as_json(report()))

    await service.ended(await service.submit(team=team_with(save), plan=KEEP))

    assert [note.body for note in kept] == ['{"a":1}']


async def test_three_wrong_calls_in_a_row_end_the_attempt_and_fewer_do_not(
    service: Service, stub: StubProvider
) -> None:
    good = tool("good", lambda _, __: returning("fine"))
    service.offer(good)
    wrong = [tool_calls(call(f"wrong_{number}")) for number in range(7)]
    stub.on("work", replies=[*wrong[:2], tool_calls(call("good")), *wrong[2:]])

    run_id = await service.submit(team=team_with(good), plan=KEEP, limits={"attempts": 1})
    run = await service.ended(run_id)

    assert (run["status"], await task_error(service, run_id)) == ("failed", "tool_call_invalid")
    assert len(stub.log) == 6


async def test_a_paused_turn_is_continued_as_it_came(service: Service, stub: StubProvider) -> None:
    pause = paused(
        thinking("hm"), {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "q"}}
    )
    stub.on("work", replies=[pause, as_json(report("ok"))])

    run = await service.ended(await service.submit(plan=plan_of(task("t1"))))

    assert (run["status"], run["result"]["answer"]) == ("succeeded", "ok")
    messages = stub.log[1].body["messages"]
    assert [message["role"] for message in messages] == ["user", "assistant"]
    assert messages[1]["content"] == list(pause.content)


async def test_a_turn_that_never_stops_pausing_is_given_up(service: Service, stub: StubProvider) -> None:
    stub.on("work", lambda _: paused())

    run_id = await service.submit(plan=plan_of(task("t1")), limits={"attempts": 1})
    await service.ended(run_id)

    assert await task_error(service, run_id) == "max_steps"
    assert len(stub.log) <= 10


ENDINGS: dict[str, tuple[Answer, str]] = {
    "an unknown reason": (text("All done!", stop_reason="solar_flare"), "unexpected_stop_reason"),
    "a refusal": (refusal(), "model_refusal"),
    "a refusal with words": (text("I will not.", stop_reason="refusal"), "model_refusal"),
    "a full context": (text("half an ans", stop_reason="model_context_window_exceeded"), "context_exceeded"),
}


@pytest.mark.parametrize("ending", ENDINGS)
async def test_a_reply_counts_only_when_it_ended_as_a_reply_should(
    service: Service, stub: StubProvider, ending: str
) -> None:
    answer, code = ENDINGS[ending]
    stub.on("work", answer)

    run_id = await service.submit(plan=plan_of(task("t1")), limits={"attempts": 1})
    run = await service.ended(run_id)

    assert (run["status"], await task_error(service, run_id)) == ("failed", code)
    assert run["result"] is None


async def test_a_worker_that_does_not_finish_within_its_steps_has_failed(service: Service, stub: StubProvider) -> None:
    numbers = count()
    step = tool("step", lambda _, __: returning(f"step {next(numbers)}"))
    service.offer(step)
    stub.on("work", lambda _: tool_calls(call("step"), before="Nearly there."))

    run_id = await service.submit(team=team_with(step, max_steps=4), plan=KEEP, limits={"attempts": 1})
    await service.ended(run_id)

    assert await task_error(service, run_id) == "max_steps"
    assert len(stub.log) == 4


async def test_calls_that_a_server_numbers_anew_in_each_reply_are_different_calls(
    service: Service, stub: StubProvider
) -> None:
    keys: list[str] = []
    keep = tool("keep", lambda _, context: keys.append(context.key), effect="idempotent")
    service.offer(keep)
    stub.on("work", replies=[tool_calls(call("keep", call_id="call_0"))] * 2, reply=as_json(report()))

    run_id = await service.submit(team=team_with(keep), plan=KEEP)
    await service.ended(run_id)

    assert len(set(keys)) == 2
    assert keys == [event.data.key for event in await service.events(run_id) if isinstance(event.data, ev.ToolStarted)]


async def test_the_same_call_with_the_same_outcome_is_stopped_after_four(service: Service, stub: StubProvider) -> None:
    stub.on("work", lambda _: tool_calls(call("read_input", {"action": "read", "name": "big"})))

    run_id = await service.submit(plan=plan_of(task("t1", "analyst")), limits={"attempts": 1})
    run = await service.ended(run_id)

    assert await task_error(service, run_id) == "no_progress"
    assert run["usage"]["tool_calls"] <= 4


async def test_the_same_call_is_not_stopped_while_its_outcome_changes(service: Service, stub: StubProvider) -> None:
    numbers = count()
    poll = tool("poll", lambda _, __: returning(f"{next(numbers)} of 9"))
    service.offer(poll)
    stub.on("work", replies=[tool_calls(call("poll")) for _ in range(9)], reply=as_json(report()))

    run = await service.ended(await service.submit(team=team_with(poll), plan=KEEP))

    assert (run["status"], run["usage"]["tool_calls"]) == ("succeeded", 9)


async def test_a_huge_output_is_shown_by_head_and_tail_with_its_size(service: Service, stub: StubProvider) -> None:
    huge = "HEAD" + "𝄞" * (5_000_000 - 8) + "TAIL"
    outputs: dict[str, Any] = {"huge": huge, "empty": "", "blank": "  \n ", "data": {"rows": ["x" * 50] * 1_000}}
    tools = [tool(name, saying(output)) for name, output in outputs.items()]
    service.offer(*tools)
    stub.on("work", call=1, reply=tool_calls(*(call(name) for name in outputs)))
    stub.on("work", as_json(report()))

    run = await service.ended(await service.submit(team=team_with(*tools), plan=KEEP))

    assert run["status"] == "succeeded"
    shown, empty, blank, data = (block["content"] for block in results_in(stub.log[1]))
    assert shown.startswith("HEAD𝄞")
    assert shown.endswith("𝄞TAIL")
    assert "of 5000000 characters omitted" in shown
    assert "\ufffd" not in shown
    assert max(len(shown), len(data)) <= tools[0].output_limit
    assert empty == blank == "(the tool returned nothing)"
    assert "do not parse" in data


ODD = "a\x00b \\u0000 x\ud800 y \ud83c\udf78"
CLEAN = "a\ufffdb \\u0000 x\ufffd y \U0001f378"


async def test_text_that_cannot_be_stored_is_cleaned_wherever_it_comes_from(
    service: Service, stub: StubProvider
) -> None:
    heard: list[Note] = []

    async def breaks(_: Any, __: ToolContext) -> str:
        raise ValueError(ODD)

    odd = tool("odd", lambda _, __: returning({"odd": ODD, "not a number": float("nan")}))
    hears = tool("hears", keeping(heard), arguments=Note)
    tools = (odd, tool("breaks", breaks), hears)
    service.offer(*tools)
    calls = [call("odd"), call("breaks"), call("hears", {"path": "p", "body": ODD})]
    stub.on("work", call=1, reply=tool_calls(*calls, before=ODD))
    stub.on("work", Answer(content=[{"type": "text", "text": json.dumps(report(ODD))}]))

    run_id = await service.submit(team=team_with(*tools), plan=KEEP)
    run = await service.ended(run_id)

    assert (run["status"], run["result"]["answer"]) == ("succeeded", CLEAN)
    said, *_ = stub.log[1].body["messages"][1]["content"]
    assert said["text"] == CLEAN
    data, broke, _ = results_in(stub.log[1])
    assert json.loads(data["content"]) == {"odd": CLEAN, "not a number": None}
    assert CLEAN in broke["content"]
    assert [note.body for note in heard] == [CLEAN]
    for event in await service.events(run_id):
        json.dumps(event.data.model_dump(mode="json"), allow_nan=False).encode()


ASTRAY = ["../ws-10/secret", "/etc/passwd", "%2e%2e/ws-10/secret", "sec\x00ret", "a" * 5_000, "./ok.txt", "OK.TXT"]


@pytest.mark.parametrize("name", ASTRAY, ids=range(len(ASTRAY)))
async def test_inputs_are_found_by_their_exact_names_and_nothing_else_is(
    service: Service, stub: StubProvider, name: str
) -> None:
    stub.on("work", replies=[
        tool_calls(call("read_input", {"action": "read", "name": name}, call_id="astray")),
        tool_calls(call("read_input", {"action": "read", "name": "ok.txt"}, call_id="there")),
    ], reply=as_json(report()))  # fmt: skip
    inputs = [{"name": "ok.txt", "content": "the right one"}]

    run = await service.ended(await service.submit(plan=plan_of(task("t1", "analyst")), inputs=inputs))

    assert run["status"] == "succeeded"
    [astray], [there] = results_in(stub.log[1]), results_in(stub.log[2])
    assert astray["is_error"] is True
    assert "root:" not in astray["content"]
    assert (there["is_error"], "1: the right one" in there["content"]) == (False, True)


async def test_an_escalation_fails_the_attempt_and_is_no_result(service: Service, stub: StubProvider) -> None:
    escalation = {"reason": "ambiguous_input", "message": "Which of the two?"}
    stub.on("work:researcher", as_json(report("What I have so far.", escalation=escalation)))
    stub.on("rule", as_json({"decision": "give_up", "worker": None, "instruction": None, "reason": "no"}))
    stub.on("work", as_json(report("fine")))
    stub.on("synthesize", as_json(synthesis("the answer", "b")))

    run_id = await service.submit(plan=plan_of(task("a", "researcher"), task("b")), limits={"attempts": 1})
    run = await service.ended(run_id)

    assert (run["status"], run["result"]["coverage"]["missing"]) == ("partial", ["a"])
    state = (await service.folded(run_id)).tasks["a"]
    assert state.attempts[0].escalation is not None
    assert (state.attempts[0].escalation.reason, state.attempts[0].escalation.partial) == (
        "ambiguous_input",
        "What I have so far.",
    )
    assert state.error is not None
    assert "Which of the two?" in state.error.message
    assert "What I have so far." not in json.dumps(stub.of("synthesize")[0].body)


async def test_a_result_that_does_not_fit_its_schema_is_sent_back_with_the_reason(
    service: Service, stub: StubProvider
) -> None:
    team = team_with(
        output_schema={
            "type": "object",
            "properties": {"n": {"type": "integer"}},
            "required": ["n"],
            "additionalProperties": False,
        }
    )
    stub.on("work", replies=[as_json(report(data={"n": "many"})), as_json(report(data={"n": 3}))])

    run = await service.ended(await service.submit(team=team, plan=KEEP))

    assert (run["status"], run["result"]["data"]) == ("succeeded", {"n": 3})
    assert "data.n" in stub.log[1].body["messages"][-1]["content"][0]["text"]


async def test_a_result_that_stays_unusable_fails_the_attempt(service: Service, stub: StubProvider) -> None:
    stub.on("work", text('{"summary": "", "text": ""}'))

    run_id = await service.submit(plan=plan_of(task("t1")), limits={"attempts": 1})
    await service.ended(run_id)

    assert await task_error(service, run_id) == "output_invalid"
    assert len(stub.log) == 2


async def test_an_answer_beyond_all_measure_ends_its_task_and_is_not_asked_for_again(
    service: Service, stub: StubProvider
) -> None:
    stub.on("work", text("x" * (LONGEST_TEXT + 1)))

    run_id = await service.submit(plan=plan_of(task("t1")), limits={"attempts": 3})
    run = await service.ended(run_id)

    assert (run["status"], await task_error(service, run_id)) == ("failed", "result_too_large")
    assert len(stub.log) == 1


async def test_a_worker_is_offered_its_own_tools_and_no_others(service: Service, stub: StubProvider) -> None:
    mine, other = (tool(name, lambda _, __: returning("x"), arguments=Nothing) for name in ("mine", "other"))
    service.offer(mine, other)
    stub.on("work", call=1, reply=tool_calls(call("other")))
    stub.on("work", as_json(report()))

    await service.ended(await service.submit(team=team_with(mine), plan=KEEP))

    assert [offered["name"] for offered in stub.log[0].body["tools"]] == ["mine"]
    [result] = results_in(stub.log[1])
    assert result["is_error"] is True


async def test_a_result_without_proof_is_turned_down_once_and_then_fails_the_attempt(
    service: Service, stub: StubProvider
) -> None:
    invented = as_json(report("It is known.", sources=["https://invented.example/a"]))
    stub.on("work", replies=[invented, invented], reply=as_json(report("I do not know.")))
    stub.on("refine", as_json({"instruction": "Say what you know.", "change": "less"}))

    run_id = await service.submit(plan=plan_of(task("a")))
    run = await service.ended(run_id)

    assert (run["status"], run["result"]["answer"]) == ("succeeded", "I do not know.")
    first, _ = (await service.folded(run_id)).tasks["a"].attempts
    assert first.error is not None
    assert (first.error.code, "https://invented.example/a" in first.error.message) == ("result_rejected", True)
    assert "https://invented.example/a" in json.dumps(stub.log[1].body["messages"][-1])
