"""A run's events as a stream that follows the log.

A reader is a cursor into storage, not a queue: it reads a page behind its last event, sends it, and when there is
nothing more waits for a wake-up. So a slow reader costs one page of memory, one that comes back goes on where it was,
and none holds a connection to the database while it waits. Wake-ups are hints: the log is asked again after a while in
any case, and an outage of the database only delays what a reader gets.
"""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Collection, Iterable, Iterator, Sequence
from contextlib import aclosing, contextmanager, nullcontext, suppress
from dataclasses import dataclass

import structlog
from fastapi.sse import EventSourceResponse, format_sse_event
from starlette.types import Message, Send

from app.api.waiting import LOOKS_AT_ONCE, called_when_set
from app.domain.events import RUN_ENDS
from app.runtime import TENANT, Runtime
from app.store.database import OUTAGE, Database
from app.store.runs import StoredEvent, events_of

log = structlog.get_logger(__name__)

PAGE_EVENTS = 100
CHUNK_BYTES = 64 * 1024
"""Frames that are ready are sent together, up to this size."""
DELTAS_KEPT = 256
"""Pieces of text that wait for a reader; of more, the oldest are dropped."""
RETRY_MS = 1000
"""When a client that lost the stream should come back."""
_HEADERS = {"X-Accel-Buffering": "no", "Vary": "Accept"}


@dataclass(frozen=True, slots=True)
class Reader:
    """Which events a client wants."""

    run_id: str
    after: int
    types: Collection[str] = ()
    """Only these types; all when empty."""
    deltas: bool = False
    """Whether it wants text while it is written."""


class SharedPages:
    """Reads pages of events; readers at the same place of a run share the read that is under way."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._turns = asyncio.Semaphore(LOOKS_AT_ONCE)
        self._reads: dict[tuple[str, int], asyncio.Task[Sequence[StoredEvent]]] = {}

    async def behind(self, run_id: str, after: int) -> Sequence[StoredEvent]:
        """The page of events behind number `after`."""
        place = run_id, after
        read = self._reads.get(place)
        if read is None:
            read = self._reads[place] = asyncio.create_task(self._read(run_id, after))
            read.add_done_callback(lambda _: self._reads.pop(place))
        # One reader that goes must not take the page from the others.
        return await asyncio.shield(read)

    async def _read(self, run_id: str, after: int) -> Sequence[StoredEvent]:
        async with self._turns:
            return await events_of(self._database, TENANT, run_id, after=after, limit=PAGE_EVENTS)


class EventStream(EventSourceResponse):
    """A response that drops a client which takes nothing for `send_limit_s` seconds."""

    def __init__(self, frames: AsyncGenerator[bytes], *, send_limit_s: float) -> None:
        super().__init__(frames, headers=_HEADERS)
        self._frames = frames
        self._send_limit_s = send_limit_s

    async def stream_response(self, send: Send) -> None:
        """Send frame after frame, each within the limit."""

        async def send_in_time(message: Message) -> None:
            async with asyncio.timeout(self._send_limit_s):
                await send(message)

        # A client may go while a frame is being sent: what its reader holds is let go at once, not at some collection.
        async with aclosing(self._frames):
            try:
                await super().stream_response(send_in_time)
            except TimeoutError:
                log.info("slow reader dropped", send_limit_s=self._send_limit_s)


async def follow(runtime: Runtime, pages: SharedPages, reader: Reader) -> AsyncGenerator[bytes]:
    """Frames for `reader` until the run has ended, this process is told to stop, or the client goes."""
    # Clients take a block for an event, whatever is in it: `retry` goes with the first event, and comments go alone.
    yield format_sse_event(comment="here it begins")
    after = reader.after
    retry: int | None = RETRY_MS
    with _ears(runtime, reader) as ears:
        while not runtime.draining.is_set():
            ears.clear()
            deltas = ears.taken_deltas()
            page = await _page_behind(pages, reader.run_id, after) if ears.must_look() else ()
            wanted = [event for event in page if not reader.types or event.type in reader.types]
            frames = [_frame(event, retry if event is wanted[0] else None) for event in wanted]
            retry = None if wanted else retry
            for chunk in _chunks([*deltas, *frames]):
                yield chunk
                ears.silent_since = ears.now()
            if page:
                after = page[-1].seq
                if page[-1].type in RUN_ENDS:
                    return
                ears.wake_up(after)
            elif not ears.heard_of_later_than(after) and not await ears.something_to_do():
                yield format_sse_event(comment="still here")
                ears.silent_since = ears.now()
    yield format_sse_event(comment="this server is stopping")


async def _page_behind(pages: SharedPages, run_id: str, after: int) -> Sequence[StoredEvent]:
    try:
        return await pages.behind(run_id, after)
    except OUTAGE as error:
        log.warning("stream delayed", run_id=run_id, error=type(error).__name__)
        return ()


def _frame(event: StoredEvent, retry: int | None) -> bytes:
    return format_sse_event(data_str=event.json, event=event.type, id=str(event.seq), retry=retry)


def _chunks(frames: Iterable[bytes]) -> Iterator[bytes]:
    """The frames joined into chunks of some size."""
    waiting: list[bytes] = []
    size = 0
    for frame in frames:
        waiting.append(frame)
        size += len(frame)
        if size >= CHUNK_BYTES:
            yield b"".join(waiting)
            waiting, size = [], 0
    if waiting:
        yield b"".join(waiting)


class _Ears:
    """What a reader hears while it waits, and when it must look into the log for more."""

    def __init__(self, runtime: Runtime) -> None:
        self._poll_s, self._heartbeat_s = runtime.poll_s, runtime.heartbeat_s
        self._rung = asyncio.Event()
        self._newest = 0
        self._must_look = True
        self._deltas: deque[bytes] = deque(maxlen=DELTAS_KEPT)
        self.now = asyncio.get_running_loop().time
        self.silent_since = self._looked_at = self.now()

    def wake_up(self, newest: int) -> None:
        self._newest = max(self._newest, newest)
        self._must_look = True
        self._rung.set()

    def delta(self, envelope: str) -> None:
        self._deltas.append(format_sse_event(data_str=envelope, event="text.delta"))
        self._rung.set()

    def ring(self) -> None:
        self._rung.set()

    def clear(self) -> None:
        self._rung.clear()

    def taken_deltas(self) -> list[bytes]:
        taken = list(self._deltas)
        self._deltas.clear()
        return taken

    def must_look(self) -> bool:
        """Whether a wake-up or the time calls for a look; what is said of text calls for none."""
        due = self._must_look or self.now() >= self._looked_at + self._poll_s
        if due:
            self._must_look, self._looked_at = False, self.now()
        return due

    def heard_of_later_than(self, after: int) -> bool:
        """Whether a wake-up told of a later event; each is worth one more look, as a shared read may have missed it."""
        later = self._newest > after
        self._newest = 0
        self._must_look = self._must_look or later
        return later

    async def something_to_do(self) -> bool:
        """Wait. False when the stream has been silent for so long that it must give a sign of life."""
        silent_until = self.silent_since + self._heartbeat_s
        until = min(self._looked_at + self._poll_s, silent_until)
        with suppress(TimeoutError):
            async with asyncio.timeout(max(until - self.now(), 0)):
                await self._rung.wait()
        return self._rung.is_set() or self.now() < silent_until


@contextmanager
def _ears(runtime: Runtime, reader: Reader) -> Iterator[_Ears]:
    ears = _Ears(runtime)
    text = runtime.deltas.listening(reader.run_id, ears.delta) if reader.deltas else nullcontext()
    with (
        runtime.wakeups.listening(reader.run_id, ears.wake_up),
        called_when_set(runtime.draining, ears.ring),
        text,
    ):
        yield ears
