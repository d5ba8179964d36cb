import asyncio
import gc
import os
import signal
import subprocess
import sys
import tempfile

import psutil
import pytest

from app.domain.errors import ToolError
from app.tools import tables
from app.tools.sandbox import Sandbox
from tests.support.postgres import ROOT
from tests.support.waiting import until

DEADLY = "tests.tools.deadly"
OWNER = """
import asyncio
from app.tools.sandbox import Sandbox
async def main():
    async with Sandbox() as sandbox:
        await sandbox.answer("tests.tools.deadly", {"do": "hang"})
asyncio.run(main())
"""


OF_OTHERS = set[psutil.Process]()
"""Processes of fixtures that live as long as the session."""


@pytest.fixture(autouse=True)
def _others() -> None:
    OF_OTHERS.clear()
    OF_OTHERS.update(below())


def below(pid: int | None = None) -> list[psutil.Process]:
    found: list[psutil.Process] = psutil.Process(pid).children(recursive=True)
    return [process for process in found if process not in OF_OTHERS]


@pytest.mark.parametrize(
    ("request_", "code", "said"),
    [
        ({"do": "die", "signal": signal.SIGSEGV}, "tool_crashed", "signal 11"),
        ({"do": "die", "signal": signal.SIGKILL}, "tool_crashed", "signal 9"),
        ({"do": "die", "signal": signal.SIGABRT}, "tool_out_of_memory", "1.5 GB"),
        ({"do": "die", "signal": signal.SIGXCPU}, "tool_timeout", "20 s of computing"),
        ({"do": "grow"}, "tool_out_of_memory", "1.5 GB"),
        ({"do": "break"}, "tool_crashed", "broke off"),
        ({"do": "hang"}, "tool_timeout", "2 s"),
        ({"do": "flood"}, "output_too_large", "ask for less"),
    ],
)
async def test_a_death_is_an_error_that_the_model_can_read(request_: dict[str, object], code: str, said: str) -> None:
    async with Sandbox(wall_s=2) as sandbox:
        with pytest.raises(ToolError, match=said) as caught:
            await sandbox.answer(DEADLY, request_, ["x" * 300_000])

        assert caught.value.code == code
        assert await sandbox.answer(DEADLY, {"do": "rest"}) == {"did": "rest"}
    assert below() == []


async def test_what_could_not_be_sent_to_a_dead_process_is_no_error_of_ours() -> None:
    told: list[dict[str, object]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: told.append(context))
    async with Sandbox(wall_s=0.5) as sandbox:
        with pytest.raises(ToolError, match=r"0\.5 s"):
            await sandbox.answer(DEADLY, {"do": "hang"}, ["x" * 5_000_000])
    gc.collect()

    assert told == []


async def test_one_process_serves_one_job_after_the_other(sandbox: Sandbox) -> None:
    await sandbox.answer(DEADLY, {"do": "rest"})
    keeper = below()
    for _ in range(3):
        await sandbox.answer(DEADLY, {"do": "rest"})

    assert len(keeper) == 1
    assert below() == keeper


async def test_contents_arrive_whole_whether_they_are_read_or_not(sandbox: Sandbox) -> None:
    contents: list[str | bytes] = ["é" * 1_000_000, b"x" * 65_536, "", b""]

    assert await sandbox.answer(DEADLY, {"do": "count"}, contents) == {"lengths": [2_000_000, 65_536, 0, 0]}
    assert await sandbox.answer(DEADLY, {"do": "leave"}, contents) == {"left": "unread"}
    assert await sandbox.answer(DEADLY, {"do": "count"}, ["a"]) == {"lengths": [1]}


async def test_what_a_library_prints_is_no_part_of_the_answer(sandbox: Sandbox) -> None:
    assert await sandbox.answer(DEADLY, {"do": "print"}) == {"did": "print"}


async def test_nothing_of_ours_is_handed_on(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-secret")

    seen = await sandbox.answer(DEADLY, {"do": "look"})

    assert "sk-secret" not in str(seen)
    assert not {"PATH", "HOME"} & set(seen["environment"])
    assert seen["files"] < 10


async def test_a_call_that_is_cancelled_takes_its_process_with_it(sandbox: Sandbox) -> None:
    hanging = asyncio.create_task(sandbox.answer(DEADLY, {"do": "hang"}))
    await until(lambda: len(below()) == 2)

    hanging.cancel()
    with pytest.raises(asyncio.CancelledError):
        await hanging

    await until(lambda: below() == [])


async def test_a_cancelled_call_gives_its_place_to_the_next() -> None:
    async with Sandbox(jobs_at_once=1) as sandbox:
        hanging = [asyncio.create_task(sandbox.answer(DEADLY, {"do": "hang"})) for _ in range(3)]
        await until(lambda: len(below()) == 2)
        for task in hanging:
            task.cancel()
        await asyncio.wait(hanging)

        assert await sandbox.answer(DEADLY, {"do": "rest"}) == {"did": "rest"}


async def test_a_job_without_a_place_says_that_it_is_not_to_blame() -> None:
    async with Sandbox(jobs_at_once=1) as sandbox:
        hanging = asyncio.create_task(sandbox.answer(DEADLY, {"do": "hang"}))
        await until(lambda: len(below()) == 2)

        with pytest.raises(ToolError, match="try it again") as caught:
            await sandbox.answer(DEADLY, {"do": "rest"}, patience_s=0.05)
        hanging.cancel()
        await asyncio.wait([hanging])

        assert caught.value.code == "tool_busy"
        assert await sandbox.answer(DEADLY, {"do": "rest"}) == {"did": "rest"}


async def test_no_more_jobs_than_places_run_at_a_time() -> None:
    async with Sandbox(jobs_at_once=2) as sandbox:
        calls = [asyncio.create_task(sandbox.answer(DEADLY, {"do": "count"}, ["x" * 100_000])) for _ in range(12)]
        most = 0
        while not all(task.done() for task in calls):
            most = max(most, sum(each not in OF_OTHERS for each in psutil.Process().children()))
            await asyncio.wait(calls, timeout=0.01)

    assert [task.result() for task in calls] == [{"lengths": [100_000]}] * 12
    assert 1 <= most <= 2


async def test_closing_leaves_no_process_behind() -> None:
    async with Sandbox() as sandbox:
        await asyncio.gather(*(sandbox.answer(DEADLY, {"do": "rest"}) for _ in range(5)))

    assert below() == []


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_the_end_of_the_service_is_the_end_of_its_processes(number: signal.Signals) -> None:
    with subprocess.Popen([sys.executable, "-c", OWNER], cwd=ROOT) as owner:
        while len(processes := below(owner.pid)) < 2:
            assert owner.poll() is None
        owner.send_signal(number)

    _, alive = psutil.wait_procs(processes, timeout=5)
    assert alive == []


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere files are read from a temporary directory")
def test_data_is_read_without_a_directory_that_can_be_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", "/nowhere")

    found = tables.answer({"sql": "FROM t", "tables": [{"name": "t.csv", "format": "csv"}]}, iter([b"a\n1\n"]))

    assert found == {"text": "1 row\n\n| a |\n| --- |\n| 1 |"}
    assert not os.path.exists("/nowhere")
