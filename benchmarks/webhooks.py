"""How long it takes until a receiver has heard of the end of a run, while many end and the receiver often fails.

Run as a process: `python -m benchmarks.webhooks DATABASE_URL STUB_URL RUNS SECONDS`; prints its figures as JSON. The
receiver answers every second request with 500, at random; it is part of the measured process.
"""

import asyncio
import json
import random
import sys
import time
from collections import Counter
from datetime import UTC, datetime

import uvloop

from app.domain.keys import DEFAULT_TENANT
from app.domain.team import Team
from app.domain.webhooks import RUN_NEWS, new_secret
from app.store.webhooks import put_webhook
from benchmarks.bench import percentile
from benchmarks.reference_job import TEAM
from benchmarks.service import one, tuned_service
from tests.support.receiver import SECRETS_KEY

AT_ONCE = 50
LEFT_TIME_S = 12
"""What is waited for at the end: the second attempt comes after five seconds, the third after five minutes."""


class Unreliable:
    """A receiver of which one of two answers is a failure, and what it was told when."""

    def __init__(self) -> None:
        self.first_ms: dict[str, float] = {}
        """From the end of the run to the first attempt, by delivery."""
        self.delivered_ms: dict[str, float] = {}
        self.attempts: Counter[str] = Counter()
        self._dice = random.Random(7)

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Take one request, and answer it well or not."""
        head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        headers = dict(line.split(": ", 1) for line in head.splitlines()[1:] if ": " in line)
        told = json.loads(await reader.readexactly(int(headers["content-length"])))
        took_ms = (datetime.now(UTC) - datetime.fromisoformat(told["timestamp"])).total_seconds() * 1000
        name, well = headers["webhook-id"], self._dice.random() < 0.5
        self.attempts[name] += 1
        self.first_ms.setdefault(name, took_ms)
        if well:
            self.delivered_ms[name] = took_ms
        writer.write(f"HTTP/1.1 {204 if well else 500} Said\r\ncontent-length: 0\r\n\r\n".encode())
        await writer.drain()
        writer.close()


async def main(url: str, stub_url: str, runs: int, seconds: float) -> None:
    """Have `runs` runs begin, and so end, in the course of so many seconds."""
    receiver, team = Unreliable(), Team.model_validate(TEAM)
    server = await asyncio.start_server(receiver.answer, "127.0.0.1", 0)
    place = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    async with tuned_service(url, stub_url, AT_ONCE, secrets_key=SECRETS_KEY, webhook_hosts=place) as service:
        assert service.runtime.webhooks is not None
        sealed = service.runtime.webhooks.vault.seal(new_secret())
        await put_webhook(service.database, DEFAULT_TENANT, f"http://{place}/hook", RUN_NEWS, sealed=sealed)
        began = time.perf_counter()

        async def later(number: int) -> None:
            await asyncio.sleep(number * seconds / runs)
            await one(service, team)

        await asyncio.gather(*map(later, range(runs)))
        wall = time.perf_counter() - began
        await asyncio.sleep(LEFT_TIME_S)
    server.close()
    first, delivered = list(receiver.first_ms.values()), list(receiver.delivered_ms.values())
    figures = {
        "wall_s": wall,
        "told": len(first),
        "first_ms": [percentile(first, 0.5), percentile(first, 0.99)],
        "delivered": len(delivered),
        "delivered_ms": [percentile(delivered, 0.5), percentile(delivered, 0.99)],
        "attempts": receiver.attempts.total(),
    }
    print(json.dumps(figures))


if __name__ == "__main__":
    _, url, stub_url, runs, seconds = sys.argv
    uvloop.run(main(url, stub_url, int(runs), float(seconds)))
