"""The steward: sees to what limits leave undone when a run ends. Held runs are let go, ends are booked, and those are
warned of whose limits most is spent. Any process may do it; what one leaves undone another does.
"""

import asyncio
from contextlib import suppress

import structlog

from app.runtime import Runtime
from app.store.held_runs import let_go
from app.store.limit_warnings import look_after_accounts

log = structlog.get_logger(__name__)


class Steward:
    """Looks after limits in one process."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._room = asyncio.Event()
        self._some_are_held = False
        """Whether there were held runs when this process last looked."""

    def hear_of_room(self) -> None:
        """A run has ended or waits: there may be room for another one. Where none was held that costs nothing."""
        if self._some_are_held:
            self._room.set()

    async def look_forever(self) -> None:
        """Look whenever there may be room, or it is time to."""
        runtime = self._runtime
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(runtime.poll_s):
                    await self._room.wait()
            self._room.clear()
            self._some_are_held, gone = await let_go(runtime.database, runtime.queue)
            if gone:
                log.info("held runs let go", runs=gone)
            for warned in await look_after_accounts(runtime.database, pause_s=runtime.poll_s):
                log.warning("most of a limit is spent", **warned.said)
                runtime.database.witness.heard_limit_warning(warned.name)
