"""The commands as people type them, against a true server and the stub provider."""

import json
import stat
from pathlib import Path

import pytest

from tests.engine.test_escalations import EMPTY_HANDED, ONE, STUCK, crew, ruling
from tests.engine.test_questions import asking
from tests.support.service import Service, plan_of, report, synthesis, task
from tests.support.stub_answers import as_json, held
from tests.support.stub_provider import StubProvider
from tests.terminal.conftest import Typed

DONE = as_json(report("done"))
CHAIN = plan_of(task("t1", "researcher"), task("t2", "writer", ["t1"]))


def editor(directory: Path, *lines: str) -> str:
    """An editor that carries out shell commands on the file, which is `$1`."""
    script = directory / "editor"
    script.write_text("\n".join(["#!/bin/sh", *lines]))
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    return str(script)


def rewrite(file: Path, old: str, new: str) -> None:
    file.write_text(file.read_text().replace(old, new))


async def waiting(service: Service) -> str:
    run_id = await service.submit(plan=CHAIN, approval="plan")
    await service.until(run_id, lambda row: row["status"] == "waiting")
    return run_id


async def test_a_plan_is_looked_at_edited_and_approved(
    service: Service, stub: StubProvider, at_service: Typed, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    stub.on("work", DONE)
    run_id = await waiting(service)

    assert "waiting: approval" in (await at_service("runs")).out
    assert f"chargehand approve {run_id}" in (await at_service("show", "last")).out
    seen = tmp_path / "seen.yaml"
    monkeypatch.setenv("EDITOR", editor(tmp_path, f'cp "$1" {seen}', "sed -i 's/title: Task t1/title: Look/' \"$1\""))
    edited = await at_service("edit", run_id, "--reason", "clearer")
    shown = json.loads((await at_service("plan", run_id[-6:], "--json")).out)
    approved = await at_service("approve", run_id, "--json")
    again = await at_service("approve", run_id)
    run = await service.ended(run_id)

    assert "workers" not in seen.read_text()
    assert "#   worker             researcher, analyst, writer\n" in seen.read_text()
    assert (edited.code, "t1 Look · researcher" in edited.out) == (0, True)
    assert (shown["revision"], [each["title"] for each in shown["tasks"]]) == (2, ["Look", "Task t2"])
    assert json.loads(approved.out)["id"] == run_id
    assert again == (2, "", "chargehand: plan_approved: The plan has been approved already.\n")
    assert run["status"] == "succeeded"
    assert (await at_service("plan", run_id, "--mermaid")).out == (
        "flowchart LR\n"
        '    task1["t1<br/>Look<br/>researcher"]\n'
        '    task2["t2<br/>Task t2<br/>writer"]\n'
        "    task1 --> task2\n"
    )
    assert "2 of 2 required tasks delivered" in (await at_service("show", run_id)).out


async def test_an_edit_that_is_refused_is_kept_and_can_be_sent_again(
    service: Service, at_service: Typed, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    run_id = await waiting(service)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)

    monkeypatch.setenv("VISUAL", "false")
    unsent = await at_service("edit", run_id)
    monkeypatch.setenv("VISUAL", editor(tmp_path, "sed -i 's/worker: writer/worker: nobody/' \"$1\""))
    refused = await at_service("edit", run_id)
    kept = Path(refused.err.partition("your edit is kept in ")[2].partition(": ")[0])
    monkeypatch.setenv("VISUAL", editor(tmp_path, "printf 'goal: \\351\\n' > \"$1\""))
    latin = await at_service("edit", run_id)
    monkeypatch.setenv("VISUAL", editor(tmp_path, 'rm "$1"'))
    removed = await at_service("edit", run_id)
    monkeypatch.setenv("VISUAL", editor(tmp_path, "kill -INT $$"))
    interrupted = await at_service("edit", run_id)
    monkeypatch.setenv("VISUAL", "true")
    unchanged = await at_service("edit", run_id)
    rewrite(kept, "worker: nobody", "worker: analyst")
    sent = await at_service("edit", run_id, "--file", str(kept))
    rewrite(kept, "worker: analyst", "worker: writer")
    outdated = await at_service("edit", run_id, "--file", str(kept))
    rejected = await at_service("reject", run_id, "--reason", "no")

    assert unsent == (2, "", "chargehand: the editor false ended with 1, so nothing was sent\n")
    assert refused.code == 2
    assert refused.err.startswith("chargehand: plan_invalid: ")
    assert "/tasks/1/worker: task 't2' names the unknown worker 'nobody'" in refused.err
    assert refused.err.count("\n") == 1
    assert kept.parent == tmp_path
    assert (unchanged.code, unchanged.err) == (0, "Nothing is changed.\n")
    assert (sent.code, "t2 Task t2 · analyst" in sent.out) == (0, True)
    assert latin.code == removed.code == interrupted.code == 2
    assert "no plan: line 1: this is not UTF-8; your edit is kept in " in latin.err
    assert "has removed or renamed " in removed.err
    assert "was ended by signal 2, so nothing was sent; your edit is kept in " in interrupted.err
    assert outdated.err == (
        f"chargehand: plan_changed: the plan is in revision 2 now: look at it (`chargehand plan {run_id}`), "
        f"then set revision to 2 in {kept}\n"
    )
    assert rejected == (0, "", f"{run_id}: failed\n")
    assert (await service.ended(run_id))["stop_reason"] == "plan_rejected"


async def test_a_question_is_answered_by_its_number_and_once(
    service: Service, stub: StubProvider, at_service: Typed, monkeypatch: pytest.MonkeyPatch
) -> None:
    stub.on("work:junior", replies=[EMPTY_HANDED], reply=DONE)
    stub.on("rule", asking("proceed", "calendar year", "business year"))
    run_id = await service.submit(team=crew(), plan=ONE)
    await service.until(run_id, lambda row: row["status"] == "waiting")

    outside = await at_service("answer", run_id, "leap year")
    monkeypatch.setattr("sys.stdin", _Lines())
    silent = await at_service("answer", run_id)
    monkeypatch.setattr("sys.stdin", _Lines("2\n"))
    answered = await at_service("answer", run_id, "--json")
    given = json.loads(answered.out)
    again = await at_service("answer", run_id, given["id"], "calendar year")
    run = await service.ended(run_id)

    assert (outside.code, outside.err.startswith("chargehand: ")) == (2, True)
    assert (silent.code, silent.err.splitlines()[-1].endswith("is not answered: nothing was typed")) == (2, True)
    assert answered.err.splitlines()[:3] == ["Which year?", "  1  calendar year", "  2  business year"]
    assert (given["status"], given["answer"]) == ("answered", "business year")
    assert (again.code, again.err.startswith("chargehand: question_answered: ")) == (2, True)
    assert run["status"] == "succeeded"


async def test_retries_stand_apart_in_the_waterfall_and_a_run_is_repeated(
    service: Service, stub: StubProvider, at_service: Typed
) -> None:
    stub.on("work", replies=[STUCK], reply=DONE)
    stub.on("rule", ruling("retry_stronger_model"))
    run_id = await service.submit(team=crew(), plan=ONE)
    await service.ended(run_id)

    drawn = (await at_service("trace", run_id)).out.splitlines()
    whole = json.loads((await at_service("trace", run_id, "--json")).out)
    begun = await at_service("retry", run_id)
    new_id = begun.out.strip()
    await service.ended(new_id)
    anew = await at_service("resynthesize", run_id, "--exclude", "t9")

    labels = [line.split("█")[0].split("▓")[0].split("▒")[0].strip() for line in drawn]
    assert labels[labels.index("t1 Task t1") + 1].startswith("✗ attempt 1 · junior")
    assert any(label.startswith("attempt 2 · junior") for label in labels)
    assert len({span["id"] for span in whole["spans"]}) == len(whole["spans"])
    assert (await at_service("retry", new_id, "--only", "failed")).err.startswith("chargehand: nothing_failed: ")
    assert (anew.code, "/exclude/0" in anew.err, anew.err.count("\n")) == (2, True, 1)
    listed = json.loads((await at_service("runs", "--since", "1h", "--json", "--limit", "5")).out)["data"]
    assert [run["id"] for run in listed] == [new_id, run_id]


async def test_a_run_is_cancelled_and_what_ended_cannot_be(
    service: Service, stub: StubProvider, at_service: Typed
) -> None:
    stub.on("work", held(as_json(report())))
    run_id = await service.submit(plan=CHAIN)
    await stub.seen(1)

    cancelled = await at_service("cancel", "last", "--reason", "enough")
    run = await service.ended(run_id)
    again = await at_service("cancel", run_id)

    assert (cancelled.code, cancelled.err.startswith(run_id)) == (0, True)
    assert (run["status"], run["cancellation"]["reason"]) == ("cancelled", "enough")
    assert (again.code, again.err.startswith("chargehand: run_")) == (2, True)


async def test_what_others_wrote_never_reaches_the_terminal_as_a_command(
    service: Service, stub: StubProvider, at_service: Typed, monkeypatch: pytest.MonkeyPatch
) -> None:
    evil = "\\$(touch x) \\`id` \x1b[2J[bold]red[/bold] \x9b31m\u202e :smile:"
    stub.on("work", as_json(report(evil)))
    stub.on("synthesize", as_json(synthesis(evil, "t1", "t2")))
    run_id = await service.submit(evil, plan=plan_of(task("t1", title=evil), task("t2"), goal=evil))
    await service.ended(run_id)

    for command in ("runs", "show", "plan", "trace"):
        told = (await at_service(command, *([] if command == "runs" else [run_id]))).out
        assert not set(told) & {"\x1b", "\x9b", "\u202e"}, command
        assert "red[/bold]" in told or command == "trace", command
    monkeypatch.setenv("_CHARGEHAND_COMPLETE", "complete_zsh")
    monkeypatch.setenv("_TYPER_COMPLETE_ARGS", "chargehand show run_")
    completed = (await at_service()).out
    monkeypatch.delenv("_CHARGEHAND_COMPLETE")
    assert run_id in completed
    assert not set(completed.partition(run_id)[2]) & set("\\$`[;&|<>"), "zsh evaluates what it is told"
    whole = (await at_service("show", run_id, "--json")).out
    assert not set(whole) & {"\x1b", "\x9b", "\u202e"}
    assert json.loads(whole)["objective"] == evil.strip()


async def test_teams_and_tools_are_listed_and_names_are_completed(
    address: str, at_service: Typed, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "calculate   read    ready  built in" in (await at_service("tools")).out
    general = await at_service("teams", "general")
    assert "researcher" in general.out
    assert json.loads((await at_service("teams", "general", "--json")).out)["name"] == "general"
    missing = await at_service("teams", "none-such")
    assert (missing.code, missing.err.startswith("chargehand: team_not_found: ")) == (2, True)

    monkeypatch.setenv("_CHARGEHAND_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", f"chargehand --url {address} teams gen")
    monkeypatch.setenv("COMP_CWORD", "4")
    assert (await at_service()).out.split() == ["general"]


class _Lines:
    """Standard input with lines that somebody types, on no terminal."""

    def __init__(self, *lines: str) -> None:
        self._lines = [*lines]

    def readline(self) -> str:
        return self._lines.pop(0) if self._lines else ""

    def isatty(self) -> bool:
        return False
