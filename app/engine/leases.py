"""The leases of the runs that a process executes: renewed in time, or else the runs are let go in time."""

import asyncio
import time
from collections.abc import Callable, Mapping

import structlog

from app.engine.execution import Execution
from app.runtime import Runtime
from app.store.database import TROUBLE
from app.store.ownership import renew

log = structlog.get_logger(__name__)

RENEWALS_PER_LEASE = 4
RENEWAL_CEILING_S = 1.0
"""Renewals also bring news of events that others have written, should every wake-up be lost."""
LEASE_MARGIN = 0.15
"""Share of a lease, before its end, at which a run that could not be renewed is dropped."""


class Leases:
    """Keeps the leases of the runs in `held`. `moved` is told of each that has got on since it was taken."""

    def __init__(self, runtime: Runtime, held: Mapping[str, Execution], moved: Callable[[str], None]) -> None:
        self._runtime = runtime
        self._held = held
        self._moved = moved

    def held_until(self, asked_at: float, left_s: float) -> float:
        """When a lease that had so long left at `asked_at` must be taken for lapsed, on the monotonic clock."""
        return asked_at + left_s - self._runtime.lease_s * LEASE_MARGIN

    async def renew_forever(self) -> None:
        """Renew all leases, a few times in each one's length."""
        pause = min(self._runtime.lease_s / RENEWALS_PER_LEASE, RENEWAL_CEILING_S)
        while True:
            await asyncio.sleep(pause)
            try:
                async with asyncio.timeout(self._runtime.lease_s / 2):
                    await self._renew()
            except (*TROUBLE, TimeoutError) as error:
                log.warning("leases not renewed", error=type(error).__name__, runs=len(self._held))

    async def _renew(self) -> None:
        held = dict(self._held)
        if not held:
            return
        epochs = {run_id: execution.log.epoch for run_id, execution in held.items()}
        asked_at = time.monotonic()
        runtime = self._runtime
        leases = await renew(runtime.database, epochs, owner=runtime.name, lease_s=runtime.lease_s)
        for run_id, execution in held.items():
            if execution.has_moved:
                self._moved(run_id)
            if lease := leases.get(run_id):
                execution.desk.held_until = self.held_until(asked_at, lease.left_s)
                execution.log.hear_of(lease.newest)
            elif not execution.log.snapshot.ended:
                execution.log.lose()

    async def drop_lapsed_forever(self) -> None:
        """Let go of runs whose lease could not be renewed, before anybody else may take them."""
        while True:
            now = time.monotonic()
            for execution in self._held.values():
                if now >= execution.desk.held_until:
                    execution.log.lose()
            await asyncio.sleep(self._runtime.lease_s * LEASE_MARGIN / 3)
