"""Labels whose values clients choose: so many of them have a series of their own, and the rest share one."""

from collections.abc import Hashable, Iterable

OTHER = "other"
"""The value of those for which there is no room."""


class Bounded:
    """The values that have a series of their own: those that were expected, and the first `most` of those that came."""

    def __init__(self, most: int) -> None:
        self._room = most
        self._known: set[Hashable] = set()

    def expect(self, values: Iterable[Hashable]) -> None:
        """Give these room, whatever has come."""
        self._known |= set(values)

    def admits(self, value: Hashable) -> bool:
        """Whether this one has a series of its own; it has from then on."""
        if value in self._known:
            return True
        if self._room <= 0:
            return False
        self._room -= 1
        self._known.add(value)
        return True

    def label(self, value: str) -> str:
        """The value, or `other`."""
        return value if self.admits(value) else OTHER
