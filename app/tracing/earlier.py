"""What those have not told, or may not have, who had a run before."""

from collections import deque
from datetime import datetime, timedelta
from typing import NamedTuple

from app.domain.contents import Content
from app.domain.outcomes import Told
from app.domain.span_values import Span

UNSURE = timedelta(seconds=60)
"""How long before its end a process may have had spans that it had not brought away."""
BEGINS = frozenset({"run.started", "run.resumed"})
"""Events with which a process begins to execute a run."""


class Ended(NamedTuple):
    """A span that has ended, and the content of its call, where that is wanted."""

    span: Span
    content: Content | None


class Earlier:
    """Goes through a log in order, and keeps the spans that are to be told by whoever comes next."""

    def __init__(self) -> None:
        self._kept: deque[tuple[datetime, list[Ended]]] = deque()
        self._parked = False

    @property
    def untold(self) -> list[Ended]:
        """All that ended since the run was parked; of one that was not, what ended last."""
        return [each for _, spans in self._kept for each in spans]

    def take(self, told: Told, spans: list[Ended]) -> None:
        """Add an event, with the spans that it has ended."""
        at = datetime.fromisoformat(told["at"])
        if told["type"] == "run.waiting":
            self._kept.clear()
            self._parked = True
            return
        if told["type"] in BEGINS:
            self._parked = False
        if spans:
            self._kept.append((at, spans))
        while self._kept and not self._parked and self._kept[0][0] < at - UNSURE:
            self._kept.popleft()
