"""Credentials in content: the tool gets the real one, and nobody else but the model that wrote it."""

import json
import logging
import re
from typing import Any

import pytest

from app.domain.credentials import without_credentials
from app.store.schema import TABLES
from app.tools.tool import ToolContext
from tests.support.fixtures import Services
from tests.support.rows import every
from tests.support.service import Service, new_run_id, plan_of, report, synthesis, task
from tests.support.stub_answers import as_json, call, error_event, held, tool_calls
from tests.support.stub_provider import StubProvider
from tests.support.toolbox import Note, team_with, tool

KEEP = plan_of(task("t1", "keeper"))
HEADER = '{"Authorization":"Bearer sk-test-0000111122223333"}'
SECRETS = ["sk-test-0000111122223333", "AKIAEXAMPLE00000000", "p4ssw0rd", "ghp_0123456789abcdefghijABCD"]
DSN = "postgresql://svc:p4ssw0rd@db/x"


async def stored(service: Service) -> str:
    """Every table that there is, as text."""
    rows = [await every(service.database, f"SELECT {table}::text AS row FROM {table}") for table in TABLES]
    return "\n".join(each["row"] for found in rows for each in found)


async def test_it_is_masked_wherever_it_is_stored_or_shown_and_the_tool_gets_it(
    service: Service, stub: StubProvider, caplog: pytest.LogCaptureFixture
) -> None:
    given: list[Note] = []

    async def keep(note: Note, _: ToolContext) -> str:
        given.append(note)
        if note.path == "broken":
            raise RuntimeError(f"cannot connect to {DSN}")
        return f"kept {note.body}"

    save = tool("save_note", keep, arguments=Note, effect="once")
    service.offer(save)
    stub.on("work", call=1, reply=tool_calls(call("save_note", {"path": HEADER, "body": SECRETS[1]}, call_id="a")))
    stub.on("work", call=2, reply=tool_calls(call("save_note", {"path": "broken", "body": ""}, call_id="b")))
    stub.on("work", as_json(report(f"Kept {SECRETS[1]}, not {DSN}.")))
    stub.on("synthesize", as_json(synthesis(f"{SECRETS[1]} was kept.", "t1")))

    with caplog.at_level(logging.INFO):
        run_id = await service.submit(
            f"Keep {SECRETS[3]}.",
            team=team_with(save),
            plan=KEEP,
            inputs=[{"name": "a.env", "content": f"TOKEN={SECRETS[3]}"}],
            metadata={"dsn": DSN},
        )
        run = await service.ended(run_id)

    assert run["status"] == "succeeded", run
    assert [note.body for note in given] == [SECRETS[1], ""]
    assert given[0].path == HEADER
    everything = await stored(service)
    for secret in SECRETS:
        for place in (everything, caplog.text):
            assert secret not in place
    assert everything.count("[secret:") > 8
    assert SECRETS[1] in json.dumps(stub.log[1].body)  # What the model sees is what it has said itself.


async def test_text_is_masked_while_it_is_written(service: Service, stub: StubProvider) -> None:
    secret, run_id, heard = SECRETS[3], new_run_id(), list[str]()
    whole = json.dumps(report(f"It is {secret}."))
    stub.on("work", call=1, reply=error_event("overloaded_error", after=whole[: whole.rindex(secret) + 10]))
    stub.on("work", as_json(report(f"Use {secret} there.")))
    stub.on("synthesize", as_json(synthesis("Done.", "t1")))

    with service.runtime.deltas.listening(run_id, heard.append):
        await service.submit(plan=plan_of(task("t1", "writer")), run_id=run_id)
        await service.ended(run_id)

    passages = [json.loads(frame)["data"] for frame in heard]
    text = "".join(each["text"] for each in passages if each["purpose"] == "work")
    assert secret[:8] not in text
    assert text.endswith(f"{without_credentials(f'Use {secret}')} there.")


async def test_an_input_whose_name_looks_like_one_is_found_by_the_name_that_is_shown(
    service: Service, stub: StubProvider
) -> None:
    name = "sk-sales-2024-quarter1.csv"
    stub.on("work", lambda seen: read(seen.body), call=1)
    stub.on("work", as_json(report("Read.")))
    stub.on("synthesize", as_json(synthesis("Read.", "t1")))

    def read(body: dict[str, Any]) -> Any:
        [shown, *_] = re.findall(r"\[secret:\w{4}\]\.csv", json.dumps(body["messages"][0]))
        return tool_calls(call("read_input", {"action": "read", "name": shown}))

    plan, given = plan_of(task("t1", "analyst")), {"name": name, "content": "region,euros"}
    run = await service.ended(await service.submit(plan=plan, inputs=[given]))

    assert run["status"] == "succeeded", run
    assert "1: region,euros" in json.dumps(stub.log[1].body)
    assert name not in await stored(service)


async def test_a_process_that_goes_on_with_a_call_does_not_act_on_a_mark(
    services: Services, stub: StubProvider
) -> None:
    given: list[Any] = []

    async def keep(note: Note, _: ToolContext) -> str:
        given.append(note)
        return "kept"

    save, quick = tool("save_note", keep, arguments=Note, effect="once"), {"lease_seconds": 0.6, "poll_seconds": 0.1}
    first = await services.start(**quick)
    first.offer(save)
    stub.on("work", call=1, reply=tool_calls(call("save_note", {"path": "a", "body": SECRETS[1]}, call_id="a")))
    stub.on("work", call=2, reply=held(as_json(report("Kept."))))
    run_id = await first.submit(team=team_with(save), plan=KEEP)
    await stub.seen(2)
    stub.on("work", lambda seen: again(seen.body))
    stub.on("synthesize", as_json(synthesis("Kept.", "t1")))

    def again(body: dict[str, Any]) -> Any:
        [asked] = [block for block in body["messages"][1]["content"] if block["type"] == "tool_use"]
        answered = [
            block for message in body["messages"] for block in message["content"] if block["type"] == "tool_result"
        ]
        if len(answered) < 2:
            return tool_calls(call("save_note", asked["input"], call_id="again"))
        return as_json(report("Kept once."))

    await services.crash(first)
    second = await services.start(**quick)
    second.offer(save)
    await second.ended(run_id)

    assert [note.body for note in given] == [SECRETS[1]]
    [*_, last] = stub.log
    sent = json.dumps(last.body)
    assert SECRETS[1] not in sent
    assert "was masked when it was stored" in sent
