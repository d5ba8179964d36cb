"""How long at least one of several things was going on, told as each of them ends."""

from datetime import datetime, timedelta

STRETCHES_KEPT = 1_000
"""Stretches of time that something which ends later may still have begun in."""


class BusyTime:
    """Time in which something went on. What overlaps counts once."""

    def __init__(self) -> None:
        self._stretches: list[tuple[datetime, datetime]] = []
        """Apart from each other, oldest first."""
        self._settled = timedelta()
        self._settled_until: datetime | None = None

    def add(self, start: datetime, end: datetime) -> None:
        """Something has gone on from `start` to `end`; nothing told before has ended later."""
        if self._settled_until is not None:
            start = max(start, self._settled_until)
        while self._stretches and self._stretches[-1][1] >= start:
            earlier = self._stretches.pop()
            start, end = min(start, earlier[0]), max(end, earlier[1])
        if end > start:
            self._stretches.append((start, end))
        if len(self._stretches) > STRETCHES_KEPT:
            first = self._stretches.pop(0)
            self._settled += first[1] - first[0]
            self._settled_until = first[1]

    @property
    def total_ms(self) -> int:
        """All of it."""
        whole = sum((end - start for start, end in self._stretches), self._settled)
        return round(whole / timedelta(milliseconds=1))
