"""A run's events as they come, over as many connections as that takes.

The number of the last event is the place to go on from. So a stream that breaks, whoever is to blame, costs nothing but
time: what is missing is sent again, and what would come twice is dropped.
"""

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from time import monotonic
from typing import Any, cast

from httpx2 import EventSource, ServerSentEvent

from app.client.connection import Asked, Connection, OnAway, Patience
from app.client.errors import NothingBehind, Refused, ServiceError, Unreachable
from app.client.run_shapes import Delta, Event, is_delta

SILENCE_S = 45.0
"""How long a stream may be silent: the service gives a sign of life every 15 s unless it is told otherwise."""
HELD_S = 10.0
"""A stream that has held for so long was one, though it told nothing."""
RUN_ENDS = frozenset({"run.succeeded", "run.partial", "run.failed", "run.cancelled"})
_NOTHING_LEFT = 204


@dataclass(slots=True)
class Following:
    """A reader of a run's events."""

    connection: Connection
    path: str
    last: int
    """Number of the last event that it has."""
    patience: Patience
    params: dict[str, Any] = field(default_factory=dict)
    on_away: OnAway | None = None
    _is_away: bool = False

    async def told(self) -> AsyncIterator[Event | Delta]:
        """Events, each once and in order, and text between them, to the end of the run.

        Raises `Refused`, `Unreachable` once patience has ended, and `NothingBehind`.
        """
        while True:
            begun = monotonic()
            try:
                async with self.connection.streamed(self._asked(), SILENCE_S) as answer:
                    self._say(None)
                    if answer.status_code == _NOTHING_LEFT:
                        return
                    async for frame in EventSource(answer, max_event_size=None):
                        told = self._news(frame)
                        if told is not None:
                            self.patience.restart()
                            yield told
                            if told["type"] in RUN_ENDS:
                                return
                problem: ServiceError = Unreachable(self.connection.url, "the stream ended before the run did")
            except ServiceError as error:
                if isinstance(error, NothingBehind) or (isinstance(error, Refused) and error.retry_after_s is None):
                    raise
                problem = error
            if monotonic() - begun > HELD_S:
                self.patience.restart()
            self._say(problem)
            await self.patience.rest(problem)

    def _asked(self) -> Asked:
        headers = {"Accept": "text/event-stream", "Last-Event-ID": str(self.last)}
        return Asked("GET", self.path, params=self.params, headers=headers)

    def _news(self, frame: ServerSentEvent) -> Event | Delta | None:
        """What a frame tells; None when it is known already, or is for the connection alone."""
        if not frame.data:
            return None
        told = cast("Event | Delta", frame.json())
        if is_delta(told):
            return told
        if told["seq"] <= self.last:
            if told["type"] in RUN_ENDS and told["seq"] < self.last:
                raise NothingBehind(f"the run has ended with event {told['seq']}: there is none behind {self.last}")
            return None
        self.last = told["seq"]
        return told

    def _say(self, problem: ServiceError | None) -> None:
        if self.on_away is not None and (problem is not None or self._is_away):
            self.on_away(problem)
        self._is_away = problem is not None
