"""The stub provider: as strict as the real one, and steered from this process or another."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from app.llm.claude import Claude
from tests.support.model_calls import claude_at, request
from tests.support.stub_answers import call, paused, smallest, text
from tests.support.stub_provider import StubProvider
from tests.support.stub_rules import refusal_of
from tests.support.stub_script import role_of

HELLO = {"role": "user", "content": "hello"}
ASKED = {"role": "assistant", "content": [call("add", {}, call_id="toolu_1")]}
RESULT = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "4"}
TEXT = {"type": "text", "text": "and?"}
OBJECT = {"type": "object", "properties": {}}


def _body(**changes: Any) -> dict[str, Any]:
    body = {"model": "m", "max_tokens": 10, "messages": [HELLO], **changes}
    return {name: value for name, value in body.items() if value is not None}


def _format(schema: dict[str, Any]) -> dict[str, Any]:
    return {"format": {"type": "json_schema", "schema": schema}}


ACCEPTED: dict[str, dict[str, Any]] = {
    "plain": {},
    "answered call": {"messages": [HELLO, ASKED, {"role": "user", "content": [RESULT, TEXT]}]},
    "paused turn": {"messages": [HELLO, {"role": "assistant", "content": list(paused().content)}]},
    "closed schema": {"output_config": _format({**OBJECT, "additionalProperties": False})},
}
REFUSED: dict[str, dict[str, Any]] = {
    "no model": {"model": None},
    "no max_tokens": {"max_tokens": None},
    "no messages": {"messages": None},
    "empty messages": {"messages": []},
    "zero max_tokens": {"max_tokens": 0},
    "temperature": {"temperature": 0},
    "unknown field": {"frobnicate": 1},
    "forced tool": {"tool_choice": {"type": "any"}},
    "prefill": {"messages": [HELLO, {"role": "assistant", "content": "The answer is"}]},
    "assistant first": {"messages": [{"role": "assistant", "content": "hi"}, HELLO]},
    "empty text": {"messages": [{"role": "user", "content": [{"type": "text", "text": ""}]}]},
    "empty message": {"messages": [{"role": "user", "content": []}]},
    "orphan result": {"messages": [{"role": "user", "content": [RESULT]}]},
    "unanswered call": {"messages": [HELLO, ASKED, HELLO]},
    "call at the end": {"messages": [HELLO, ASKED]},
    "text before result": {"messages": [HELLO, ASKED, {"role": "user", "content": [TEXT, RESULT]}]},
    "open schema": {"output_config": _format(OBJECT)},
    "schema with limits": {"output_config": _format({"type": "string", "maxLength": 3})},
    "five breakpoints": {"messages": [{"role": "user", "content": [{**TEXT, "cache_control": {}}] * 5}]},
}


@pytest.mark.parametrize("name", ACCEPTED)
def test_what_the_provider_takes_is_taken(name: str) -> None:
    assert refusal_of(_body(**ACCEPTED[name])) is None


@pytest.mark.parametrize("name", REFUSED)
def test_what_the_provider_refuses_is_refused(name: str) -> None:
    assert refusal_of(_body(**REFUSED[name])) is not None


@pytest.mark.parametrize(
    ("fields", "role"),
    [
        ({"output_config": _format({**OBJECT, "properties": {"tasks": {}}})}, "plan"),
        ({"output_config": _format({**OBJECT, "properties": {"answer": {}}})}, "synthesize"),
        ({"output_config": _format({**OBJECT, "properties": {"instruction": {}}})}, "refine"),
        ({"system": [{"type": "text", "text": 'You are the worker "writer" of a team.'}]}, "work:writer"),
        ({}, "work"),
    ],
)
def test_a_role_is_told_from_the_request(fields: dict[str, Any], role: str) -> None:
    assert role_of(_body(**fields)) == role


async def test_the_most_particular_rule_wins(stub: StubProvider, claude: Claude) -> None:
    stub.on("work", text("any worker"))
    stub.on("work:researcher", replies=[text("queued")])
    stub.on("work:researcher", text("standing"))
    stub.on("work:researcher", call=2, reply=text("second"))
    said = [(await claude.reply(request())).content[0]["text"] for _ in range(4)]
    other = await claude.reply(request(system='You are the worker "writer".'))
    assert said == ["queued", "second", "standing", "standing"]
    assert other.content[0]["text"] == "any worker"
    assert [seen.call for seen in stub.log] == [1, 2, 3, 4, 1]


async def test_without_a_rule_the_answer_fits_the_schema(stub: StubProvider, claude: Claude) -> None:
    schema = {
        "type": "object",
        "properties": {
            "tasks": {"type": "array", "items": {"$ref": "#/$defs/Task"}, "minItems": 1},
            "note": {"anyOf": [{"type": "null"}, {"type": "string"}]},
        },
        "required": ["tasks", "note"],
        "additionalProperties": False,
        "$defs": {
            "Task": {
                "type": "object",
                "properties": {"worker": {"enum": ["a", "b"]}, "size": {"type": "integer"}},
                "required": ["worker"],
                "additionalProperties": False,
            }
        },
    }
    reply = await claude.reply(request(output_schema=schema))
    assert json.loads(reply.content[0]["text"]) == {"tasks": [{"worker": "a"}], "note": None} == smallest(schema)


async def test_a_request_without_a_key_is_refused(stub: StubProvider) -> None:
    async with aiohttp.ClientSession() as http, http.post(f"{stub.url}/v1/messages", json=_body()) as response:
        assert response.status == 401
    assert stub.log[0].outcome == "rejected"


@asynccontextmanager
async def _stub_process(log_file: Path) -> AsyncIterator[str]:
    arguments = [
        "-m",
        "tests.support.stub_provider",
        "--script",
        "tests.llm.test_stub_provider:script",
        "--log",
        str(log_file),
    ]
    process = await asyncio.create_subprocess_exec(sys.executable, *arguments, stdout=asyncio.subprocess.PIPE)
    assert process.stdout is not None
    try:
        yield (await asyncio.wait_for(process.stdout.readline(), 30)).decode().strip()
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


def script(stub: StubProvider) -> None:
    """What the process below is started with."""
    stub.on("work", text("from the script"))


async def test_a_stub_in_a_process_of_its_own_is_steered_over_http_and_its_log_survives_it(tmp_path: Path) -> None:
    log_file = tmp_path / "log.jsonl"
    async with _stub_process(log_file) as url, aiohttp.ClientSession() as http:
        claude = claude_at(url)
        first = await claude.reply(request())
        rule = {"role": "work", "call": 2, "reply": asdict(text("held back", latch="later"))}
        await http.post(f"{url}/_script", json=rule)
        second = asyncio.create_task(claude.reply(request()))
        async with http.get(f"{url}/_seen", params={"n": 2, "role": "work"}) as response:
            assert (await response.json())["outcome"] == "open"
        await http.post(f"{url}/_release", json={"latch": "later"})
        said = [first.content[0]["text"], (await second).content[0]["text"]]
        async with http.get(f"{url}/_log") as response:
            assert [seen["outcome"] for seen in await response.json()] == ["answered", "answered"]
        await claude.close()
    assert said == ["from the script", "held back"]
    assert len(log_file.read_text().splitlines()) == 4
