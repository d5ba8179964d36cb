"""What the model calls under way in a run may still consume, so that no other is begun on the same money."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from app.domain.nested import Allowance
from app.domain.policy.allowances import share_in, share_spent
from app.domain.policy.budget import Kept, WorstCase, cap_in, room_in, spent_for
from app.domain.snapshot import Snapshot
from app.domain.usage import Amount


class Reservations:
    """The reservations of one run. They live as long as their calls, with the run's owner."""

    def __init__(self) -> None:
        self._held: dict[object, Amount] = {}
        self._freed = asyncio.Event()

    @asynccontextmanager
    async def hold_share(
        self, run: Callable[[], Snapshot], kept: Callable[[], Awaitable[Kept]], allowed: int | None
    ) -> AsyncIterator[Allowance]:
        """Reserve what a nested run may spend: of what is left as much as each task that is still to be paid for gets.

        At most `allowed` tokens, where the task itself has a limit. Waits and raises as `hold` does.
        """
        while True:
            room = room_in(run(), self._held.values(), await kept())
            allowance = share_in(room, run(), allowed)
            if allowance is not None:
                break
            if not self._held:
                raise share_spent(run(), room)
            await self._freed.wait()
        mark = object()
        self._held[mark] = allowance.amount
        try:
            yield allowance
        finally:
            self._free(mark)

    @asynccontextmanager
    async def hold(
        self, call: WorstCase, run: Callable[[], Snapshot], kept: Callable[[], Awaitable[Kept]]
    ) -> AsyncIterator[int]:
        """Reserve the worst case of a call; the tokens that its reply may have.

        `run` and what is `kept` of its budget are looked at anew after each wait for the calls under way. Raises
        `BudgetSpent` when none is left that could free room.
        """
        while True:
            for_others = await kept()
            room = room_in(run(), self._held.values(), for_others)
            cap = cap_in(room, call, alone=not self._held)
            if cap is not None:
                break
            await self._freed.wait()
        if cap == 0:
            raise spent_for(run(), room, call)
        mark = object()
        self._held[mark] = call.under(cap)
        try:
            yield cap
        finally:
            self._free(mark)

    def _free(self, mark: object) -> None:
        del self._held[mark]
        freed, self._freed = self._freed, asyncio.Event()
        freed.set()
