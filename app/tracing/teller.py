"""Tells a collector of runs: their spans, as the facts that end them are written.

Whoever executes a run tells of it, from the log. A process that comes to a run which had another one before reads what
was written until then, and tells of what ended since that one parked it. Where it was not parked, its process may have
died with spans that it had not brought away: what ended in the last minute is told again then, under the same ids.
"""

import asyncio
import json
from collections import OrderedDict, deque
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import structlog

from app.domain import events as ev
from app.domain.contents import HeldContents
from app.domain.errors import FAULTS, place_of
from app.domain.events import RUN_ENDS, Event
from app.domain.genai import otel_span
from app.domain.genai_content import content_of
from app.domain.moments import written
from app.domain.outcomes import Told
from app.domain.snapshot import Snapshot
from app.domain.spans import Spans
from app.domain.trace_ids import RunTrace
from app.store.database import TROUBLE, Database
from app.store.projection import as_json
from app.store.runs import StoredEvent, events_of
from app.tracing.earlier import BEGINS, Earlier, Ended
from app.tracing.pipeline import Tracing

log = structlog.get_logger(__name__)

MOST_HEARD = 20_000
"""Facts that may wait to be told of."""
MOST_FOLLOWED = 10_000
"""Runs of which is known what has been told."""
AT_ONCE = 500
PAGE_EVENTS = 500
_LEFT = RUN_ENDS | {"run.waiting"}
_BULK = {"content", "opening", "terms", "input", "output", "result", "artifacts", "instruction", "objective", "plan"}
"""Fields of facts that no span is told from, unless content is asked for."""
_BARE: dict[str, Any] = {"content": [], "input": None, "output": ""}


class _Heard(NamedTuple):
    """Facts that were written together, and of which run."""

    trace: RunTrace
    tenant: str
    events: Sequence[Event]


@dataclass
class _Followed:
    """A run as far as its facts have been taken."""

    trace: RunTrace
    tenant: str
    spans: Spans = field(default_factory=Spans)
    contents: HeldContents = field(default_factory=HeldContents)
    seq: int = 0


_Work = list[tuple[_Followed, Sequence[Event]]]


class Teller:
    """Hears of facts, and has the spans exported that they end. What it hears costs the one who tells it a moment."""

    def __init__(self, tracing: Tracing, database: Callable[[], Database]) -> None:
        self._tracing = tracing
        self._database = database
        self._heard: deque[_Heard] = deque()
        self._news = asyncio.Event()
        self._followed: OrderedDict[str, _Followed | None] = OrderedDict()
        """None for a run of ours that must be read again."""
        self._telling: asyncio.Task[None] | None = None

    def heard_facts(self, run: Snapshot, events: Sequence[Event]) -> None:
        """Put them down, or count what could not be."""
        if not events:
            return
        if len(self._heard) >= MOST_HEARD:
            self._tracing.counts.drop(len(events))
            return
        self._heard.append(_Heard(run.brief.trace, run.brief.tenant, events))
        self._news.set()

    async def tell_forever(self) -> None:
        """Tell of what is heard. What has been begun when this is cancelled goes on, for `finish` to wait for."""
        while True:
            await self._news.wait()
            self._news.clear()
            self._telling = asyncio.create_task(self._tell(), name="traces")
            await asyncio.shield(self._telling)

    async def finish(self, *, within_s: float) -> None:
        """Tell of all that was heard, once nobody tells of it for ever."""
        begun, self._telling = self._telling, None
        if begun is not None:
            await _ended(begun, within_s)
        await _ended(asyncio.create_task(self._tell(), name="last traces"), within_s)

    @property
    def is_behind(self) -> bool:
        """Whether something that was heard is not told yet."""
        return bool(self._heard) or (self._telling is not None and not self._telling.done())

    async def _tell(self) -> None:
        while self._heard:
            work: _Work = []
            for _ in range(min(len(self._heard), AT_ONCE)):
                await self._take(self._heard.popleft(), work)
            await self._tell_of(work)

    async def _take(self, heard: _Heard, work: _Work) -> None:
        """Add to the work what there is to tell of these facts."""
        run_id = heard.trace.run_id
        known = self._followed.get(run_id)
        if known is None or heard.events[0].seq > known.seq + 1:
            if not (self._is_ours(heard) and self._tracing.samples(heard.trace)):
                return
            await self._tell_of(work)
            known = await self._catch_up(heard, known)
        if known is None:
            return
        self._followed.move_to_end(run_id)
        news = [event for event in heard.events if event.seq > known.seq]
        if news:
            known.seq = news[-1].seq
            work.append((known, news))
        if heard.events[-1].type in _LEFT:
            self._followed.pop(run_id, None)

    async def _tell_of(self, work: _Work) -> None:
        if work:
            await asyncio.to_thread(self._tell_facts, list(work))
            work.clear()

    def _tell_facts(self, work: _Work) -> None:
        for run, events in work:
            try:
                for event in events:
                    self._hand_on(run, self._ended_by(run, _told(event, with_content=self._tracing.with_content)))
            except FAULTS as error:
                self._tracing.counts.drop(len(events))
                log.error("run not traced", run_id=run.trace.run_id, error=type(error).__name__, where=place_of(error))

    async def _catch_up(self, heard: _Heard, known: _Followed | None) -> _Followed | None:
        """Have what was written before these facts; None when that cannot be read."""
        run_id, first = heard.trace.run_id, heard.events[0].seq
        run, earlier = known or _Followed(heard.trace, heard.tenant), Earlier()
        try:
            async for page in self._pages(run, first - 1):
                ended = await asyncio.to_thread(self._ended_in, run, page)
                for told, spans in ended:
                    earlier.take(told, spans)
                    if known is not None:  # Others have added to a run that is ours.
                        self._hand_on(run, spans)
        except TROUBLE as error:
            log.warning("trace has a gap", run_id=run_id, error=type(error).__name__)
            self._tracing.counts.drop(len(heard.events))
            self._follow(run_id, None)
            return None
        except FAULTS as error:
            log.error("run not traced", run_id=run_id, error=type(error).__name__, where=place_of(error))
            return None
        if known is None:
            self._hand_on(run, earlier.untold)
        run.seq = first - 1
        self._follow(run_id, run)
        return run

    def _is_ours(self, heard: _Heard) -> bool:
        """Whether this process executes the run, or has ended it; others may only have said something into it."""
        kinds = {event.type for event in heard.events}
        return heard.trace.run_id in self._followed or heard.events[0].seq == 1 or bool(kinds & (BEGINS | RUN_ENDS))

    def _follow(self, run_id: str, run: _Followed | None) -> None:
        self._followed[run_id] = run
        self._followed.move_to_end(run_id)
        while len(self._followed) > MOST_FOLLOWED:
            self._followed.popitem(last=False)

    async def _pages(self, run: _Followed, last: int) -> AsyncIterator[Sequence[StoredEvent]]:
        after = run.seq
        while after < last:
            limit = min(PAGE_EVENTS, last - after)
            page = await events_of(self._database(), run.tenant, run.trace.run_id, after=after, limit=limit)
            if not page:
                return
            yield page
            after = page[-1].seq

    def _ended_in(self, run: _Followed, page: Sequence[StoredEvent]) -> list[tuple[Told, list[Ended]]]:
        events = [json.loads(event.json) for event in page]
        return [(told, self._ended_by(run, told)) for told in events]

    def _ended_by(self, run: _Followed, told: Told) -> list[Ended]:
        """The spans that a fact has ended, each with what is shown of its content."""
        if self._tracing.with_content:
            run.contents.take(told)
        complete = run.spans.take(told)
        return [Ended(span, run.contents.of(span)) for span in [*complete, *run.spans.ended_frames()]]

    def _hand_on(self, run: _Followed, spans: Sequence[Ended]) -> None:
        for span, content in spans:
            shown = content_of(span, content) if self._tracing.with_content else {}
            self._tracing.hand_on(otel_span(run.trace, run.tenant, span, shown))


async def _ended(task: asyncio.Task[None], within_s: float) -> None:
    """Wait for the end of a task, and bring it about after a while."""
    await asyncio.wait({task}, timeout=within_s)
    task.cancel()
    await asyncio.wait({task})
    if not task.cancelled() and (error := task.exception()) is not None:
        log.error("runs not traced", exc_info=error)


def _told(event: Event, *, with_content: bool) -> Told:
    """An event as a JSON value, in which nothing looks like a credential; without content, without its texts."""
    data: ev.AnyFact = event.data
    if with_content:
        facts = json.loads(as_json(data))
    else:
        facts = _BARE | data.model_dump(mode="json", exclude=_BULK, warnings=False)
    return {
        "seq": event.seq,
        "type": event.type,
        "at": written(event.at),
        "run_id": event.run_id,
        "task_id": event.task_id,
        "attempt": event.attempt,
        "data": facts,
    }
