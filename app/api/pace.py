"""Long work on the loop, a piece at a time: however many do such work, others wait for one piece of it alone."""

import asyncio

PIECE_CHARACTERS = 64 * 1024
"""Characters that are read, written or sent without letting others have their turn."""


class Line:
    """Where all who have long work to do wait for their turn: one of them goes on between two rounds of the loop."""

    def __init__(self) -> None:
        self._lock = asyncio.Lock()

    async def turn(self) -> None:
        """Wait until all who came before have had their turn, and whoever has short work too."""
        async with self._lock:
            await asyncio.sleep(0)


class Pace:
    """How one piece of long work keeps to its turns."""

    def __init__(self, line: Line) -> None:
        self._line = line
        self._since_turn = 0

    async def keep(self, characters: int) -> None:
        """Say how much has been done; waits for the next turn once that is a piece."""
        self._since_turn += characters
        if self._since_turn >= PIECE_CHARACTERS:
            self._since_turn = 0
            await self._line.turn()
