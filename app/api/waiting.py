"""Waiting for a run without holding anything: a wake-up, the clock or a stop makes us look at its row again."""

import asyncio
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress

from app.domain.states import TERMINAL_RUN
from app.runtime import TENANT, Runtime
from app.store.runs import Row, find_run

SETTLED = TERMINAL_RUN | {"waiting"}
"""Statuses in which nobody executes a run: it has ended, or is parked until something lets it go on."""


async def run_settled(runtime: Runtime, run_id: str, statuses: Collection[str], wait_s: float) -> Row | None:
    """The run's row once it is in one of `statuses`, or as it is after `wait_s` seconds or when this process stops.

    None when there is no such run.
    """
    loop, heard = asyncio.get_running_loop(), asyncio.Event()
    deadline = loop.time() + wait_s
    with runtime.wakeups.listening(run_id, lambda _: heard.set()), called_when_set(runtime.draining, heard.set):
        while True:
            heard.clear()
            row = await find_run(runtime.database, TENANT, run_id)
            left = deadline - loop.time()
            if row is None or row["status"] in statuses or left <= 0 or runtime.draining.is_set():
                return row
            with suppress(TimeoutError):
                async with asyncio.timeout(min(left, runtime.poll_s)):
                    await heard.wait()


@contextmanager
def called_when_set(event: asyncio.Event, call: Callable[[], None]) -> Iterator[None]:
    """Have `call` called once `event` is set, for as long as the block."""

    async def wait_and_call() -> None:
        await event.wait()
        call()

    waiting = asyncio.create_task(wait_and_call())
    try:
        yield
    finally:
        waiting.cancel()
