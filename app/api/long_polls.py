"""Waiting for a run without holding anything: a wake-up, the clock or a stop makes us look at its row again."""

import asyncio
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress

from app.api.errors import Refusal
from app.domain.states import TERMINAL_RUN
from app.runtime import TENANT, Runtime
from app.store.database import Database
from app.store.runs import Row, find_run

SETTLED = TERMINAL_RUN | {"waiting"}
"""Statuses in which nobody executes a run: it has ended, or is parked until something lets it go on."""


READERS_ALLOWED = 1000
"""Streams and long polls that one process serves."""
LOOKS_AT_ONCE = 3
"""Connections to the database that readers use between them: most are left to jobs, commits and renewals."""


class SharedLooks:
    """Looks at the rows of runs. Who asks for a run while a look at it waits for its turn shares that look.

    A look that has begun is not shared: it may miss what the one who asks has just heard of.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._turns = asyncio.Semaphore(LOOKS_AT_ONCE)
        self._waiting: dict[str, asyncio.Task[Row | None]] = {}

    async def at(self, run_id: str) -> Row | None:
        """The run's row as it is now; None when there is no such run."""
        look = self._waiting.get(run_id)
        if look is None:
            look = self._waiting[run_id] = asyncio.create_task(self._look(run_id))
        # One reader that goes must not take the row from the others.
        return await asyncio.shield(look)

    async def _look(self, run_id: str) -> Row | None:
        async with self._turns:
            del self._waiting[run_id]
            return await find_run(self._database, TENANT, run_id)


def has_room(runtime: Runtime) -> bool:
    """Whether this process can serve another reader."""
    return runtime.readers < READERS_ALLOWED


def check_room(runtime: Runtime) -> None:
    """Raise `Refusal` when this process has as many readers as it can serve."""
    if not has_room(runtime):
        detail = "This process serves as many streams and waiting requests as it can; come back in a moment."
        raise Refusal(503, "too_many_readers", detail, headers={"Retry-After": "5"})


@contextmanager
def counted_reader(runtime: Runtime) -> Iterator[None]:
    """Take the room of one reader, for as long as the block."""
    runtime.readers += 1
    try:
        yield
    finally:
        runtime.readers -= 1


async def run_settled(
    runtime: Runtime, looks: SharedLooks, run_id: str, statuses: Collection[str], wait_s: float
) -> Row | None:
    """The run's row once it is in one of `statuses`, or as it is after `wait_s` seconds or when this process stops.

    None when there is no such run.
    """
    if not wait_s:
        return await find_run(runtime.database, TENANT, run_id)
    loop, heard = asyncio.get_running_loop(), asyncio.Event()
    deadline = loop.time() + wait_s
    with (
        counted_reader(runtime),
        runtime.wakeups.listening(run_id, lambda _: heard.set()),
        called_when_set(runtime.draining, heard.set),
    ):
        while True:
            heard.clear()
            row = await looks.at(run_id)
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
