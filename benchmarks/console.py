"""What a browser makes of a run of a hundred tasks: to the first paint, to the last event, and while more of them come.

The browser is Debian's Chromium without a screen or a graphics card, on the measured core; the service, which plays the
run, and Postgres are on the other one. Frames are counted by the page's own clock: what a screen of 60 Hz would have
shown, and how many of those frames came too late.
"""

import asyncio
import os
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from playwright.async_api import CDPSession, Page

from app.store.embedded import LOCAL_SETTINGS, embedded_postgres
from app.store.schema import migrate
from benchmarks.bench import MEASURED, SERVING, percentile
from tests.support.api import served_service
from tests.support.browser import Complaints, running_chromium, window
from tests.support.long_run import LongRun
from tests.support.play import playing
from tests.support.service import running_service
from tests.support.stub_provider import StubProvider

EVENTS = 5_000
LOADS = 5
EVENTS_PER_S = 50
WATCHED_S = 20
HOUR_EVENTS = 30_000
"""Eight a second for an hour, written as fast as they are read."""
FRAME_MS = 1000 / 60

_COUNT_FRAMES = """
    window.frames_seen = [];
    (function count(at) {
        window.frames_seen.push(at);
        if (window.frames_seen) requestAnimationFrame(count);
    })(performance.now());
"""

Frames = dict[str, tuple[int, int, float]]


@dataclass(frozen=True, slots=True)
class Figures:
    """What was measured."""

    paint_ms: list[float]
    """From the request to the first text, of each load."""
    live_ms: list[float]
    """From the request to the last of the events that there were."""
    files_bytes: int
    """What the console's own files take over the wire, at the first visit."""
    data_bytes: int
    """What the API's answers take, the stream among them."""
    frames: Frames
    """By what the page shows: frames that were due, those that came too late, the longest time between two in ms."""
    heap_mib: dict[int, float]
    """Memory of the page's values by events that it has read."""


def measure() -> Figures:
    """Look at a long run, and go on looking."""
    os.sched_setaffinity(0, MEASURED)
    with running_chromium() as browser:
        os.sched_setaffinity(0, SERVING)
        with (
            tempfile.TemporaryDirectory() as home,
            embedded_postgres(Path(home), settings=LOCAL_SETTINGS, erase=True) as url,
        ):
            migrate(url)
            return asyncio.run(_measure(url, browser))


async def _measure(database_url: str, browser: str) -> Figures:
    async with _long_run(database_url) as (address, run):
        loads = [await _loaded(browser, address, run) for _ in range(LOADS)]
        frames, heap = await _watched(browser, address, run)
    return Figures(
        [load["paint"] for load in loads],
        [load["live"] for load in loads],
        int(percentile([load["files"] for load in loads], 0.5)),
        int(percentile([load["data"] for load in loads], 0.5)),
        frames,
        heap,
    )


@asynccontextmanager
async def _long_run(database_url: str) -> AsyncIterator[tuple[str, LongRun]]:
    async with (
        StubProvider() as stub,
        running_service(database_url, stub, engine=False) as service,
        served_service(service) as url,
        playing(service.database) as player,
    ):
        run = LongRun(player.play(await service.submit()))
        await run.begin()
        await run.go_on(EVENTS - run.written)
        yield f"{url}/console/runs/{run.play.run_id}", run


async def _loaded(browser: str, address: str, run: LongRun) -> dict[str, float]:
    """A first visit."""
    async with window(browser, Complaints()) as page:
        devtools = await page.context.new_cdp_session(page)
        sent: dict[str, str] = {}
        sizes = {"files": 0.0, "data": 0.0}
        devtools.on("Network.requestWillBeSent", lambda seen: sent.update({seen["requestId"]: seen["request"]["url"]}))
        devtools.on("Network.loadingFinished", lambda seen: _add(sizes, sent[seen["requestId"]], "files", seen))
        devtools.on("Network.dataReceived", lambda seen: _add(sizes, sent[seen["requestId"]], "data", seen))
        await devtools.send("Network.enable")
        await page.goto(address)
        await _has_read(page, run.written)
        live = await page.evaluate("performance.now()")
        paint = await page.evaluate("performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? NaN")
        return {"paint": paint, "live": live, **sizes}


def _add(sizes: dict[str, float], url: str, kind: str, seen: dict[str, Any]) -> None:
    """Files count as they were packed, at their end; a stream has no end, and comes as it is."""
    if kind == ("data" if "/v1/" in url else "files"):
        sizes[kind] += seen["dataLength"] if kind == "data" else seen["encodedDataLength"]


async def _watched(
    browser: str, address: str, run: LongRun
) -> tuple[dict[str, tuple[int, int, float]], dict[int, float]]:
    frames = {}
    async with window(browser, Complaints()) as page:
        devtools = await page.context.new_cdp_session(page)
        for view in ("work", "log"):
            await page.goto(f"{address}?view={view}")
            await _has_read(page, run.written)
            frames[f"{view}, nothing new"] = await _frames(page, asyncio.sleep(WATCHED_S))
            frames[f"{view}, {EVENTS_PER_S} events a second"] = await _frames(page, _trickle(run))
        heap = {run.written: await _heap_mib(devtools)}
        while run.written < HOUR_EVENTS:
            await run.go_on(1_000)
            await _has_read(page, run.written)
        heap[run.written] = await _heap_mib(devtools)
        await page.goto("about:blank")  # The stream ends before the service does.
    return frames, heap


async def _trickle(run: LongRun) -> None:
    begun = time.monotonic()
    for turn in range(WATCHED_S * 10):
        await run.go_on(EVENTS_PER_S // 10)
        await asyncio.sleep(max(0, begun + (turn + 1) / 10 - time.monotonic()))


async def _frames(page: Page, while_: Any) -> tuple[int, int, float]:
    await page.evaluate(_COUNT_FRAMES)
    await while_
    seen: list[float] = await page.evaluate("() => { const seen = frames_seen; frames_seen = null; return seen; }")
    gaps = [after - before for before, after in pairwise(seen)]
    due = round(sum(gaps) / FRAME_MS)
    return due, sum(max(0, round(gap / FRAME_MS) - 1) for gap in gaps), max(gaps)


async def _has_read(page: Page, events: int) -> None:
    await page.wait_for_function(
        "(seq) => document.querySelector('.page.run')?.dataset.seq === String(seq)", arg=events, timeout=120_000
    )


async def _heap_mib(devtools: CDPSession) -> float:
    await devtools.send("HeapProfiler.collectGarbage")
    usage = await devtools.send("Runtime.getHeapUsage")
    return float(usage["usedSize"]) / 2**20
