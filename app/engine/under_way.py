"""What is being done for a run: its commands as tasks, started, stopped, and let go of when they do not stop."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from contextvars import ContextVar
from dataclasses import dataclass

import structlog

from app.domain.errors import OwnershipLost
from app.domain.policy.commands import Command

log = structlog.get_logger(__name__)

LAST_WORDS_SECONDS = 5.0
"""How long a stopped command may take to say what it has cost. Then the run goes on without it."""

CarryOut = Callable[[Command], Awaitable[None]]


@dataclass(eq=False, slots=True)
class Speaker:
    """Somebody who has something recorded: a command while it is carried out, or the run's own loop."""

    command: Command | None = None
    said: asyncio.Future[bool] | None = None
    """The newest that it has had recorded, or will have."""
    dismissed: bool = False
    """Whether nobody listens any more: it did not stop when it was told to."""


speaking: ContextVar[Speaker | None] = ContextVar("speaking", default=None)
"""On whose behalf something is said; None in the loop itself."""

_dismissed: set[asyncio.Task[None]] = set()
"""Tasks that did not stop. They are kept until they end: a task that nobody holds may be collected in mid-flight."""


class UnderWay:
    """The commands of one run that are being carried out, each at most once."""

    def __init__(
        self, run_id: str, carry_out: Callable[[Command], Awaitable[None]], changed: Callable[[], None]
    ) -> None:
        self._run_id = run_id
        self._carry_out = carry_out
        self._changed = changed
        self._tasks: dict[Command, tuple[asyncio.Task[None], Speaker]] = {}

    @property
    def commands(self) -> tuple[Command, ...]:
        return tuple(self._tasks)

    def start(self, command: Command) -> None:
        """Carry the command out, unless that is being done."""
        if command in self._tasks:
            return
        speaker = Speaker(command)
        task = asyncio.create_task(self._spoken_for(speaker, command), name=f"{self._run_id} {command}")
        task.add_done_callback(lambda _: self._changed())
        self._tasks[command] = task, speaker

    async def _spoken_for(self, speaker: Speaker, command: Command) -> None:
        speaking.set(speaker)
        await self._carry_out(command)

    async def stop(self, commands: Iterable[Command]) -> None:
        """Cancel commands and wait for their last words.

        One that swallows its cancellation, or waits for something that does, is dismissed: its run ends without it.
        """
        stopped = {command: self._tasks[command] for command in commands}
        for task, _ in stopped.values():
            task.cancel()
        if stopped:
            await asyncio.wait([task for task, _ in stopped.values()], timeout=LAST_WORDS_SECONDS)
        for command, (task, speaker) in stopped.items():
            if not task.done():
                speaker.dismissed = True
                _dismissed.add(task)
                task.add_done_callback(_forgotten)
                log.warning("command dismissed", command=str(command), waited_s=LAST_WORDS_SECONDS)
            if not task.done() or task.cancelled() or isinstance(task.exception(), OwnershipLost):
                del self._tasks[command]

    def take_ended(self) -> list[tuple[Command, BaseException | None]]:
        """The commands that have ended of themselves since the last look, each with what it was broken by."""
        ended = [(command, task) for command, (task, _) in self._tasks.items() if task.done()]
        for command, _ in ended:
            del self._tasks[command]
        return [(command, _broken_by(task)) for command, task in ended]


def _broken_by(task: asyncio.Task[None]) -> BaseException | None:
    """What broke the task. A cancellation that nobody asked for is a fault of whatever it waited for."""
    return asyncio.CancelledError("cancelled from within") if task.cancelled() else task.exception()


def _forgotten(task: asyncio.Task[None]) -> None:
    _dismissed.discard(task)
    if not task.cancelled() and (error := task.exception()) is not None:
        log.info("dismissed command ended", error=type(error).__name__)
