"""Events as frames of a stream, read from the log a page at a time. A frame is encoded once for all who get it."""

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from fastapi.sse import format_sse_event

from app.api.shared_looks import LOOKS_AT_ONCE
from app.store.database import Database
from app.store.runs import StoredEvent, events_of

PAGE_EVENTS = 100
CHUNK_BYTES = 64 * 1024
"""Frames that are ready are sent together, up to this size."""


@dataclass(frozen=True, slots=True)
class Frame:
    """An event as every stream has it."""

    seq: int
    type: str
    wire: bytes
    followed: bool
    """Whether the log had another event behind it."""


class SharedPages:
    """Reads pages of events; readers at the same place of a run share the read that is under way."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._turns = asyncio.Semaphore(LOOKS_AT_ONCE)
        self._reads: dict[tuple[str, str, int], asyncio.Task[Sequence[Frame]]] = {}

    async def behind(self, tenant: str, run_id: str, after: int) -> Sequence[Frame]:
        """The page of events behind number `after`, of a run of that tenant."""
        place = tenant, run_id, after
        read = self._reads.get(place)
        if read is None:
            read = self._reads[place] = asyncio.create_task(self._read(tenant, run_id, after))
            read.add_done_callback(lambda _: self._reads.pop(place))
        # One reader that goes must not take the page from the others.
        return await asyncio.shield(read)

    async def _read(self, tenant: str, run_id: str, after: int) -> Sequence[Frame]:
        async with self._turns:
            found = await events_of(self._database, tenant, run_id, after=after, limit=PAGE_EVENTS)
        return [_frame(event) for event in found]


def _frame(event: StoredEvent) -> Frame:
    wire = format_sse_event(data_str=event.json, event=event.type, id=str(event.seq))
    return Frame(event.seq, event.type, wire, event.followed)


def chunks(frames: Iterable[Frame]) -> Iterator[bytes]:
    """The frames joined into chunks of some size."""
    waiting: list[bytes] = []
    size = 0
    for frame in frames:
        waiting.append(frame.wire)
        size += len(frame.wire)
        if size >= CHUNK_BYTES:
            yield b"".join(waiting)
            waiting, size = [], 0
    if waiting:
        yield b"".join(waiting)
