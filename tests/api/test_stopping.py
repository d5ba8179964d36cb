import asyncio
import os
import re
import signal
import sys
from collections.abc import AsyncIterator

import httpx2
import pytest

from tests.support.api import JOB, Starts
from tests.support.raw_reader import reading


@pytest.fixture
async def process(database_url: str) -> AsyncIterator[asyncio.subprocess.Process]:
    """A true service without an engine."""
    outside = {name: value for name, value in os.environ.items() if not name.startswith(("CHARGEHAND_", "ANTHROPIC_"))}
    ours = {"DATABASE_URL": database_url, "CHARGEHAND_ENGINE": "false", "CHARGEHAND_MODEL": "demo"}
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "app", "serve", "--port", "0",
        env=outside | ours, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    yield process
    if process.returncode is None:
        process.kill()
    await process.communicate()


async def address_of(process: asyncio.subprocess.Process) -> str:
    assert process.stderr is not None
    async with asyncio.timeout(30):
        async for line in process.stderr:
            if found := re.search(r"http://\S+", line.decode()):
                return found[0]
    raise AssertionError("the service did not start")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_ends_open_streams_and_then_the_process(
    process: asyncio.subprocess.Process, number: signal.Signals
) -> None:
    address = await address_of(process)
    async with httpx2.AsyncClient(base_url=address, timeout=60) as client:  # it listens before it has started
        accepted = await client.post("/v1/jobs", json=JOB)
        assert accepted.status_code == 202, accepted.text
        run_id = accepted.json()["id"]
    async with reading(address, run_id) as stream:
        await stream.next_event()
        process.send_signal(number)
        last = (await asyncio.wait_for(stream.rest(), 1.5))[-1]
    await asyncio.wait_for(process.wait(), 10)

    assert last.comments == ["this server is stopping"]


async def test_a_read_that_waits_is_answered_at_once_when_the_process_is_told_to_stop(start_api: Starts) -> None:
    api = await start_api(poll_seconds=5)
    path = f"/v1/runs/{await api.post()}"
    reading = asyncio.create_task(api.client.get(path, headers={"Prefer": "wait=30"}))
    await api.until_heard_by(1)
    await api.get(path)  # by now the other has looked, and waits
    api.runtime.draining.set()
    answer = await asyncio.wait_for(reading, 2)

    assert (answer.status_code, answer.json()["status"]) == (200, "queued")
