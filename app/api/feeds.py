"""What the readers of a run share: one look at the log for all of them, and its newest events as they are sent.

All readers of a process who want the same of a run stand at one feed. It hears the wake-ups, looks into the log, and
keeps the newest frames, up to some size. A reader is a place in the log: it takes what is behind that, which for those
in step is the same bytes. Who comes new, or has fallen further behind than the feed reaches, reads the log by itself.

Wake-ups are hints: a feed looks into the log after a while in any case. It does so only while a reader waits, so that
nothing is read ahead of a slow one, who would have to read it again.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from itertools import islice

import structlog
from fastapi.sse import format_sse_event

from app.api.frames import Frame, SharedPages, chunks
from app.domain.events import RUN_ENDS
from app.runtime import Runtime
from app.store.database import OUTAGE

log = structlog.get_logger(__name__)

KEPT_BYTES = 64 * 1024
"""Frames of events that a feed keeps."""
DELTAS_KEPT = 256
"""Pieces of text that are kept for readers; of more, the oldest are dropped."""
_STILL_HERE = format_sse_event(comment="still here")


@dataclass(frozen=True, slots=True)
class Subscription:
    """What of a run a client wants to follow."""

    tenant: str
    run_id: str
    types: frozenset[str] = frozenset()
    """Only events of these types; all when empty."""
    deltas: bool = False
    """Whether it wants text while it is written."""


@dataclass(frozen=True, slots=True)
class Batch:
    """What a reader gets at once, and its place behind that."""

    after: int
    """The last event that it knows then."""
    passed: int
    """How many passing frames there have been by then."""
    passing: bytes = b""
    """Text and signs of life, which are stored nowhere."""
    events: Sequence[bytes] = ()
    """Frames of events, joined to chunks."""
    followed: bool = False
    """Whether there is more in the log that the reader has to read by itself."""
    ended: bool = False
    """Whether the run has ended with it."""


class Feed:
    """The newest of a run for all who want the same of it."""

    def __init__(self, runtime: Runtime, pages: SharedPages, subscription: Subscription) -> None:
        self.readers = 0
        self._runtime, self._pages, self._subscription = runtime, pages, subscription
        self._place = 0
        """The last event that was found."""
        self._ended = False
        self._kept: deque[Frame] = deque()
        self._kept_bytes = 0
        self._kept_behind = 0
        """All that is wanted behind this event is kept."""
        self._passing: deque[bytes] = deque(maxlen=DELTAS_KEPT)
        self._passed = 0
        self._newest_batch: tuple[tuple[int, int], Batch] | None = None
        """The batch that was made last, by the place it starts at."""
        self._news = asyncio.Event()
        """Set for a moment, to wake the readers that wait."""
        self._waiting = 0
        self._awaited = asyncio.Event()
        """Set while a reader waits."""
        self._rung = asyncio.Event()
        self._heard_of = 0
        """The newest event that a wake-up told of."""
        self._unsure = False
        """Whether events may have come that no wake-up told of."""
        self._now = asyncio.get_running_loop().time
        self._silent_since = self._looked_at = self._now()
        self._keeping_up = asyncio.create_task(self._keep_up())
        self._keeping_up.add_done_callback(lambda _: self.ring())

    def entry(self, after: int) -> Batch:
        """Where a reader begins who knows the events up to number `after`."""
        return Batch(after, self._passed, followed=True)

    async def behind(self, last: Batch, is_over: Callable[[], bool] = lambda: False) -> Batch | None:
        """What a reader gets behind its last batch; waits for it. None when the stream cannot go on here, or for it."""
        while not (is_over() or self._runtime.draining.is_set() or (self._keeping_up.done() and not self._ended)):
            if last.followed or last.after < self._kept_behind:
                return await self._read_behind(last)
            if last.after < self._place or last.passed < self._passed:
                return self._batch_behind(last)
            await self._news_behind(last.after)
        return None

    def ring(self) -> None:
        """Have the readers that wait look for themselves."""
        self._news.set()
        self._news.clear()

    def close(self) -> None:
        """Look no more."""
        self._keeping_up.cancel()

    async def _read_behind(self, last: Batch) -> Batch:
        """A page of the log; after an outage nothing, a while later."""
        try:
            page = await self._pages.behind(self._subscription.tenant, self._subscription.run_id, last.after)
        except OUTAGE as error:
            self._log_outage(error)
            with suppress(TimeoutError):
                async with asyncio.timeout(self._runtime.poll_s):
                    await self._runtime.draining.wait()
            return last if last.followed else Batch(last.after, last.passed)
        passing = self._passing_behind(last.passed)
        if not page:
            return Batch(last.after, self._passed, passing)
        newest = page[-1]
        events = tuple(chunks(filter(self._is_wanted, page)))
        ended = newest.type in RUN_ENDS
        return Batch(newest.seq, self._passed, passing, events, followed=newest.followed, ended=ended)

    def _batch_behind(self, last: Batch) -> Batch:
        """All that is kept behind a place. Readers in step get the same, so that it is joined once."""
        place = last.after, last.passed
        if self._newest_batch is None or self._newest_batch[0] != place:
            events = tuple(chunks(frame for frame in self._kept if frame.seq > last.after))
            passing = self._passing_behind(last.passed)
            after = max(self._place, last.after)  # Who came later may have read further than the feed has.
            self._newest_batch = place, Batch(after, self._passed, passing, events, ended=self._ended)
        return self._newest_batch[1]

    def _passing_behind(self, passed: int) -> bytes:
        lacking = min(self._passed - passed, len(self._passing))
        return b"".join(islice(self._passing, len(self._passing) - lacking, None))

    async def _news_behind(self, after: int) -> None:
        if not self._waiting and after > self._place:
            # Its readers have read on by themselves; it continues from there.
            self._place = after
            self._forget()
        self._waiting += 1
        self._awaited.set()
        try:
            await self._news.wait()
        finally:
            self._waiting -= 1
            if not self._waiting:
                self._awaited.clear()

    async def _keep_up(self) -> None:
        run_id = self._subscription.run_id
        text = self._runtime.deltas.listening(run_id, self._heard_text) if self._subscription.deltas else nullcontext()
        with self._runtime.wakeups.listening(run_id, self._woken_up), text:
            while not self._ended:
                await self._awaited.wait()
                self._rung.clear()
                if page := await self._look() if self._must_look() else ():
                    self._keep(page)
                elif not self._heard_of_later() and not await self._something_to_do():
                    self._forget()
                    self._pass_on(_STILL_HERE)

    async def _look(self) -> Sequence[Frame]:
        try:
            return await self._pages.behind(self._subscription.tenant, self._subscription.run_id, self._place)
        except OUTAGE as error:
            self._log_outage(error)
            return ()

    def _keep(self, page: Sequence[Frame]) -> None:
        """Let readers have a page, and drop the oldest of what is then too much to be kept."""
        newer = [frame for frame in page if frame.seq > self._place]  # Its readers may have read on meanwhile.
        if not newer:
            return
        for frame in filter(self._is_wanted, newer):
            self._kept.append(frame)
            self._kept_bytes += len(frame.wire)
            self._silent_since = self._now()
        while self._kept_bytes > KEPT_BYTES:
            dropped = self._kept.popleft()
            self._kept_bytes -= len(dropped.wire)
            self._kept_behind = dropped.seq
        self._place = newer[-1].seq
        self._ended = newer[-1].type in RUN_ENDS
        self._unsure = self._unsure or newer[-1].followed
        self._tell()

    def _pass_on(self, frame: bytes) -> None:
        self._passing.append(frame)
        self._passed += 1
        self._silent_since = self._now()
        self._tell()

    def _tell(self) -> None:
        self._newest_batch = None
        self.ring()

    def _forget(self) -> None:
        """Keep nothing: who has not taken it by now reads the log."""
        self._kept.clear()
        self._kept_bytes = 0
        self._kept_behind = self._place

    def _is_wanted(self, frame: Frame) -> bool:
        return not self._subscription.types or frame.type in self._subscription.types

    def _woken_up(self, newest: int) -> None:
        self._heard_of = max(self._heard_of, newest)
        self._unsure = self._unsure or not newest
        self._rung.set()

    def _heard_text(self, envelope: str) -> None:
        self._pass_on(format_sse_event(data_str=envelope, event="text.delta"))

    def _must_look(self) -> bool:
        """Whether a wake-up or the time calls for a look; what is said of text calls for none."""
        poll = self._now() >= self._looked_at + self._runtime.poll_s
        due = self._unsure or self._heard_of > self._place or poll
        if due:
            self._unsure, self._looked_at = False, self._now()
        return due

    def _heard_of_later(self) -> bool:
        """Whether a wake-up told of a later event; each is worth one more look, as a shared read may have missed it."""
        later = self._heard_of > self._place
        self._heard_of = 0
        self._unsure = self._unsure or later
        return later

    async def _something_to_do(self) -> bool:
        """Wait. False when the feed has been silent for so long that it must give a sign of life."""
        until = min(self._looked_at + self._runtime.poll_s, self._silent_since + self._runtime.heartbeat_s)
        with suppress(TimeoutError):
            async with asyncio.timeout(max(until - self._now(), 0)):
                await self._rung.wait()
        return self._rung.is_set() or self._now() < self._silent_since + self._runtime.heartbeat_s

    def _log_outage(self, error: BaseException) -> None:
        log.warning("stream delayed", run_id=self._subscription.run_id, error=type(error).__name__)


class Feeds:
    """The feeds of a process, each for as long as it has readers."""

    def __init__(self, runtime: Runtime, pages: SharedPages) -> None:
        self._runtime, self._pages = runtime, pages
        self._feeds: dict[Subscription, Feed] = {}

    @contextmanager
    def joined(self, subscription: Subscription) -> Iterator[Feed]:
        """The feed for those who want this, for as long as the block."""
        feed = self._feeds.get(subscription)
        if feed is None:
            feed = self._feeds[subscription] = Feed(self._runtime, self._pages, subscription)
        feed.readers += 1
        try:
            yield feed
        finally:
            feed.readers -= 1
            if not feed.readers:
                del self._feeds[subscription]
                feed.close()

    def ring(self) -> None:
        """Have all readers that wait look for themselves."""
        for feed in self._feeds.values():
            feed.ring()
