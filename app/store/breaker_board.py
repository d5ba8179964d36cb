"""The breakers as a process knows them: a copy of the few rows that say anything, so that a healthy run costs no look.

The copy is read again when a notice says that a row has changed, and from time to time in any case. What this process
has just learned itself stands until it is in the database.
"""

import asyncio
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import datetime

from app.domain.policy.breakers import Breaker
from app.store.breakers import BREAKERS_CHANNEL, Which, breakers_to_be_watched
from app.store.database import Database
from app.store.wakeups import Wakeups


class BreakerBoard:
    """What this process knows of breakers."""

    def __init__(self, wakeups: Wakeups) -> None:
        wakeups.hear(BREAKERS_CHANNEL, lambda _: self._news.set())
        self.ready = asyncio.Event()
        """Set once the rows have been read."""
        self._news = asyncio.Event()
        self._known: dict[Which, Breaker] = {}
        self._changing: dict[Which, int] = {}
        """Changes of ours that are on their way to the database."""
        self._touched: set[Which] = set()
        """What we have learned ourselves since the rows were read last: what is being read may be older."""
        self._open: dict[str, dict[str, Breaker]] = {}
        self._watchers: dict[Callable[[], None], None] = {}

    def open_of(self, tenant: str) -> Mapping[str, Breaker]:
        """The breakers of a tenant that are not closed, by name."""
        return self._open.get(tenant, {})

    def all_open(self) -> frozenset[Which]:
        """Those of all tenants that are not closed."""
        return frozenset(Which(tenant, name) for tenant, breakers in self._open.items() for name in breakers)

    def find(self, tenant: str, name: str) -> Breaker | None:
        """The breaker, if it is not closed or has counted failures."""
        return self._known.get(Which(tenant, name))

    def put(self, tenant: str, breaker: Breaker) -> None:
        """Take notice of what a breaker is now."""
        which = Which(tenant, breaker.name)
        self._touched.add(which)
        self._take(self._known | {which: breaker})

    @contextmanager
    def changing(self, tenant: str, name: str) -> Iterator[Callable[[], bool]]:
        """While a change of ours is on its way, what is read of this breaker is older than what we know.

        Yields whether it is the last one on its way, and so what the database says of it the newest there is.
        """
        key = Which(tenant, name)
        self._touched.add(key)
        self._changing[key] = self._changing.get(key, 0) + 1
        try:
            yield lambda: self._changing[key] == 1
        finally:
            self._touched.add(key)
            self._changing[key] -= 1
            if not self._changing[key]:
                del self._changing[key]
                self._news.set()  # What was read meanwhile may have been left out.

    def watch(self, changed: Callable[[], None]) -> None:
        """Have `changed` called whenever a breaker opens, closes, or lets a probe through at another time."""
        self._watchers[changed] = None

    @contextmanager
    def watched_by(self, changed: Callable[[], None]) -> Iterator[None]:
        """The same during the block."""
        self.watch(changed)
        try:
            yield
        finally:
            del self._watchers[changed]

    async def follow_forever(self, database: Callable[[], Database], poll_s: float) -> None:
        """Keep up with the rows."""
        while True:
            self._news.clear()
            self._touched = set(self._changing)
            found = await breakers_to_be_watched(database())
            ours = self._touched
            kept = {key: breaker for key, breaker in self._known.items() if key in ours}
            self._take({key: breaker for key, breaker in found.items() if key not in ours} | kept)
            self.ready.set()
            with suppress(TimeoutError):
                async with asyncio.timeout(poll_s):
                    await self._news.wait()

    def _take(self, known: Mapping[Which, Breaker]) -> None:
        self._known = {key: known[key] for key in known if known[key].state != "closed" or known[key].failures}
        before, self._open = self._open, {}
        for (tenant, name), breaker in self._known.items():
            if breaker.state != "closed":
                self._open.setdefault(tenant, {})[name] = breaker
        if _to_be_heard(self._open) != _to_be_heard(before):
            for changed in tuple(self._watchers):
                changed()


def _tenths(at: datetime | None) -> float | None:
    return None if at is None else round(at.timestamp(), 1)


def _to_be_heard(opened: Mapping[str, Mapping[str, Breaker]]) -> set[object]:
    """What matters to those who wait. Times are reckoned anew with each look, and differ by next to nothing."""
    return {
        (tenant, name, breaker.state, breaker.prober, breaker.is_borne_out, _tenths(breaker.probe_at))
        for tenant, breakers in opened.items()
        for name, breaker in breakers.items()
    }
