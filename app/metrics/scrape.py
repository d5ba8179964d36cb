"""What a scrape is answered: the counters of this process, and those of all replicas as the tables have them now."""

import asyncio
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import structlog
from prometheus_client import CONTENT_TYPE_PLAIN_0_0_4, CollectorRegistry, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from app.metrics.instruments import PREFIX
from app.store.database import TROUBLE, Database
from app.store.vitals import Vitals, vitals_of

log = structlog.get_logger(__name__)

Spans = Callable[[], Mapping[str, int]]
"""How many spans have been exported, and how many not, by outcome."""
NO_SPANS = {"exported": 0, "failed": 0, "dropped": 0}
"""Where nobody wants any."""
CONTENT_TYPE = CONTENT_TYPE_PLAIN_0_0_4
FRESH_S = 1.0
"""For so long one look at the tables answers every scrape."""
LOOK_S = 2.0
"""How long a look may take, before a scrape goes without it."""


class Scrape:
    """Answers scrapes of one process."""

    def __init__(self, registry: CollectorRegistry, release: str, spans: Spans | None = None) -> None:
        self._registry = registry
        self._gauges = _Gauges(release, spans)
        self._looked_at = -FRESH_S
        registry.register(self._gauges)
        ProcessCollector(registry=registry)

    async def text(self, database: Database, readers: int) -> bytes:
        """Everything, in the text format. Without an answer of the database its figures are left out."""
        self._gauges.readers = readers
        if time.monotonic() - self._looked_at >= FRESH_S:
            self._gauges.vitals = await _look(database)
            self._looked_at = time.monotonic()
        return await asyncio.to_thread(generate_latest, self._registry)


async def _look(database: Database) -> Vitals | None:
    try:
        async with asyncio.timeout(LOOK_S):
            return await vitals_of(database)
    except (*TROUBLE, TimeoutError) as error:
        log.warning("metrics without the database", error=type(error).__name__)
        return None


class _Gauges(Collector):
    """The figures of the moment."""

    def __init__(self, release: str, spans: Spans | None) -> None:
        self.readers = 0
        self.vitals: Vitals | None = None
        self._release = release
        self._spans = spans

    def collect(self) -> Iterator[Metric]:
        """This process's own figures, then those of all."""
        vitals = self.vitals
        yield _gauge("build_info", "The release of this process.", {(self._release,): 1}, "version")
        yield _gauge("readers", "Streams and long polls that this process serves.", {(): self.readers})
        yield _gauge("database_up", "Whether the database has answered this scrape.", {(): vitals is not None})
        spans = NO_SPANS if self._spans is None else self._spans()
        yield _counter("spans", "What has become of spans for a collector.", _by_name(spans), "outcome")
        if vitals is None:
            return
        yield _gauge("runs", "Runs that have not ended.", _by_name(vitals.runs), "status")
        yield _gauge("runs_waiting", "Runs that wait, by what for.", _by_name(vitals.waiting), "reason")
        yield _gauge("runs_silent", "Runs whose lease has lapsed, and that nobody has yet.", {(): vitals.silent})
        yield _gauge("runs_held", "Queued runs that a limit keeps waiting.", {(): vitals.held})
        yield _gauge("queue_oldest_seconds", "Since when the first run in line is there.", {(): vitals.oldest_s})
        yield _gauge("breakers", "Breakers that are not closed.", vitals.breakers, "kind", "state")


def _gauge(name: str, meaning: str, values: Mapping[Any, float], *labels: str) -> Metric:
    gauge = GaugeMetricFamily(PREFIX + name, meaning, labels=labels)
    for label_values, value in values.items():
        gauge.add_metric(label_values, value)
    return gauge


def _counter(name: str, meaning: str, values: Mapping[Any, float], *labels: str) -> Metric:
    counter = CounterMetricFamily(PREFIX + name, meaning, labels=labels)
    for label_values, value in values.items():
        counter.add_metric(label_values, value)
    return counter


def _by_name(counts: Mapping[str, int]) -> Mapping[tuple[str], float]:
    return {(name,): many for name, many in counts.items()}
