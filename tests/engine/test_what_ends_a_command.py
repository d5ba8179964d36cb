"""What ends a command is seen before anything else is decided, however it ended, and whether it wanted to or not."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from structlog.testing import capture_logs

from app.domain import events as ev
from app.domain.errors import FAULTS
from app.engine import engine, under_way
from app.engine.run_desk import RunDesk
from app.llm import claude
from app.store import journal_sql, projection
from app.tools.tool import ToolContext
from tests.support.fixtures import Services
from tests.support.rows import every
from tests.support.service import Service, plan_of, report, synthesis, task
from tests.support.stub_answers import as_json, call, delayed, held, overloaded, refusal, text, tool_calls
from tests.support.stub_provider import StubProvider
from tests.support.toolbox import BreakingModel, team_with, tool
from tests.support.waiting import until

TWO = plan_of(task("a"), task("b"))
KEEP = plan_of(task("t1", "keeper"))


@pytest.mark.parametrize(
    ("purpose", "broken", "calls"),
    [
        ("plan", "supervisor.plan.read_plan", 1),
        ("plan", "ask.thrown_away", 1),
        ("plan", "ask._provider_tools", 1),
        ("synthesize", "supervisor.synthesize.read_reply", 4),
    ],
)
async def test_a_reply_that_breaks_our_code_is_asked_for_once_and_counted(
    service: Service,
    stub: StubProvider,
    monkeypatch: pytest.MonkeyPatch,
    purpose: str,
    broken: str,
    calls: int,
) -> None:
    def read(*_: Any) -> None:
        raise AttributeError("a bug")

    monkeypatch.setattr(f"app.agents.{broken}", read)
    stub.on("plan", as_json(TWO))
    stub.on("work", as_json(report()))
    stub.on("synthesize", as_json(synthesis()))

    with capture_logs() as lines:
        run = await service.ended(await service.submit())

    ends = {"plan": ("failed", "internal_error"), "synthesize": ("partial", "synthesis_failed")}
    assert (run["status"], run["stop_reason"]) == ends[purpose]
    assert run["usage"]["llm_calls"] == len(stub.log) == calls
    assert [line["event"] for line in lines].count("reply broke") == 1
    assert "run broke" not in [line["event"] for line in lines]


async def test_a_call_that_breaks_our_code_when_it_has_been_paid_for_is_counted(
    service: Service, stub: StubProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any) -> None:
        raise KeyError("a bug")

    monkeypatch.setattr(claude, "without_reasoning", broken)
    stub.on("plan", as_json(TWO, usage={"input_tokens": 700, "output_tokens": 40}))

    run = await service.ended(await service.submit())

    assert (run["status"], run["stop_reason"]) == ("failed", "internal_error")
    counted = {name: run["usage"][name] for name in ("llm_calls", "input_tokens", "output_tokens")}
    assert counted == {"llm_calls": 1, "input_tokens": 700, "output_tokens": 40}


async def test_the_silence_of_a_provider_is_not_the_time_of_the_worker(service: Service, stub: StubProvider) -> None:
    silence_s = 0.6
    look = tool("look", lambda *_: "seen")
    service.offer(look)
    stub.on("work", replies=[delayed(tool_calls(call("look")), silence_s)], reply=as_json(report()))

    run = await service.ended(await service.submit(team=team_with(look, timeout_s=0.5), plan=KEEP))

    assert run["status"] == "succeeded"
    events = await service.events(run["id"])
    silent = [event.data.silent_ms for event in events if isinstance(event.data, ev.LlmCompleted)]
    assert silent[0] >= silence_s * 1_000
    assert silent[1] < silence_s * 1_000


@pytest.mark.parametrize("purpose", ["plan", "synthesize"])
async def test_a_supervisors_command_that_breaks_is_not_carried_out_again(
    service: Service, stub: StubProvider, purpose: str
) -> None:
    service.runtime.model = model = BreakingModel(service.runtime.model, purpose)
    stub.on("plan", as_json(TWO))
    stub.on("work", as_json(report()))

    with capture_logs() as lines:
        run = await service.ended(await service.submit())

    assert (run["status"], run["stop_reason"], model.broken) == ("failed", "internal_error", 1)
    assert [line["event"] for line in lines].count("attempt broke") == 1
    assert "run broke" not in [line["event"] for line in lines]


async def test_a_refinement_that_breaks_ends_its_task_alone(service: Service, stub: StubProvider) -> None:
    service.runtime.model = model = BreakingModel(service.runtime.model, "refine")
    stub.on("work:researcher", text('{"summary": ""}'))
    stub.on("work", as_json(report()))
    stub.on("synthesize", as_json(synthesis(without=["b"])))

    run = await service.ended(await service.submit(plan=plan_of(task("a"), task("b", "researcher"))))

    assert (run["status"], run["stop_reason"]) == ("partial", "gaps")
    assert [gap["reason"] for gap in run["result"]["gaps"]] == ["internal_error"]
    assert (run["usage"]["llm_calls"], model.broken) == (len(stub.log), 1)


async def test_a_supervisor_that_calls_a_tool_is_told_that_there_is_none(service: Service, stub: StubProvider) -> None:
    stub.on("plan", replies=[tool_calls(call("look_up"))], reply=as_json(plan_of(task("only"))))
    stub.on("work", as_json(report()))

    run = await service.ended(await service.submit())

    assert run["status"] == "succeeded"
    [told] = [block["text"] for block in stub.of("plan")[1].body["messages"][-1]["content"] if block["type"] == "text"]
    assert "there are none" in told


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(under_way, "LAST_WORDS_SECONDS", 0.1)


async def _stubborn(release: asyncio.Event) -> str:
    """Wait, whoever wants it to stop."""
    while not release.is_set():
        try:
            await release.wait()
        except asyncio.CancelledError:
            continue
    return "too late"


@pytest.mark.usefixtures("hasty")
@pytest.mark.parametrize("end", ["cancel", "deadline"])
async def test_a_tool_that_swallows_its_cancellation_does_not_keep_its_run_from_ending(
    service: Service, stub: StubProvider, end: str
) -> None:
    began, release = asyncio.Event(), asyncio.Event()

    async def stay(_: Any, __: ToolContext) -> str:
        began.set()
        return await _stubborn(release)

    stays = tool("stays", stay, effect="idempotent")
    service.offer(stays)
    stub.on("work", tool_calls(call("stays")))
    limits = {"timeout_s": 1} if end == "deadline" else {}

    with capture_logs() as lines:
        run_id = await service.submit(team=team_with(stays), plan=KEEP, limits=limits)
        await asyncio.wait_for(began.wait(), 10)
        if end == "cancel":
            await service.cancel(run_id)
        run = await service.ended(run_id, timeout_s=10)
        release.set()
        await until(lambda: not under_way._dismissed)

    assert run["stop_reason"] == {"cancel": "cancelled", "deadline": "deadline_exceeded"}[end]
    assert "command dismissed" in [line["event"] for line in lines]
    assert [event.type for event in await service.events(run_id)].count("tool.completed") == 0


async def test_a_stubborn_tool_does_not_keep_its_run_from_being_handed_over(
    services: Services, stub: StubProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(under_way, "LAST_WORDS_SECONDS", 1.0)
    monkeypatch.setattr(engine, "STOP_SECONDS", 0.8)
    began, release = asyncio.Event(), asyncio.Event()

    async def stay(_: Any, __: ToolContext) -> str:
        began.set()
        return await _stubborn(release)

    stays = tool("stays", stay)
    first, second = await services.start(drain_seconds=0, lease_seconds=60), await services.start(engine=False)
    first.offer(stays)
    stub.on("work", tool_calls(call("stays")))
    await first.submit(team=team_with(stays), plan=KEEP)
    await asyncio.wait_for(began.wait(), 10)
    await services.stop(first)
    [row] = await every(second.database, "SELECT status, owner FROM runs")
    release.set()
    await until(lambda: not under_way._dismissed)

    assert row == {"status": "running", "owner": None}


async def test_a_tool_with_effect_is_not_cut_off_because_its_neighbour_may_not_begin(
    services: Services, stub: StubProvider
) -> None:
    service = await services.start(drain_seconds=20)
    sending, sent = asyncio.Event(), asyncio.Event()

    async def send(_: Any, __: ToolContext) -> str:
        sending.set()
        await sent.wait()
        return "sent"

    async def look(_: Any, __: ToolContext) -> str:
        raise AssertionError("nothing begins while the process leaves")

    mail, looks = tool("send_mail", send, effect="once"), tool("look_up", look)
    service.offer(mail, looks)
    stub.on("work", call=1, reply=held(tool_calls(call("send_mail", call_id="m"), call("look_up", call_id="l"))))
    run_id = await service.submit(team=team_with(mail, looks), plan=KEEP)
    await stub.seen(1)
    service.runtime.draining.set()
    stub.release()
    await asyncio.wait_for(sending.wait(), 10)
    sent.set()
    log = await service.until_logged(run_id, "tool.completed")

    assert [event.data.name for event in log if isinstance(event.data, ev.ToolCompleted)] == ["send_mail"]


async def test_words_that_cannot_be_written_down_end_what_said_them_and_are_told_with_their_cause(
    service: Service, stub: StubProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows_of = projection.changed_rows

    def broken(run: Any, events: Any) -> Any:
        if any(event.type == "task.succeeded" and event.task_id == "a" for event in events):
            raise AttributeError("a bug")
        return rows_of(run, events)

    monkeypatch.setattr(journal_sql, "changed_rows", broken)
    stub.on("work", as_json(report()))
    stub.on("synthesize", as_json(synthesis(without=["a"])))
    then = task("b", needs=["a"], on_missing_input="proceed")

    with capture_logs() as lines:
        run = await service.ended(await service.submit(plan=plan_of(task("a"), then)), timeout_s=10)

    assert (run["status"], run["stop_reason"]) == ("partial", "gaps")
    assert [gap["reason"] for gap in run["result"]["gaps"]] == ["internal_error"]
    told = [line for line in lines if line["event"] == "events cannot be written"]
    assert [line["error"] for line in told] == ["AttributeError"]
    assert "in broken" in told[0]["where"]
    assert AttributeError in FAULTS


@pytest.mark.parametrize("purpose", ["plan", "work", "synthesize"])
async def test_a_clock_that_steps_back_before_a_repeated_call_breaks_nothing(
    service: Service, stub: StubProvider, monkeypatch: pytest.MonkeyPatch, purpose: str
) -> None:
    def late(_: RunDesk) -> datetime:
        back = timedelta(seconds=1) if under_way.speaking.get() else timedelta()
        return datetime.now(UTC) - back

    monkeypatch.setattr(RunDesk, "now", late)
    stub.on("plan", as_json(TWO))
    stub.on("work", as_json(report()))
    stub.on("synthesize", as_json(synthesis()))
    stub.on(purpose, call=1, reply=overloaded())

    run = await service.ended(await service.submit())

    assert run["status"] == "succeeded"


async def test_one_task_with_a_final_instruction_is_put_into_the_form_that_was_asked_for(
    service: Service, stub: StubProvider
) -> None:
    stub.on("work", as_json(report("raw")))
    stub.on("synthesize", as_json(synthesis("| in form |", "only")))

    in_form = await service.ended(await service.submit(plan=plan_of(task("only"), final_instruction="A table.")))
    as_it_is = await service.ended(await service.submit(plan=plan_of(task("only"), final_instruction=" ")))

    assert (in_form["result"]["answer"], as_it_is["result"]["answer"]) == ("| in form |", "raw")
    assert len(stub.of("synthesize")) == 1


async def test_the_log_tells_a_runs_life_and_nothing_of_what_it_is_about(service: Service, stub: StubProvider) -> None:
    stub.on("work:researcher", refusal())
    stub.on("work", as_json(report("the secret of the matter")))
    stub.on("synthesize", as_json(synthesis("the secret of all this matter", without=["b"])))
    plan = plan_of(task("a"), task("b", "researcher"), task("c", needs=["b"]))

    with capture_logs() as lines:
        run = await service.ended(await service.submit("The secret of the matter?", plan=plan))
        await until(lambda: any(line["event"] == "run ended" for line in lines))

    told = {line["event"]: line for line in lines if line.get("run_id") == run["id"]}
    assert {"run accepted", "run started", "plan made", "task failed", "task skipped", "run ended"} <= set(told)
    assert {line["log_level"] for line in told.values()} <= {"info", "warning"}  # The level of a service is info.
    failed, ended = told["task failed"], told["run ended"]
    assert (failed["log_level"], failed["task_id"], failed["code"]) == ("warning", "b", "model_refusal")
    assert (ended["log_level"], ended["status"], ended["stop_reason"]) == ("warning", "partial", "gaps")
    assert (ended["llm_calls"], ended["cost_usd"]) == (run["usage"]["llm_calls"], run["usage"]["cost_usd"])
    assert "secret" not in str(lines)
