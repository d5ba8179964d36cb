"""Tools with effects, and processes that die around them: nothing that may happen once happens twice."""

import os
import signal
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from app.domain import events as ev
from app.domain.events import Event
from app.domain.team import Team
from app.domain.worker import Worker
from tests.crash.doomed import Doom, Zygote
from tests.crash.recovery import leave_to_others, survivor_of
from tests.support.effects import Ledger, Point
from tests.support.service import Service, plan_of, report, running_service, task
from tests.support.stub_answers import Answer, as_json, call, tool_calls
from tests.support.stub_provider import StubProvider
from tests.support.stub_script import SeenRequest

pytestmark = pytest.mark.usefixtures("_plain_logs", "_settled_heap")

TOOLS = ("send_mail", "put_record", "look_up")
OFFICE = Team(
    name="office", workers=(Worker(name="clerk", description="Does.", instructions="Do.", tools=TOOLS),)
)  # fmt: skip
ONE = plan_of(task("t1", "clerk"))


@pytest.fixture
async def service(database_url: str, stub: StubProvider) -> AsyncIterator[Service]:
    """Takes jobs, and executes none."""
    async with running_service(database_url, stub, engine=False) as service:
        yield service


@pytest.fixture
def doom(database_url: str, stub: StubProvider, tmp_path: Path) -> Doom:
    return Doom(database_url, stub.url, str(tmp_path / "ledger"), str(tmp_path / "logs"))


@pytest.fixture
def ledger(doom: Doom) -> Ledger:
    return Ledger(Path(doom.ledger))


def calls_once(*names: str) -> Any:
    """A worker that calls these tools in its first turn, each with its name for an id, and then reports."""
    calls = tool_calls(*(call(name, {"text": "x"}, call_id=f"toolu_{name}") for name in names))

    def answer(seen: SeenRequest) -> Answer:
        return calls if len(seen.body["messages"]) == 1 else as_json(report("all done"))

    return answer


def results_of(seen: SeenRequest) -> dict[str, dict[str, Any]]:
    """The tool results that a request carries, by the id of the call."""
    return {block["tool_use_id"]: block for block in seen.body["messages"][-1]["content"]}


def started(log: Sequence[Event], tool: str) -> list[ev.ToolStarted]:
    return [event.data for event in log if isinstance(event.data, ev.ToolStarted) and event.data.name == tool]


async def test_a_recorded_effect_is_kept_while_only_the_unfinished_tool_runs_again(
    service: Service, stub: StubProvider, zygote: Zygote, doom: Doom, ledger: Ledger
) -> None:
    stub.on("work", calls_once("send_mail", "look_up"))
    hangs = replace(doom, switch={"tool": "look_up", "point": "before", "hangs": True})

    async with zygote.doomed(hangs) as engine:
        run_id = await service.submit(team=OFFICE, plan=ONE)
        await service.until_logged(run_id, "tool.completed")
        os.kill(engine, signal.SIGKILL)
    await leave_to_others(service)
    async with survivor_of(service, stub, ledger):
        run = await service.ended(run_id)

    assert (run["status"], run["usage"]["tool_calls"]) == ("succeeded", 2)
    assert (ledger.times("send_mail").total(), ledger.times("look_up").total()) == (1, 1)
    [first, second] = stub.log
    assert {name: block["content"] for name, block in results_of(second).items()} == {
        "toolu_send_mail": "done",
        "toolu_look_up": "nothing about x",
    }
    assert first.body_sha256 != second.body_sha256
    log = await service.events(run_id)
    assert (len(started(log, "send_mail")), len(started(log, "look_up"))) == (1, 1)


@pytest.mark.parametrize(("point", "sent"), [("before", 0), ("after", 1)])
async def test_an_effect_that_may_happen_once_is_not_repeated_and_the_model_is_told(
    service: Service, stub: StubProvider, zygote: Zygote, doom: Doom, ledger: Ledger, point: Point, sent: int
) -> None:
    stub.on("work", calls_once("send_mail", "look_up"))

    run_id = await die_in(service, zygote, doom, "send_mail", point)
    async with survivor_of(service, stub, ledger):
        run = await service.ended(run_id)

    assert (run["status"], run["result"]["answer"]) == ("succeeded", "all done")
    assert ledger.times("send_mail").total() == sent
    [told] = [event.data for event in await service.events(run_id) if isinstance(event.data, ev.ToolFailed)]
    assert (told.call_id, told.error.code) == ("toolu_send_mail", "tool_outcome_unknown")
    shown = results_of(stub.log[-1])
    assert (shown["toolu_send_mail"]["is_error"], shown["toolu_look_up"]["is_error"]) == (True, False)
    assert "whether it took effect is not known" in shown["toolu_send_mail"]["content"]
    assert len(stub.log) == 2


@pytest.mark.parametrize(("point", "times"), [("before", 1), ("after", 2)])
async def test_an_idempotent_effect_is_repeated_under_the_same_key(
    service: Service, stub: StubProvider, zygote: Zygote, doom: Doom, ledger: Ledger, point: Point, times: int
) -> None:
    stub.on("work", calls_once("put_record"))

    run_id = await die_in(service, zygote, doom, "put_record", point)
    async with survivor_of(service, stub, ledger):
        run = await service.ended(run_id)

    assert (run["status"], run["usage"]["tool_calls"]) == ("succeeded", 1)
    [intended] = started(await service.events(run_id), "put_record")
    assert ledger.times("put_record") == {intended.key: times}
    [result] = results_of(stub.log[-1]).values()
    assert (result["content"], result["is_error"]) == ("done", False)


@pytest.mark.parametrize("tool", ["send_mail", "put_record"])
async def test_nothing_takes_effect_before_its_intent_is_recorded(
    service: Service, stub: StubProvider, zygote: Zygote, doom: Doom, ledger: Ledger, tool: str
) -> None:
    stub.on("work", calls_once(tool))
    # run.queued, run.started, plan.created, task.started, llm.completed, and then the intent.
    async with zygote.doomed(replace(doom, at=6, when="before")):
        run_id = await service.submit(team=OFFICE, plan=ONE)

    assert started(await service.events(run_id), tool) == []
    assert ledger.effects(tool) == []

    await leave_to_others(service)
    async with survivor_of(service, stub, ledger):
        run = await service.ended(run_id)
    assert run["status"] == "succeeded"
    assert list(ledger.times(tool).values()) == [1]


async def die_in(service: Service, zygote: Zygote, doom: Doom, tool: str, point: Point) -> str:
    """Submit a run and have its engine die in this tool; the run's id."""
    async with zygote.doomed(replace(doom, switch={"tool": tool, "point": point})):
        run_id = await service.submit(team=OFFICE, plan=ONE)
    await leave_to_others(service)
    return run_id
