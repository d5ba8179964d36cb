"""The background parts of a process: each is kept up until the process is told to stop.

What takes a part down is one of two things. Trouble with the database passes: the part begins again after a pause, and
says so. Anything else is a bug of ours: the part begins again too, unless it holds what others depend on; then whoever
started it is told, and lets go of everything.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import structlog

from app.store.database import TROUBLE

log = structlog.get_logger(__name__)

PAUSE_S = 1.0
"""Before a part begins again."""


class Parts:
    """Some parts of a process, by name."""

    def __init__(self, *, pause_s: float = PAUSE_S) -> None:
        self._pause_s = pause_s
        self._tasks: dict[str, asyncio.Task[None]] = {}

    def start(self, name: str, work: Callable[[], Awaitable[None]], *, broke: Callable[[], None] | None = None) -> None:
        """Keep up `work`, which does not end by itself. A bug in it ends the part where there is `broke` to be told."""
        self._tasks[name] = asyncio.create_task(self._keep_up(name, work, broke), name=name)

    async def stop(self, *names: str, within_s: float | None = None) -> None:
        """Stop those of these parts that are kept up, or all, and wait for their end."""
        stopped = [self._tasks.pop(name) for name in names or tuple(self._tasks) if name in self._tasks]
        for task in stopped:
            task.cancel()
        if stopped:
            await asyncio.wait(stopped, timeout=within_s)

    async def _keep_up(self, name: str, work: Callable[[], Awaitable[None]], broke: Callable[[], None] | None) -> None:
        while True:
            error = await _end_of(work, name)
            if isinstance(error, TROUBLE):
                log.warning("part interrupted", part=name, error=type(error).__name__)
            elif broke is not None and error is not None:
                log.critical("part broke", part=name, exc_info=error)
                return broke()
            else:
                log.error("part broke and is begun again", part=name, exc_info=error)
            await asyncio.sleep(self._pause_s)


async def _end_of(work: Callable[[], Awaitable[None]], name: str) -> BaseException | None:
    """What ended the work, in a task of its own: a cancellation from within is an end like others."""

    async def working() -> None:
        await work()

    task = asyncio.create_task(working(), name=name)
    try:
        await asyncio.wait({task})
    finally:
        task.cancel()
        await asyncio.wait({task})
        error = None if task.cancelled() else task.exception()
    return error


@asynccontextmanager
async def kept_up(**parts: Callable[[], Awaitable[None]]) -> AsyncIterator[None]:
    """Keep up these parts during the block."""
    keeper = Parts()
    for name, work in parts.items():
        keeper.start(name, work)
    try:
        yield
    finally:
        await keeper.stop()
