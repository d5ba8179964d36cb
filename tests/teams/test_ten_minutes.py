"""`docs/teams.md`, "A team in ten minutes", word for word: each block is run, and what it prints is compared."""

import asyncio
import os
import re
import shutil
import sys
from pathlib import Path

import pytest

from tests.support.postgres import ROOT
from tests.support.processes import start_replica

TUTORIAL = (ROOT / "docs" / "teams.md").read_text().partition("## A team in ten minutes")[2].partition("\n## ")[0]
STEP = re.compile(r"```sh\n(.*?)```\n(?:\n```\n(.*?)```\n)?", re.DOTALL)


async def printed_by(script: str, folder: Path) -> str:
    """What bash prints when it is given the script."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {"PATH": path, "HOME": str(folder), "PYTHONPATH": str(ROOT)}
    process = await asyncio.create_subprocess_exec(
        "bash",
        "-euc",
        script,
        cwd=folder,
        env=environment,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, errors = await asyncio.wait_for(process.communicate(), 180)
    assert (process.returncode, errors.decode()) == (0, "")
    return out.decode()


@pytest.mark.skipif(shutil.which("curl") is None, reason="the tutorial is for people who have curl")
async def test_the_tutorial_works_as_it_stands(database_url: str, tmp_path: Path) -> None:
    steps = STEP.findall(TUTORIAL)
    replica = await start_replica(database_url, "http://127.0.0.1:1", model="demo")
    try:
        address = replica.url.removeprefix("http://")
        script = "echo '=== step'\n".join(commands for commands, _ in steps).replace("localhost:8000", address)
        printed = (await printed_by(script, tmp_path)).split("=== step\n")
    finally:
        await replica.end()

    assert len(printed) == len(steps) >= 7
    for (_, expected), actual in zip(steps, printed, strict=True):
        pattern = re.escape(expected).replace("…", ".*")
        assert re.fullmatch(pattern, actual), actual
