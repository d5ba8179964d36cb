"""A run's events as a stream that follows the log.

A reader is a cursor into storage, not a queue: it takes what is behind its last event, sends it, and when there is
nothing more waits for its feed. So a slow reader costs one page of memory, one that comes back goes on where it was,
and none holds a connection to the database while it waits. An outage of the database only delays what a reader gets.
"""

import asyncio
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing, contextmanager

import structlog
from fastapi.sse import EventSourceResponse, format_sse_event
from starlette.types import Message, Send

from app.api.feeds import Feeds, Subscription
from app.api.visits import Visit

log = structlog.get_logger(__name__)

RETRY = b"retry: 1000\n"
"""When a client that lost the stream should come back, in milliseconds; a line of the first event's block."""
_HEADERS = {"X-Accel-Buffering": "no", "Vary": "Accept"}


class EventStream(EventSourceResponse):
    """A response that drops a client which takes nothing for `send_limit_s` seconds."""

    def __init__(self, frames: AsyncGenerator[bytes], *, send_limit_s: float) -> None:
        super().__init__(frames, headers=_HEADERS)
        self._frames = frames
        self._send_limit_s = send_limit_s
        self._sending_since: float | None = None
        self._next_look: asyncio.TimerHandle

    async def stream_response(self, send: Send) -> None:
        """Send frame after frame, each within the limit."""
        now = asyncio.get_running_loop().time

        async def noted_send(message: Message) -> None:
            self._sending_since = now()
            await send(message)
            self._sending_since = None

        # A client may go while a frame is being sent: what its reader holds is let go at once, not at some collection.
        async with aclosing(self._frames):
            try:
                async with asyncio.timeout(None) as patience:
                    with self._watched(patience):
                        await super().stream_response(noted_send)
            except TimeoutError:
                log.info("slow reader dropped", send_limit_s=self._send_limit_s)

    @contextmanager
    def _watched(self, patience: asyncio.Timeout) -> Iterator[None]:
        """Have `patience` end once a send takes too long. It is looked at now and then: sends are many, and a timer for
        each would cost more than most of them.
        """
        self._look(patience)
        try:
            yield
        finally:
            self._next_look.cancel()

    def _look(self, patience: asyncio.Timeout) -> None:
        loop = asyncio.get_running_loop()
        since = loop.time() if self._sending_since is None else self._sending_since
        due = since + self._send_limit_s
        if due <= loop.time():
            patience.reschedule(due)
        else:
            self._next_look = loop.call_at(due, self._look, patience)


async def follow(visit: Visit, feeds: Feeds, subscription: Subscription, after: int) -> AsyncGenerator[bytes]:
    """Frames of events behind `after` until the run has ended, this process is told to stop, or the client goes."""
    # Clients take a block for an event, whatever is in it: `retry` goes with the first event, and comments go alone.
    yield format_sse_event(comment="here it begins")
    retry = RETRY
    with feeds.joined(subscription) as feed, visit.as_reader(feed.ring):
        batch = feed.entry(after)
        while not batch.ended:
            found = await feed.behind(batch, lambda: visit.is_over)
            if found is None:
                why = "this key opens nothing more" if visit.is_over else "this server is stopping"
                yield format_sse_event(comment=why)
                return
            batch = found
            if batch.passing:
                yield batch.passing
            for chunk in batch.events:
                yield retry + chunk
                retry = b""
