"""How many calls this process makes at once, and which models it leaves alone for a while."""

import asyncio
import random
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime

from app.domain.errors import RateLimited

LONGEST_HOLD_S = 60.0
"""A model is never left alone longer on a header's word: clocks differ and headers lie."""
_SPREAD = 0.1
"""Waiting calls start within this part of the hold after its end, so that they do not start all at once."""
_LIMITS = ("requests", "tokens", "input-tokens", "output-tokens")


class Gate:
    """Admits calls. A slot is held during a call, never while waiting for a model's time to come."""

    def __init__(self, calls_at_once: int) -> None:
        self._slots = asyncio.Semaphore(calls_at_once)
        self._not_before: dict[str, float] = {}

    @asynccontextmanager
    async def slot(self, model_id: str, within_s: float) -> AsyncIterator[None]:
        """Hold a slot for one call. Raises `RateLimited` when the model is to be left alone for longer than that."""
        while True:
            if self._not_before:
                await self._until_allowed(model_id, within_s)
            await self._slots.acquire()
            if not self._not_before or self._wait_s(model_id) <= 0:
                break
            self._slots.release()
        try:
            yield
        finally:
            self._slots.release()

    def hold(self, model_id: str, seconds: float) -> None:
        """Let no call of this model start for some seconds."""
        until = asyncio.get_running_loop().time() + min(seconds, LONGEST_HOLD_S)
        self._not_before[model_id] = max(until, self._not_before.get(model_id, 0))

    def note(self, model_id: str, headers: Mapping[str, str]) -> None:
        """Learn from a response: a limit with nothing remaining holds the model until it is reset."""
        for limit in _LIMITS:
            if headers.get(f"anthropic-ratelimit-{limit}-remaining") == "0":
                self.hold(model_id, _seconds_until(headers.get(f"anthropic-ratelimit-{limit}-reset", "")))

    async def _until_allowed(self, model_id: str, within_s: float) -> None:
        wait_s = self._wait_s(model_id)
        if wait_s > within_s:
            raise RateLimited("The provider has asked for a pause.", retry_after_s=wait_s)
        if wait_s > 0:
            await asyncio.sleep(wait_s * random.uniform(1, 1 + _SPREAD))
        self._not_before = {name: at for name, at in self._not_before.items() if self._wait_s(name) > 0}

    def _wait_s(self, model_id: str) -> float:
        return self._not_before.get(model_id, 0) - asyncio.get_running_loop().time()


def _seconds_until(moment: str) -> float:
    """Seconds until an RFC 3339 time; 0 when it has passed or cannot be read."""
    try:
        return max((datetime.fromisoformat(moment) - datetime.now(UTC)).total_seconds(), 0)
    except (ValueError, TypeError):
        return 0
