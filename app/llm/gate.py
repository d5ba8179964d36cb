"""How many calls this process makes at once, and which models it leaves alone for a while."""

import asyncio
import random
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta

from app.domain.errors import Held
from app.domain.policy.breakers import LONG_PAUSE_S, LONGEST_PAUSE_S
from app.llm.model import Progress
from app.llm.window import Window

LONGEST_COUNTED_HOLD_S = 60.0
"""The same for a limit with nothing remaining, which says less: clocks differ and headers lie."""
_SPREAD = 0.1
"""Waiting calls start within this part of the hold after its end, so that they do not start all at once."""
_LIMITS = ("requests", "tokens", "input-tokens", "output-tokens")

Door = Callable[[], Awaitable[None]]


class Gate:
    """Admits calls. A slot is held during a call, never while waiting for a model's time to come."""

    def __init__(self, calls_at_once: int) -> None:
        self._slots = asyncio.Semaphore(calls_at_once)
        self._windows: defaultdict[str, Window] = defaultdict(Window)
        self._not_before: dict[str, float] = {}

    @asynccontextmanager
    async def slot(self, model_id: str, progress: Progress, door: Door | None = None) -> AsyncIterator[None]:
        """Hold a slot for one call. Raises `Held` when the model is to be left alone for longer than our patience, and
        whatever its `door` raises once its turn has come.

        `progress` tells of the wait, during it and after.
        """
        now = asyncio.get_running_loop().time
        began = now()
        progress.held = True
        async with self._windows[model_id].place():
            try:
                await self._admitted(model_id)
            finally:
                progress.waited_s = now() - began
            try:
                if door is not None:
                    await door()
                progress.held = False
                yield
            finally:
                self._slots.release()

    def answered(self, model_id: str) -> None:
        """A reply of the model has begun: more of its calls may be open side by side."""
        self._windows[model_id].widen()

    def failed(self, model_id: str) -> None:
        """A call of the model has met its provider's failure: fewer may."""
        self._windows[model_id].narrow()

    def lift(self, model_id: str) -> None:
        """Leave the model alone no longer."""
        self._not_before.pop(model_id, None)

    def hold(self, model_id: str, seconds: float, longest_s: float = LONGEST_PAUSE_S) -> None:
        """Let no call of this model start for some seconds."""
        until = asyncio.get_running_loop().time() + min(seconds, longest_s)
        self._not_before[model_id] = max(until, self._not_before.get(model_id, 0))

    def brakes(self) -> dict[str, datetime]:
        """The holds that are longer than our patience, by model: until when."""
        if not self._not_before:
            return {}
        now = datetime.now(UTC)
        waits = {model_id: self._wait_s(model_id) for model_id in self._not_before}
        return {model_id: now + timedelta(seconds=wait) for model_id, wait in waits.items() if wait > LONG_PAUSE_S}

    def note(self, model_id: str, headers: Mapping[str, str]) -> None:
        """Learn from a response: a limit with nothing remaining holds the model until it is reset."""
        for limit in _LIMITS:
            if headers.get(f"anthropic-ratelimit-{limit}-remaining") == "0":
                reset_in = _seconds_until(headers.get(f"anthropic-ratelimit-{limit}-reset", ""))
                self.hold(model_id, reset_in, LONGEST_COUNTED_HOLD_S)

    async def _admitted(self, model_id: str) -> None:
        while True:
            if self._not_before:
                await self._until_allowed(model_id)
            await self._slots.acquire()
            if not self._not_before or self._wait_s(model_id) <= 0:
                return
            self._slots.release()

    async def _until_allowed(self, model_id: str) -> None:
        wait_s = self._wait_s(model_id)
        if wait_s > LONG_PAUSE_S:
            raise Held("The provider has asked for a pause; the call was not sent.", retry_after_s=wait_s)
        if wait_s > 0:
            await asyncio.sleep(wait_s * random.uniform(1, 1 + _SPREAD))
        self._not_before = {name: at for name, at in self._not_before.items() if self._wait_s(name) > 0}

    def _wait_s(self, model_id: str) -> float:
        return self._not_before.get(model_id, 0) - asyncio.get_running_loop().time()


def _seconds_until(moment: str) -> float:
    """Seconds until an RFC 3339 time; 0 when it has passed or cannot be read."""
    try:
        return max((datetime.fromisoformat(moment[:100]) - datetime.now(UTC)).total_seconds(), 0)
    except (ValueError, TypeError, OverflowError):
        return 0
