"""Wake-ups: one LISTEN connection per process, fanned out in memory.

A wake-up says only that a run has a newer event. It is a hint that may be lost; whoever waits asks the table again
after a while in any case. A connection that has gone silent is probed, and replaced when it does not answer.
"""

import asyncio
import random
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import psycopg
import structlog
from psycopg import sql

from app.store.connections import ImpatientConnection, with_defaults
from app.store.journal_sql import EVENTS_CHANNEL

log = structlog.get_logger(__name__)

SILENCE_SECONDS = 3.0
"""How long the connection may be silent before it is probed."""
PROBE_SECONDS = 3.0
"""How long it may then take to answer."""
RECONNECT_SECONDS = 0.5
RECONNECT_CEILING_SECONDS = 5.0

Heard = Callable[[int], None]
"""Takes the number of the newest event; 0 when wake-ups may have been missed."""
Notice = Callable[[str], None]
"""Takes the payload of a notice."""


class Wakeups:
    """What this process hears of runs, its own and those of others."""

    def __init__(self, url: str) -> None:
        self._url = with_defaults(url)
        self._listeners: dict[str, dict[Heard, None]] = defaultdict(dict)
        self._channels: dict[str, Notice] = {EVENTS_CHANNEL: self._heard_of_events}
        self._unread: set[str] = set()
        """Channels on which something could not be read."""
        self.connected = asyncio.Event()
        """Set while the connection listens."""

    def hear(self, channel: str, heard: Notice) -> None:
        """Listen to a further channel, on the same connection. To be said before `listen_forever`."""
        self._channels[channel] = heard

    @contextmanager
    def listening(self, run_id: str, heard: Heard) -> Iterator[None]:
        """Have `heard` called whenever the run has a new event."""
        self._listeners[run_id][heard] = None
        try:
            yield
        finally:
            del self._listeners[run_id][heard]
            if not self._listeners[run_id]:
                del self._listeners[run_id]

    async def listen_forever(self) -> None:
        """Hear wake-ups until cancelled, through as many connections as it takes."""
        failures = 0
        while True:
            try:
                connection = await ImpatientConnection.connect(self._url, autocommit=True)
                async with connection:
                    connection.answer_seconds = PROBE_SECONDS
                    for channel in self._channels:
                        await connection.execute(sql.SQL("LISTEN {}").format(sql.Identifier(channel)))
                    failures = 0
                    self.connected.set()
                    self._wake_all()
                    await self._hear(connection)
            except (psycopg.Error, OSError, TimeoutError) as error:
                failures += 1
                log.warning("listener lost", error=type(error).__name__, failures=failures)
            finally:
                self.connected.clear()
            wait = min(RECONNECT_SECONDS * 2 ** min(failures, 8), RECONNECT_CEILING_SECONDS)
            await asyncio.sleep(wait * (0.5 + random.random() / 2))

    async def _hear(self, connection: ImpatientConnection) -> None:
        while True:
            async for notice in connection.notifies(timeout=SILENCE_SECONDS):
                self._take(notice.channel, notice.payload)
            await connection.ensure_writable()

    def _take(self, channel: str, payload: str) -> None:
        """Notices come from whoever may connect: other releases, or a hand. What cannot be read is passed over."""
        try:
            self._channels[channel](payload)
        except (ValueError, LookupError) as error:
            if channel not in self._unread:
                log.warning("notice passed over", channel=channel, error=type(error).__name__, further="not logged")
            self._unread.add(channel)

    def _heard_of_events(self, payload: str) -> None:
        for part in payload.split():
            run_id, _, newest = part.partition(":")
            self._wake(run_id, int(newest))

    def _wake(self, run_id: str, newest: int) -> None:
        for heard in tuple(self._listeners.get(run_id, ())):
            heard(newest)

    def _wake_all(self) -> None:
        for run_id in tuple(self._listeners):
            self._wake(run_id, 0)
