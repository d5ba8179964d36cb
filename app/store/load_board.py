"""How busy workers are as a process knows it: what its own runs have them do, and what the other processes say.

Only the runs of teams whose workers have kinds are counted here. While there are none, nothing is written or read.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress

from app.domain.policy.load import LEAST_WEIGHT, Load, Pace
from app.store.database import Database
from app.store.worker_loads import Place, loads_elsewhere, share_loads

POLLS_COUNTED = 5
"""What a process has under way counts for so many polls after it was last heard of."""


class LoadBoard:
    """What this process knows of the load of workers. Workers have names of the form `tenant:team/worker`."""

    def __init__(self, tenant: str, process: str, *, poll_s: float) -> None:
        self._place = Place(tenant, process, POLLS_COUNTED * poll_s)
        self._poll_s = poll_s
        self._runs: dict[str, Counter[str]] = {}
        """The attempts that each run of ours has under way, by worker."""
        self._under_way: Counter[str] = Counter()
        """The same of all runs together."""
        self._paces: dict[str, Pace] = {}
        self._paces_at = time.monotonic()
        """The moment as of which they stand."""
        self._elsewhere: dict[str, Load] = {}
        self._elsewhere_at = 0.0
        self._wanted = asyncio.Event()
        self._known = asyncio.Event()
        """Set while what the other processes say is known."""
        self._version = 0
        """Rises with each change of ours."""
        self._told = 0
        """The version that the others have been told, and when."""
        self._told_at = 0.0

    async def known(self) -> None:
        """Wait until it is known what the other processes have workers do, for as long as a poll takes at most."""
        with suppress(TimeoutError):
            async with asyncio.timeout(self._poll_s):
                await self._known.wait()

    def count(self, run_id: str, attempts: Mapping[str, int]) -> None:
        """Take notice of the attempts that a run of ours has under way, by worker."""
        before, now = self._runs.get(run_id, Counter()), Counter(attempts)
        self._runs[run_id] = now
        self._set_right(before, now)
        self._wanted.set()

    def leave(self, run_id: str) -> None:
        """A run is no longer ours."""
        self._set_right(self._runs.pop(run_id, Counter()), Counter())

    def took(self, worker: str, seconds: float, *, failed: bool) -> None:
        """An attempt of a worker has ended."""
        self._fade()
        self._paces[worker] = self._paces.get(worker, Pace()).after(seconds, failed=failed)
        self._version += 1

    def besides(self, run_id: str, workers: Iterable[str]) -> dict[str, Load]:
        """What all runs but this one have these workers do."""
        self._fade()
        own, elapsed_s = self._runs.get(run_id, Counter()), time.monotonic() - self._elsewhere_at
        found = {}
        for name in workers:
            there = self._elsewhere.get(name, Load())
            here = Load(self._under_way[name] - own[name], self._paces.get(name, Pace()))
            found[name] = here.plus(Load(there.attempts, there.pace.faded(elapsed_s)))
        return found

    async def share_forever(self, database: Callable[[], Database]) -> None:
        """Tell the other processes of our load and hear of theirs, while a run of ours is concerned."""
        while True:
            await self._wanted.wait()
            await self._share(database())
            await asyncio.sleep(self._poll_s)
            if not self._runs and self._told == self._version:
                self._wanted.clear()
                self._known.clear()

    async def _share(self, database: Database) -> None:
        runs_out = self._under_way and time.monotonic() - self._told_at > self._place.counts_for_s / 2
        if self._told != self._version or runs_out:
            self._fade()
            version = self._version
            found = await share_loads(database, self._place, self._ours())
            self._told, self._told_at = version, time.monotonic()
        else:
            found = await loads_elsewhere(database, self._place)
        self._elsewhere, self._elsewhere_at = found, time.monotonic()
        self._known.set()

    def _ours(self) -> dict[str, Load]:
        names = {*self._under_way, *self._paces}
        return {name: Load(self._under_way[name], self._paces.get(name, Pace())) for name in sorted(names)}

    def _set_right(self, before: Counter[str], now: Counter[str]) -> None:
        if before != now:
            self._under_way = self._under_way - before + now
            self._version += 1

    def _fade(self) -> None:
        """Have the paces stand as of now, and forget what says nothing any more."""
        now = time.monotonic()
        faded = {name: pace.faded(now - self._paces_at) for name, pace in self._paces.items()}
        self._paces = {name: pace for name, pace in faded.items() if pace.weight >= LEAST_WEIGHT}
        self._paces_at = now
