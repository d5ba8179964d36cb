"""Foreign functions in threads of their own: one that never returns holds up neither the service nor its end."""

import asyncio
import contextvars
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from app.domain.errors import ToolError

MOST_AT_ONCE = 32
"""Calls of one function that may be under way in a process, those among them that were given up and never returned."""


class Threaded:
    """A plain function that is called in threads."""

    def __init__(self, name: str, function: Callable[..., Any]) -> None:
        self._name = name
        self._function = function
        self._room = threading.BoundedSemaphore(MOST_AT_ONCE)

    async def call(self, arguments: dict[str, Any]) -> Any:
        """What the function returns or raises; it goes on by itself when the caller is cancelled.

        Raises `ToolError` when too many calls are under way.
        """
        if not self._room.acquire(blocking=False):
            raise ToolError(f"{self._name} is busy: {MOST_AT_ONCE} calls of it are under way", "tool_busy")
        loop = asyncio.get_running_loop()
        ended: asyncio.Future[tuple[Any, BaseException | None]] = loop.create_future()

        def tell(outcome: tuple[Any, BaseException | None]) -> None:
            if not ended.done():  # Whoever waited may have been cancelled.
                ended.set_result(outcome)

        def work() -> None:
            outcome = self._outcome(arguments)
            with suppress(RuntimeError):  # The loop is closed: nobody waits any more.
                loop.call_soon_threadsafe(tell, outcome)

        # The interpreter waits for threads of its pools when it ends, and not for these.
        context = contextvars.copy_context()
        thread = threading.Thread(target=context.run, args=(work,), name=f"tool {self._name}", daemon=True)
        try:
            thread.start()
        except RuntimeError:  # The process may have no more threads.
            self._room.release()
            raise
        value, error = await ended
        if error is not None:
            raise error
        return value

    def _outcome(self, arguments: dict[str, Any]) -> tuple[Any, BaseException | None]:
        try:
            return self._function(**arguments), None
        except BaseException as error:  # Handed over, not swallowed: whoever waits raises it.
            return None, error
        finally:
            self._room.release()
