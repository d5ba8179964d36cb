"""A client of event streams that takes the format by its word, from bytes."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx2


@dataclass(slots=True)
class Frame:
    """One block of a stream."""

    fields: dict[str, str] = field(default_factory=dict)
    comments: list[str] = field(default_factory=list)

    @property
    def id(self) -> int:
        return int(self.fields["id"])


@dataclass(slots=True)
class Reading:
    """An open stream."""

    response: httpx2.Response
    frames: AsyncIterator[Frame]

    async def next_event(self) -> Frame:
        """The next frame that is an event; comments are passed over."""
        async for frame in self.frames:
            if "data" in frame.fields:
                return frame
        raise EOFError

    async def rest(self) -> list[Frame]:
        """All frames to the end of the stream."""
        return [frame async for frame in self.frames]

    async def ids(self) -> list[int]:
        """The ids of the events to the end of the stream."""
        return [frame.id for frame in await self.rest() if "id" in frame.fields]


@asynccontextmanager
async def reading(address: str, run_id: str, query: str = "", **headers: str) -> AsyncIterator[Reading]:
    """An open stream of a run's events; `last_event_id` is the header of that name."""
    sent = {"Accept": "text/event-stream"} | {name.replace("_", "-"): value for name, value in headers.items()}
    async with (
        httpx2.AsyncClient(base_url=address, timeout=10) as client,
        client.stream("GET", f"/v1/runs/{run_id}/events{query}", headers=sent) as response,
    ):
        yield Reading(response, _frames(response))


async def _frames(response: httpx2.Response) -> AsyncIterator[Frame]:
    text = ""
    async for piece in response.aiter_text():
        text += piece
        *blocks, text = text.split("\n\n")
        for block in blocks:
            yield _frame(block)
    assert not text, "the stream ended inside a frame"


def _frame(block: str) -> Frame:
    frame = Frame()
    for line in block.split("\n"):
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name:
            assert name in ("data", "event", "id", "retry")
            assert name not in frame.fields
            frame.fields[name] = value
        else:
            frame.comments.append(value)
    return frame


def counted(frames: list[Frame], **fields: Any) -> int:
    """How many frames have these fields."""
    return sum(all(frame.fields.get(name) == value for name, value in fields.items()) for frame in frames)
