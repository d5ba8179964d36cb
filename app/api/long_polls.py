"""Waiting for a run without holding anything: a wake-up, the clock or a stop makes us look at its row again."""

import asyncio
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress

from app.api.errors import Refusal, key_invalid
from app.api.visits import Visit
from app.domain.states import TERMINAL_RUN
from app.runtime import Runtime
from app.store.runs import Row, find_run

SETTLED = TERMINAL_RUN | {"waiting"}
"""Statuses in which nobody executes a run: it has ended, or is parked until something lets it go on."""


READERS_ALLOWED = 1000
"""Streams and long polls that one process serves."""


def has_room(runtime: Runtime) -> bool:
    """Whether this process can serve another reader."""
    return runtime.readers < READERS_ALLOWED


def check_room(runtime: Runtime) -> None:
    """Raise `Refusal` when this process has as many readers as it can serve."""
    if not has_room(runtime):
        detail = "This process serves as many streams and waiting requests as it can; come back in a moment."
        raise Refusal(503, "too_many_readers", detail, headers={"Retry-After": "5"})


async def run_settled(visit: Visit, run_id: str, statuses: Collection[str], wait_s: float) -> Row | None:
    """The run's row once it is in one of `statuses`, or as it is after `wait_s` seconds or when this process stops.

    None when there is no such run. Raises `Refusal` once its client's key may be used no longer.
    """
    if not wait_s:
        return await find_run(visit.database, visit.tenant, run_id)
    runtime, loop, heard = visit.runtime, asyncio.get_running_loop(), asyncio.Event()
    deadline = loop.time() + wait_s
    with (
        visit.as_reader(heard.set),
        runtime.wakeups.listening(run_id, lambda _: heard.set()),
        called_when_set(runtime.draining, heard.set),
    ):
        while True:
            heard.clear()
            if visit.is_over:
                raise key_invalid()
            row = await visit.look_at(run_id)
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
