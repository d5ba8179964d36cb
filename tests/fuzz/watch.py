"""Somebody who looks at a process all the time: does it answer, how late, and how much memory does it take?"""

import asyncio
import json
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from types import TracebackType
from typing import Self

import httpx2
import psutil

from tests.support.processes import Replica

EVERY_S = 0.05
FROZEN_S = 8
"""No answer for so long means that nothing is answered: every bound of the service lies below."""
MOST_BYTES = 3 * 2**30
"""Of the process and its children, on a machine where the fuzzer itself takes most of the processor."""


class Watch:
    """Watches a replica from a thread of its own."""

    def __init__(self, replica: Replica) -> None:
        self._url = replica.url
        self._process = psutil.Process(replica.process.pid)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self.latest_s = 0.0
        """The longest time to an answer of `/livez`."""
        self.most_bytes = 0
        self.faults: list[str] = []

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._over.set()
        self._thread.join()
        if error is not None:
            error.add_note(f"latest answer of /livez: {self.latest_s:.2f} s; {[*self.told()]}")

    def _look(self) -> None:
        with httpx2.Client(base_url=self._url, timeout=FROZEN_S, trust_env=False) as client:
            while not self._over.wait(EVERY_S):
                start = time.monotonic()
                try:
                    client.get("/livez")
                except httpx2.TimeoutException:
                    self.faults.append(f"/livez was silent for {FROZEN_S} s")
                except httpx2.TransportError as error:
                    self.faults.append(f"/livez: {type(error).__name__}")
                self.latest_s = max(self.latest_s, time.monotonic() - start)
                self.most_bytes = max(self.most_bytes, memory_of(self._process))

    def told(self) -> Iterator[str]:
        """All that was wrong."""
        yield from self.faults
        if self.most_bytes > MOST_BYTES:
            yield f"took {self.most_bytes / 2**20:.0f} MiB"


class LoopWatch:
    """Watches this process and its event loop during a block."""

    def __init__(self) -> None:
        self._process = psutil.Process()
        self._looking: asyncio.Task[None] | None = None
        self.latest_s = 0.0
        """How late the loop came back to a task whose time had come."""
        self.most_bytes = 0

    async def __aenter__(self) -> Self:
        self._looking = asyncio.create_task(self._look())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        assert self._looking is not None
        self._looking.cancel()
        await asyncio.wait({self._looking})

    async def _look(self) -> None:
        while True:
            start = time.monotonic()
            await asyncio.sleep(EVERY_S)  # How late this returns is what is measured.
            self.latest_s = max(self.latest_s, time.monotonic() - start - EVERY_S)
            self.most_bytes = max(self.most_bytes, memory_of(self._process))


def memory_of(process: psutil.Process) -> int:
    """Bytes that a process and its children take."""
    taken = 0
    with suppress(psutil.NoSuchProcess):
        for one in (process, *process.children(recursive=True)):
            with suppress(psutil.NoSuchProcess):
                taken += one.memory_info().rss
    return taken


def faults_in_logs(replica: Replica) -> Iterator[str]:
    """Lines that tell of a bug of ours: anything with a place in our code, and whatever was said beside the log."""
    if replica.process.returncode is not None:
        yield f"the process ended with {replica.process.returncode}: {replica.said[-20:]}"
    yield from (f"said: {line}" for line in replica.said if "Traceback" in line or "never retrieved" in line)
    for line in map(json.loads, replica.logged):
        if line["level"] == "critical" or "exception" in line or "where" in line:
            yield f"logged: {line}"
