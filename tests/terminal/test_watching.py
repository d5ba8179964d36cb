"""What is shown of runs where nothing is drawn, and what is typed about a job."""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from functools import partial
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import Any

import httpx2
import pytest
from rich.cells import cell_len

from app.client import Delta, Event, File, Refused
from app.terminal.errors import CommandRefused
from app.terminal.job_options import about_files, files_of, limits_of
from app.terminal.lines import lines_of
from app.terminal.output import console
from app.terminal.progress import Progress
from app.terminal.screen import screen
from app.terminal.views import LinesView
from app.terminal.watching import Watch
from tests.client.test_client import client_of, frame, problem, stream
from tests.support.service import CREW, Service, plan_of, report, synthesis, task
from tests.support.stub_answers import as_json, text
from tests.support.stub_provider import StubProvider
from tests.support.waiting import until
from tests.terminal.conftest import Typed

BEGAN = datetime(2026, 11, 29, 12, tzinfo=UTC)
USAGE = {"cost_usd": "0.25", "input_tokens": 900, "output_tokens": 100}
PLAN = plan_of(task("t1", "researcher"), task("t2", "analyst", ["t1"]), task("t3", "writer", ["t1", "t2"]))
WORDS = {"goal": "g", "strategy": "merge", "final_instruction": ""}
HOSTILE = "\x1b[2J\x1b]0;taken over\x07[bold]as it is[/bold]\r\u202e"


def told(seq: int, type_: str, task_id: str | None = None, attempt: int | None = None, **data: Any) -> Event:
    at = (BEGAN + timedelta(seconds=seq)).isoformat()
    return {
        "seq": seq, "type": type_, "at": at, "run_id": "run_1", "task_id": task_id, "attempt": attempt, "data": data
    }  # fmt: skip


def written(piece: str, task_id: str | None = None) -> Delta:
    data = {"purpose": "work" if task_id else "synthesize", "text": piece}
    at = BEGAN.isoformat()
    return {"type": "text.delta", "at": at, "run_id": "run_1", "task_id": task_id, "attempt": 1, "data": data}


def begun(*more: Event) -> Progress:
    run = Progress("run_1")
    team = {"name": "crew", "version": 1}
    failure = {"code": "timeout", "message": "It took too long."}
    for event in (
        told(0, "run.queued", objective="Find out.", team=team, limits={"cost_usd": "2.50", "tokens": 400_000}),
        told(1, "run.started"),
        told(2, "llm.completed", usage=USAGE),
        told(3, "plan.created", revision=1, **PLAN),
        told(4, "task.started", "t1", 1, worker="researcher"),
        told(5, "task.retrying", "t1", 1, error=failure, not_before="", next_attempt=2, refine=False),
        told(6, "task.started", "t1", 2, worker="researcher"),
        told(7, "tool.started", "t1", 2, name="query_data"),
        told(8, "something.new", "t1", 2),
        *more,
    ):
        run.take(event)
    return run


def drawn(run: Progress, width: int = 80, height: int = 30) -> list[str]:
    shown = screen(run, BEGAN + timedelta(seconds=11), width, height).plain
    lines = [line.rstrip() for line in shown.splitlines()]
    assert all(cell_len(line) <= width for line in lines)
    assert len(lines) <= height
    return lines


def test_a_tree_shows_state_worker_attempt_time_cost_and_why() -> None:
    run = begun(told(9, "llm.completed", "t1", 2, usage=USAGE))
    run.hear(written("It is known that\nthe mill was built in ", "t1"))
    run.hear(written("1887.", "t1"))

    assert drawn(run) == [
        "Find out.",
        "executing · crew@1 · run_1",
        "└─ ▶ t1 Task t1                      running   researcher   #2     7.0 s   $0.25",
        "   calls query_data, attempt 1 failed, timeout: It took too long.; once more",
        "   │ It is known that",
        "   │ the mill was built in 1887.",
        "   └─ · t2 Task t2                   pending   analyst",
        "      └─ · t3 Task t3                pending   writer",
        "         waits for t1, t2",
        "0 of 3 tasks · 10.0 s · $0.50 of $2.50 · 2,000 of 400,000 tokens",
    ]


def test_at_any_width_and_height_a_run_fits() -> None:
    many = plan_of(*[task(f"t{n}", "writer", [f"t{n - 1}"] if n % 3 else []) for n in range(100)])
    asked = told(10, "question.asked", "t3", 1, id="q_1", question="Which 年 is it? " * 20, choices=[])
    run = begun(told(9, "plan.revised", revision=2, **many), asked)
    run.hear(written("長い文章が続く" * 300))
    run.away = HOSTILE

    for width in (20, 40, 71, 72, 80, 200):
        for height in (8, 12, 30, sys.maxsize):
            drawn(run, width, height)
    assert any(" t1 " in line for line in drawn(begun(), 20)), "a task is named, however narrow it is"
    assert any(line.startswith(" … and 9") and line.endswith(" pending") for line in drawn(run, 80, 12))


def test_text_of_others_is_shown_and_never_obeyed() -> None:
    run = begun(told(9, "task.escalated", "t1", 2, reason="out_of_scope", message=HOSTILE))
    run.hear(written(HOSTILE, "t1"))
    run.objective = HOSTILE

    shown = "\n".join([*drawn(run), *lines_of(told(10, "gap.found", task="t1", reason=HOSTILE), run)])

    assert "[bold]as it is[/bold]" in shown
    assert not {"\x1b", "\x07", "\r", "\u202e"} & set(shown)


def test_what_people_are_asked_stands_whole_with_the_commands_that_decide() -> None:
    run = begun()
    question = told(10, "question.asked", "t1", 2, id="q_1", question="Why? " * 99, choices=[], expires_at=None)
    asked, command = lines_of(question, run)
    approval = told(11, "plan.approval_requested", revision=1, expires_at=BEGAN.isoformat(), default="reject")

    assert asked.count("Why?") == 99
    assert command.strip() == "chargehand answer run_1 q_1"
    assert [line.split()[1:] for line in lines_of(approval, run)[1:]] == [
        ["plan", "run_1"], ["approve", "run_1"], ["edit", "run_1"], ["reject", "run_1"],
    ]  # fmt: skip


def test_what_becomes_of_tasks_is_folded() -> None:
    run = begun(
        told(9, "question.asked", "t1", 2, id="q_1", question="Which?", choices=[], expires_at=BEGAN.isoformat()),
        told(10, "run.waiting", reason="answer"),
    )
    assert (run.tasks["t1"].status, run.phase, list(run.questions)) == ("waiting", "waiting for an answer", ["q_1"])
    for event in (
        told(11, "question.answered", "t1", 2, id="q_1", answer="this"),
        told(12, "run.resumed", usage=USAGE),
        told(13, "task.started", "t1", 3, worker="analyst"),
        told(14, "child.started", "t1", 3, run="run_2", team={"name": "general", "version": 1}),
        told(15, "child.ended", "t1", 3, run="run_2", status="succeeded", usage=USAGE),
        told(16, "task.succeeded", "t1", 3, summary="done"),
        told(17, "plan.revised", revision=2, reason="split", **plan_of(task("t9"))),
        told(18, "run.partial", stop_reason="gaps", result={}),
    ):
        run.take(event)

    assert (run.tasks["t1"].status, run.tasks["t1"].worker, run.tasks["t1"].is_planned) == (
        "succeeded",
        "analyst",
        False,
    )
    assert list(run.tasks) == ["t9", "t1"]
    assert (run.status, run.is_over, str(run.cost_usd), run.tokens) == ("partial", True, "0.75", 3_000)
    assert "no longer in the plan:" in drawn(run)


def test_limits_and_files_are_read_as_they_are_typed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    limits = limits_of(["cost=2.50", "timeout=90", "tokens=400000", "depth=1"])
    assert limits == {"cost_usd": "2.50", "timeout_s": 90.0, "tokens": 400_000, "depth": 1}
    for wrong in ("cost", "money=2", "tasks=1.5", "cost=-1", "cost=nan", "rounds=x", "cost=1e999999999"):
        with pytest.raises(CommandRefused, match="--limit"):
            limits_of([wrong])
    with pytest.raises(CommandRefused, match="twice"):
        limits_of(["cost=1", "cost_usd=2"])

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "stdin", TextIOWrapper(BytesIO(b"typed")))
    (tmp_path / "src").mkdir()
    (tmp_path / "src/a.py").write_text("pass")
    names = [(file.name, file.content) for file in files_of(["./src/a.py", str(tmp_path / "src/a.py"), "-"])]
    assert names == [("src/a.py", b"pass"), ("a.py", b"pass"), ("stdin", b"typed")]
    refused = problem(422, "request_invalid")
    said = Refused(refused, refused.json() | {"errors": [{"pointer": "/inputs/1/content", "detail": "Odd."}]})
    assert "; --input b.pdf/content: Odd." in about_files(said, [File("a.csv", b""), File("b.pdf", b"")])
    for missing in ("nowhere.csv", str(tmp_path), "\0", "/dev/zero"):
        with pytest.raises(CommandRefused, match="--input"):
            files_of([missing])


async def test_lines_tell_a_run_and_its_end_is_the_exit_status(
    service: Service, stub: StubProvider, at_service: Typed, tmp_path: Path
) -> None:
    await service.stored(CREW)
    table = tmp_path / "sales.csv"
    table.write_text("region,amount\nnorth,1200\n")
    stub.on("plan", as_json(plan_of(task("t1", "researcher"), task("t2", "writer"))))
    stub.on("work:researcher", as_json(report(f"found {HOSTILE}")))
    stub.on("work:writer", text("no report"))
    stub.on("synthesize", as_json(synthesis(f"All told. {HOSTILE}", "t1", without=["t2"])))

    asked = (
        "run",
        "Find out.",
        "--team",
        "crew",
        "--input",
        str(table),
        "--limit",
        "attempts=1",
        "--limit",
        "rounds=1",
    )
    ran = await at_service(*asked)
    [listed] = json.loads((await at_service("runs", "--json")).out)["data"]
    events = await at_service("watch", listed["id"], "--json")
    stub.on("plan", text("no plan"))
    failed = await at_service("run", "Find out.", "--team", "crew", "--json")

    assert "t1 started, researcher: Task t1" in ran.out
    assert "All told. ␛[2J␛]0;taken over␇[bold]as it is[/bold]" in ran.out
    assert not {"\x1b", "\x07", "\u202e"} & set(ran.out)
    assert [json.loads(line)["seq"] for line in events.out.splitlines()] == list(range(1, listed["last_seq"] + 1))
    assert ran.code == events.code == {"succeeded": 0, "partial": 3}[listed["status"]]
    assert failed.code == 4
    assert json.loads(failed.out.splitlines()[-1])["type"] == "run.failed"


async def test_a_stream_that_breaks_is_said_to_be_away_and_goes_on(capsys: pytest.CaptureFixture[str]) -> None:
    begun, ended = told(1, "run.started"), told(2, "run.failed", stop_reason="no_results")
    parts = [stream([frame(begun, "\n").encode()], whole=False), stream([frame(ended, "\n").encode()])]

    def answer(request: httpx2.Request) -> httpx2.Response:
        if request.url.path.endswith("/events"):
            return parts.pop(0)
        return httpx2.Response(200, json={"id": "run_1", "status": "failed"})

    async with client_of(answer) as client:
        run = Progress("run_1")
        watch = Watch(client, run, 0, LinesView(run), console(), None, {})
        ended_as = await watch.to_the_end()

    assert ended_as is not None
    assert ended_as["status"] == "failed"
    lines = [line.strip() for line in capsys.readouterr().out.splitlines()]
    assert "the stream is away, and is taken up again: cannot reach" in lines[1]
    assert lines[2:] == [
        "the stream is back, and goes on where it was",
        "1.0s  failed, no_results (0 of 0 tasks · 1.0 s · $0 · 0 tokens)",
    ]


async def test_a_service_that_is_away_while_a_plan_is_decided_on_is_waited_for(
    capsys: pytest.CaptureFixture[str],
) -> None:
    by = (datetime.now(UTC) + timedelta(hours=1)).isoformat()
    asks = told(2, "plan.approval_requested", revision=1, expires_at=by, default="reject")
    approved = asyncio.Event()
    down = 9

    class Events(httpx2.AsyncByteStream):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            yield frame(asks, "\n").encode()
            await approved.wait()
            yield frame(told(3, "run.failed", stop_reason="no_results"), "\n").encode()

    def answer(request: httpx2.Request) -> httpx2.Response:
        nonlocal down
        path = request.url.path
        if path.endswith("/events"):
            return httpx2.Response(200, headers={"content-type": "text/event-stream"}, stream=Events())
        down -= 1
        if down > 0:
            raise httpx2.ConnectError("nobody is there")
        if path.endswith("/approve"):
            approved.set()
        if path.endswith("/plan"):
            down = 0
            checked: dict[str, Any] = {"errors": [], "warnings": []}
            return httpx2.Response(200, json={"revision": 1, "shape": None, "validation": checked} | PLAN | WORDS)
        return httpx2.Response(200, json={"id": "run_1", "status": "failed", "quote": None})

    said = ""

    def is_asked(times: int) -> bool:
        nonlocal said
        said += capsys.readouterr().out
        return said.count("Approve this plan?") >= times or watching.done()

    ours, theirs = os.openpty()
    async with client_of(answer, patience_s=0) as client:
        run = Progress("run_1")
        watching = asyncio.create_task(Watch(client, run, 0, LinesView(run), console(), theirs, {}).to_the_end())
        for times, line in enumerate((b"yesterday\n", b"yes\n"), 1):
            await until(partial(is_asked, times))
            for _ in range(5):
                await asyncio.sleep(0)  # What is typed before a question is no answer to it.
            os.write(ours, line)
        ended = await asyncio.wait_for(watching, 10)
    os.close(ours)
    os.close(theirs)

    assert ended is not None
    assert "the stream is away, and is taken up again: cannot reach" in said
    assert "└─ t3 Task t3 · writer  (also after t1)" in said
