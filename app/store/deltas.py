"""Text while it is being written: passed on to whoever listens at that moment, and never stored."""

import json
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

Heard = Callable[[str], None]
"""Takes a `text.delta` envelope as JSON on one line."""


class Deltas:
    """Who listens to the text of which run, in this process."""

    def __init__(self) -> None:
        self._listeners: dict[str, dict[Heard, None]] = defaultdict(dict)

    @contextmanager
    def listening(self, run_id: str, heard: Heard) -> Iterator[None]:
        """Have `heard` called with every piece of text of the run."""
        self._listeners[run_id][heard] = None
        try:
            yield
        finally:
            del self._listeners[run_id][heard]
            if not self._listeners[run_id]:
                del self._listeners[run_id]

    def wanted(self, run_id: str) -> bool:
        """Whether anybody listens, so that a call is worth streaming."""
        return run_id in self._listeners

    def publish(self, run_id: str, *, purpose: str, task_id: str | None, attempt: int | None, text: str) -> None:
        """Pass on a piece of text."""
        frame = json.dumps(
            {
                "type": "text.delta",
                "at": datetime.now(UTC).isoformat().replace("+00:00", "Z"),
                "run_id": run_id,
                "task_id": task_id,
                "attempt": attempt,
                "data": {"purpose": purpose, "text": text},
            },
            ensure_ascii=False,
        )
        for heard in tuple(self._listeners.get(run_id, ())):
            heard(frame)
