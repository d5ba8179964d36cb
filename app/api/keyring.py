"""The keys that a process knows of: looked up once in a while, and watched while somebody reads with one."""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

import structlog

from app.domain.keys import ANYBODY, Caller, SentKey, StoredKey
from app.store.database import OUTAGE, Database
from app.store.keys import find_key, unusable
from app.store.limits import find_quotas

log = structlog.get_logger(__name__)

KNOWN_FOR_S = 2.0
"""Seconds for which what was found is taken to be so still: a key that is taken back opens nothing more after them."""
KEPT = 10_000
"""Keys that are kept in mind, those that do not exist among them."""


class KeyRing:
    """The keys of one process."""

    def __init__(self, database: Callable[[], Database]) -> None:
        self._database = database
        self._known: OrderedDict[str, tuple[float, StoredKey | None]] = OrderedDict()
        self._anybody: tuple[float, Caller] = 0.0, ANYBODY
        self._readers: dict[str, list[Callable[[], None]]] = {}
        """What to call when a key is taken back, by its id."""
        self._wanted = asyncio.Event()

    async def caller_of(self, sent: SentKey) -> Caller | None:
        """Whom a key stands for; None for one that opens nothing."""
        found = await self._find(sent.id)
        if found is None or not found.opens_for(sent):
            return None
        return Caller(found.tenant, found.scopes, found.id, found.quotas)

    async def anybody(self) -> Caller:
        """Whoever comes while keys are not asked for."""
        if time.monotonic() >= self._anybody[0]:
            asked_at = time.monotonic()
            quotas = await find_quotas(self._database(), ANYBODY.tenant)
            self._anybody = asked_at + KNOWN_FOR_S, replace(ANYBODY, quotas=quotas)
        return self._anybody[1]

    async def _find(self, key: str) -> StoredKey | None:
        known = self._known.get(key)
        if known is not None and time.monotonic() < known[0]:
            return known[1]
        asked_at = time.monotonic()
        found = await find_key(self._database(), key)
        self._known[key] = asked_at + KNOWN_FOR_S, found
        self._known.move_to_end(key)
        while len(self._known) > KEPT:
            self._known.popitem(last=False)
        return found

    @contextmanager
    def watched(self, key: str | None, over: Callable[[], None]) -> Iterator[None]:
        """Have `over` called when the key may be used no longer, for as long as the block; without one, never."""
        if key is None:
            yield
            return
        readers = self._readers.setdefault(key, [])
        readers.append(over)
        self._wanted.set()
        try:
            yield
        finally:
            readers.remove(over)
            if not readers and self._readers.get(key) is readers:
                del self._readers[key]

    async def watch_forever(self) -> None:
        """Look after the keys that somebody reads with."""
        while True:
            await self._wanted.wait()
            await asyncio.sleep(KNOWN_FOR_S)
            if not self._readers:
                self._wanted.clear()
                continue
            try:
                gone = await unusable(self._database(), self._readers)
            except OUTAGE as error:
                log.warning("keys not looked at", error=type(error).__name__)
                continue
            for key in gone:
                for over in tuple(self._readers.get(key, ())):
                    over()
