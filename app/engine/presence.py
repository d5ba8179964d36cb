"""A process says that it is there, and hears whether it is to claim nothing more."""

import asyncio
import time
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any

from app import version
from app.runtime import Runtime
from app.store.database import TROUBLE
from app.store.engines import Presence as Said
from app.store.engines import end_presence, renew_presence

RENEWALS_MISSED = 5
"""After so many a process is held to be silent."""
LEAST_SILENCE_S = 5.0
GOODBYE_SECONDS = 2.0


class Presence:
    """The row of this process. `rest` and `wake` are called when somebody has asked for it."""

    def __init__(
        self, runtime: Runtime, rest: Callable[[], Coroutine[Any, Any, None]], wake: Callable[[], None]
    ) -> None:
        self._runtime = runtime
        self._rest, self._wake = rest, wake
        self._began_at = time.monotonic()
        self._resting: asyncio.Task[None] | None = None
        self.rests = False
        """Whether this process claims nothing, since somebody has asked for that."""

    async def renew_forever(self) -> None:
        """Write the row every few seconds, and at once when somebody has asked for something."""
        runtime = self._runtime
        silent_after_s = max(RENEWALS_MISSED * runtime.poll_s, LEAST_SILENCE_S)
        said = Said(runtime.name, version, runtime.runs_at_once, silent_after_s)
        while True:
            runtime.asked.clear()
            wanted = await renew_presence(
                runtime.database,
                said,
                up_s=time.monotonic() - self._began_at,
                leaving=runtime.draining.is_set(),
                rests=self.rests,
            )
            if not runtime.draining.is_set() and (self._resting is None or self._resting.done()):
                self._turn(wanted=wanted)
            with suppress(TimeoutError):
                async with asyncio.timeout(runtime.poll_s):
                    await runtime.asked.wait()

    def _turn(self, *, wanted: bool) -> None:
        """Rest, or claim again, where that is asked for. Runs take their time to be handed over: not within here."""
        if wanted and not self.rests:
            self.rests = True
            self._resting = asyncio.create_task(self._rest(), name="resting")
        elif self.rests and not wanted:
            self.rests = False
            self._wake()

    async def end(self) -> None:
        """The process is about to be gone."""
        if self._resting is not None:
            self._resting.cancel()
        with suppress(*TROUBLE, TimeoutError):  # The others find it silent.
            async with asyncio.timeout(GOODBYE_SECONDS):
                await end_presence(self._runtime.database, self._runtime.name)
