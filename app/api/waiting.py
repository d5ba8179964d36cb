"""Waiting for a run without holding anything: a wake-up or the clock makes us look at its row again."""

import asyncio
from contextlib import suppress

from app.domain.states import TERMINAL_RUN
from app.runtime import TENANT, Runtime
from app.store.runs import Row, find_run

SETTLED = TERMINAL_RUN | {"waiting"}
"""Statuses in which nothing happens to a run by itself."""


async def run_settled(runtime: Runtime, run_id: str, wait_s: float) -> Row | None:
    """The run's row once it has ended or waits, or as it is after `wait_s` seconds. None when there is no such run."""
    loop, heard = asyncio.get_running_loop(), asyncio.Event()
    deadline = loop.time() + wait_s
    with runtime.wakeups.listening(run_id, lambda _: heard.set()):
        while True:
            heard.clear()
            row = await find_run(runtime.database, TENANT, run_id)
            left = deadline - loop.time()
            if row is None or row["status"] in SETTLED or left <= 0 or runtime.draining.is_set():
                return row
            with suppress(TimeoutError):
                async with asyncio.timeout(min(left, runtime.poll_s)):
                    await heard.wait()
