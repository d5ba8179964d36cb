"""How many calls of one model are open side by side: few until it is known to answer, then soon as many as are wanted.

This is TCP's slow start (RFC 5681): a new or idle connection begins with a small window, which grows by one with every
answer, so it doubles with every round, and is halved by a failure. A provider that is dead meets the first few calls
of a process and not the hundred that were ready; one that lives takes all of them a moment later. One that has said
nothing yet, for or against, may only be slow: it is sent one more call after a second of silence, two after the next,
then four, and never more than a few dozen.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

FIRST_CALLS = 10
"""Calls that may be open while nothing is known of the model: twice a run's usual concurrency."""
SILENCE_S = 1.0
"""Silence after which one more may be, then two, then four."""
SILENT_CALLS = 30
"""Calls that may be open to a model that has said nothing at all."""
IDLE_S = 60.0
"""After so long without an answer nothing is known any more."""


class Window:
    """The calls of one model that are open, and those that wait for their turn."""

    def __init__(self) -> None:
        self._width = FIRST_CALLS
        self._open = 0
        self._answered_at = -IDLE_S
        self._heard = 0
        """Answers and failures so far."""
        self._alarm: asyncio.TimerHandle | None = None
        self._more = 1
        """Calls that the next second of silence lets in."""
        self._waiting: deque[asyncio.Future[None]] = deque()

    @asynccontextmanager
    async def place(self) -> AsyncIterator[None]:
        """Hold one of the places, in the order of asking."""
        if not self._open and asyncio.get_running_loop().time() - self._answered_at > IDLE_S:
            self._width = FIRST_CALLS
        if self._open >= self._width or self._waiting:
            await self._turn()
        else:
            self._open += 1
        try:
            yield
        finally:
            self._open -= 1
            self._admit()

    def widen(self) -> None:
        """An answer has begun."""
        self._heard += 1
        self._answered_at = asyncio.get_running_loop().time()
        if self._open * 2 >= self._width:  # What is not used proves nothing.
            self._width += 1
        self._admit()

    def narrow(self) -> None:
        """A call has failed in a way that others may meet."""
        self._heard += 1
        self._width = max(self._width // 2, 1)

    def _listen(self) -> None:
        """Look after a while whether anything was heard meanwhile, as long as somebody waits."""
        if self._alarm is None:
            self._alarm = asyncio.get_running_loop().call_later(SILENCE_S, self._after_silence, self._heard)

    def _after_silence(self, heard: int) -> None:
        self._alarm = None
        silent = self._heard == heard
        if silent and self._waiting:
            self._width = max(min(self._width + self._more, SILENT_CALLS), self._width)
            self._admit()
        self._more = self._more * 2 if silent else 1
        if self._waiting:
            self._listen()

    async def _turn(self) -> None:
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        self._listen()
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():  # It had its turn already.
                self._open -= 1
                self._admit()
            with suppress(ValueError):  # Whoever admits may have passed over it already.
                self._waiting.remove(turn)
            raise

    def _admit(self) -> None:
        while self._waiting and self._open < self._width:
            turn = self._waiting.popleft()
            if not turn.done():
                self._open += 1
                turn.set_result(None)
