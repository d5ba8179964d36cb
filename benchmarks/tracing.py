"""What traces cost: the reference job by the service's engine, with and without a collector that is told, in turn.

Run as a process: `python -m benchmarks.tracing DATABASE_URL STUB_URL COLLECTOR_URL RUNS AT_ONCE CONTENT`; prints its
figures as JSON. What is told is at the collector before a turn counts as over; counting for metrics is on both sides.
"""

import asyncio
import json
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import uvloop
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource

from app.domain.team import Team
from app.parts import kept_up
from app.tracing.pipeline import Tracing
from app.tracing.teller import Teller
from benchmarks.floor import cpu_seconds
from benchmarks.metrics import TURNS, turn
from benchmarks.reference_job import TEAM
from benchmarks.service import tuned_service


async def main(url: str, stub_url: str, collector_url: str, runs: int, at_once: int, with_content: bool) -> None:
    """Do `runs` jobs in each turn, `at_once` at a time."""
    team = Team.model_validate(TEAM)
    tracing = Tracing(OTLPSpanExporter(endpoint=collector_url), Resource({}), "1", with_content=with_content)
    async with tuned_service(url, stub_url, at_once) as service:
        teller = Teller(tracing, lambda: service.database)
        spent = {True: [0.0, 0.0], False: [0.0, 0.0]}
        await turn(service, team, at_once, at_once)
        async with kept_up(traces=teller.tell_forever):
            for number in range(TURNS):
                tells = number % 4 in (0, 3)
                service.database.witness.listeners = (teller.heard_facts,) if tells else ()
                cpu, wall = cpu_seconds(), time.perf_counter()
                await turn(service, team, runs, at_once)
                if tells:
                    await asyncio.to_thread(_bring_away, teller, tracing)
                spent[tells][0] += cpu_seconds() - cpu
                spent[tells][1] += time.perf_counter() - wall
    await tracing.close()
    done = runs * TURNS / 2
    figures = {
        name: {"cpu_ms": cpu / done * 1000, "runs_per_s": done / wall}
        for name, (cpu, wall) in (("with", spent[True]), ("without", spent[False]))
    }
    counts = tracing.counts
    told = {"spans_per_run": counts.exported / done, "lost": counts.failed + counts.dropped}
    print(json.dumps(figures | told))


def _bring_away(teller: Teller, tracing: Tracing) -> None:
    while teller.is_behind:
        time.sleep(0.01)
    tracing.provider.force_flush()


class _Swallowing(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        """Take it."""
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def swallowing() -> Iterator[str]:
    """A collector that takes everything and keeps nothing; its address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Swallowing)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1/traces"
    finally:
        server.shutdown()


if __name__ == "__main__":
    _, url, stub_url, collector_url, runs, at_once, content = sys.argv
    uvloop.run(main(url, stub_url, collector_url, int(runs), int(at_once), content == "True"))
