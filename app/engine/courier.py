"""The courier: takes deliveries that are due, and makes them. Any process may have taken the one before or take the
next; what it has not settled when it dies is delivered again by another one.
"""

import asyncio
import random
import time
from collections import Counter
from contextlib import suppress
from functools import partial

import structlog

from app.domain.trace_ids import trace_id_of
from app.domain.webhooks import Outcome, wait_after
from app.engine.receivers import Receivers
from app.runtime import Runtime
from app.store.database import TROUBLE
from app.store.deliveries import DueDelivery, Room, settle, take_due

log = structlog.get_logger(__name__)

AT_ONCE = 50
"""Deliveries that one process makes at the same time."""
FOR_EACH = 10
"""Deliveries to one receiver at which it is given no more: one that is slow keeps nobody else waiting."""
LEASES = 2
"""How often over a receiver has its time before a delivery that is not settled counts as lost."""


class Courier:
    """Makes the deliveries of one process."""

    def __init__(self, runtime: Runtime) -> None:
        assert runtime.webhooks is not None
        self._runtime = runtime
        self._webhooks = runtime.webhooks
        self._receivers = Receivers(runtime.webhooks)
        self._under_way: set[asyncio.Task[None]] = set()
        self._load: Counter[str] = Counter()
        """Deliveries under way by endpoint."""

    async def deliver_forever(self) -> None:
        """Take what is due whenever there is news, or it is time to look."""
        news = self._webhooks.news
        while True:
            news.clear()
            await self._take()
            with suppress(TimeoutError):
                async with asyncio.timeout(self._runtime.poll_s):
                    await news.wait()

    async def close(self, *, within_s: float) -> None:
        """Give what is under way some time to end; what has not by then is delivered again."""
        if self._under_way:
            _, late = await asyncio.wait(self._under_way, timeout=within_s)
            for task in late:
                task.cancel()
            if late:
                await asyncio.wait(late)
        await self._receivers.close()

    async def _take(self) -> None:
        free = AT_ONCE - len(self._under_way)
        if free <= 0 or self._runtime.draining.is_set():
            return
        busy = [endpoint for endpoint, count in self._load.items() if count >= FOR_EACH]
        lease_s = self._webhooks.timeout_s * LEASES
        for due in await take_due(self._runtime.database, Room(free, FOR_EACH, busy, lease_s)):
            self._load[due.endpoint] += 1
            task = asyncio.create_task(self._deliver(due), name=f"delivery {due.id}")
            self._under_way.add(task)
            task.add_done_callback(partial(self._done, due.endpoint))

    def _done(self, endpoint: str, task: asyncio.Task[None]) -> None:
        if self._load[endpoint] in (1, FOR_EACH) or len(self._under_way) == AT_ONCE:
            self._webhooks.news.set()  # There is room, for which others may wait.
        self._under_way.discard(task)
        self._load[endpoint] -= 1
        self._load += Counter()  # Forgets those that have nothing left.
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("delivery broke", exc_info=error)

    async def _deliver(self, due: DueDelivery) -> None:
        began = time.monotonic()
        outcome = await self._receivers.tell(due)
        wait_s = wait_after(due.attempt, outcome, random.random())
        await self._settle(due, outcome, wait_s, round((time.monotonic() - began) * 1000))

    async def _settle(self, due: DueDelivery, outcome: Outcome, wait_s: float | None, took_ms: int) -> None:
        told = {
            "delivery": due.id,
            "endpoint": due.endpoint,
            "tenant": due.tenant,
            "run_id": due.news.run_id,
            "trace_id": due.news.run_id and trace_id_of(due.news.run_id),  # Nobody is told of nested runs.
            "type": due.news.type,
            "attempt": due.attempt,
            "status": outcome.status,
            "ms": took_ms,
        }
        try:
            await settle(self._runtime.database, due, outcome, wait_s)
        except TROUBLE as error:
            log.warning("delivery not settled", error=type(error).__name__, **told)
        else:
            if outcome.error is None:
                log.info("webhook delivered", **told)
            else:
                again_in_s = None if wait_s is None else round(wait_s)
                log.warning("webhook not delivered", error=outcome.error, again_in_s=again_in_s, **told)
