"""Text while it is being written: passed on to whoever listens at that moment, and never stored.

Listeners in this process are called at once. Those of other processes are reached through Postgres: a process in which
somebody listens says so every few seconds, and whoever executes the run then sends the text in notices, a few a second.
Text is a courtesy. What cannot be sent is dropped, no run waits for it, and nothing is sent when nobody listens.
"""

import asyncio
import json
import secrets
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import count

import structlog
from sqlalchemy import text as sql

from app.domain.moments import written
from app.domain.text import clean_text
from app.store.database import TROUBLE, Database
from app.store.wakeups import Wakeups

log = structlog.get_logger(__name__)

LISTENERS_CHANNEL = "chargehand_listeners"
DELTAS_CHANNEL = "chargehand_deltas"
ANNOUNCE_SECONDS = 3.0
"""How often a process says which runs are listened to in it."""
REMEMBER_SECONDS = 10.0
"""How long the others believe it."""
PAUSE_SECONDS = 0.1
"""Text that comes within this time is sent together."""
SEND_SECONDS = 2.0
"""How long sending may take before what was to be sent is dropped."""
PAYLOAD_BYTES = 7_900
"""Postgres takes less than 8,000."""
PIECE_CHARACTERS = 1_200
"""So few that a piece fits into a payload, whatever its characters are as JSON."""
RUNS_IN_ONE_PAYLOAD = 150
OUTBOX_CHARACTERS = 200_000
"""Text that may wait to be sent; what comes on top is dropped."""

_SEND = sql(
    """
    SELECT pg_notify(notice.channel, notice.payload)
    FROM unnest(CAST(:channels AS text[]), CAST(:payloads AS text[])) WITH ORDINALITY AS notice(channel, payload, place)
    ORDER BY notice.place
    """
)

Heard = Callable[[str], None]
"""Takes a `text.delta` envelope as JSON on one line."""


@dataclass(frozen=True, slots=True)
class Passage:
    """Whose text it is: that of one model call."""

    run_id: str
    purpose: str
    task_id: str | None
    attempt: int | None

    def envelope(self, text: str) -> str:
        """A piece of it, as clients get it."""
        frame = {
            "type": "text.delta",
            "at": written(datetime.now(UTC)),
            "run_id": self.run_id,
            "task_id": self.task_id,
            "attempt": self.attempt,
            "data": {"purpose": self.purpose, "text": text},
        }
        return json.dumps(frame, ensure_ascii=False)


class Deltas:
    """Who listens to the text of which run, here and in other processes."""

    def __init__(self, url: str, wakeups: Wakeups) -> None:
        self._here: dict[str, dict[Heard, None]] = defaultdict(dict)
        self._elsewhere: dict[str, float] = {}
        """Until when others are held to listen to a run, on the monotonic clock."""
        self._me = secrets.token_hex(4)
        self._numbers = count()
        self._outbox: dict[Passage, list[str]] = defaultdict(list)
        self._announce_at = 0.0
        self._news = asyncio.Event()
        # Its own connection, opened when there is something to send: text must not wait for runs, nor they for it.
        self._database = Database(url, pool=1)
        wakeups.hear(LISTENERS_CHANNEL, self._heard_of_listeners)
        wakeups.hear(DELTAS_CHANNEL, self._heard_text)

    @contextmanager
    def listening(self, run_id: str, heard: Heard) -> Iterator[None]:
        """Have `heard` called with every piece of text of the run."""
        if run_id not in self._here:
            self._announce_at = 0.0
            self._news.set()
        self._here[run_id][heard] = None
        try:
            yield
        finally:
            del self._here[run_id][heard]
            if not self._here[run_id]:
                del self._here[run_id]

    def wanted(self, run_id: str) -> bool:
        """Whether anybody listens, so that a call is worth streaming."""
        return run_id in self._here or self._wanted_elsewhere(run_id)

    def publish(self, run_id: str, *, purpose: str, task_id: str | None, attempt: int | None, text: str) -> None:
        """Pass on a piece of text."""
        passage, text = Passage(run_id, purpose, task_id, attempt), clean_text(text)
        self._tell(passage.run_id, passage.envelope(text))
        if self._wanted_elsewhere(passage.run_id):
            waiting = sum(len(piece) for pieces in self._outbox.values() for piece in pieces)
            if waiting + len(text) <= OUTBOX_CHARACTERS:
                self._outbox[passage].append(text)
                self._news.set()

    def supersede(self, passage: Passage) -> None:
        """Send nothing more of a passage: an event is about to tell all of it."""
        self._outbox.pop(passage, None)

    async def share_forever(self) -> None:
        """Tell other processes who listens here, and what is written here, until cancelled."""
        try:
            while True:
                await self._something_to_send()
                notices = [*self._announcements(), *self._texts()]
                if notices:
                    await self._send(notices)
                await asyncio.sleep(PAUSE_SECONDS)
        finally:
            await self._database.close()

    async def _something_to_send(self) -> None:
        left = max(self._announce_at - time.monotonic(), 0) if self._here else None
        with suppress(TimeoutError):
            async with asyncio.timeout(left):
                await self._news.wait()
        self._news.clear()

    def _announcements(self) -> Iterator[tuple[str, str]]:
        if not self._here or time.monotonic() < self._announce_at:
            return
        self._announce_at = time.monotonic() + ANNOUNCE_SECONDS
        runs = list(self._here)
        for start in range(0, len(runs), RUNS_IN_ONE_PAYLOAD):
            yield LISTENERS_CHANNEL, " ".join([self._me, *runs[start : start + RUNS_IN_ONE_PAYLOAD]])

    def _texts(self) -> Iterator[tuple[str, str]]:
        outbox, self._outbox = self._outbox, defaultdict(list)
        envelopes: dict[str, list[str]] = defaultdict(list)
        for passage, pieces in outbox.items():
            text = "".join(pieces)
            starts = range(0, len(text), PIECE_CHARACTERS)
            envelopes[passage.run_id] += [passage.envelope(text[start : start + PIECE_CHARACTERS]) for start in starts]
        for run_id, lines in envelopes.items():
            for payload in self._packed(run_id, lines):
                yield DELTAS_CHANNEL, payload

    def _packed(self, run_id: str, envelopes: Sequence[str]) -> Iterator[str]:
        """The envelopes as few payloads. Each has a number: Postgres sends equal ones of a transaction once only."""
        payload = ""
        for envelope in envelopes:
            longer = f"{payload}\n{envelope}"
            if payload and len(longer.encode()) > PAYLOAD_BYTES:
                yield payload
                payload = ""
            payload = f"{payload}\n{envelope}" if payload else f"{self._me} {next(self._numbers)} {run_id}\n{envelope}"
        if payload:
            yield payload

    async def _send(self, notices: Sequence[tuple[str, str]]) -> None:
        values = {"channels": [channel for channel, _ in notices], "payloads": [payload for _, payload in notices]}
        try:
            async with asyncio.timeout(SEND_SECONDS), self._database.statement() as connection:
                await connection.execute(_SEND, values)
        except TROUBLE as error:  # which a timeout is as well
            log.warning("text not shared", error=type(error).__name__, notices=len(notices))
            await asyncio.sleep(SEND_SECONDS)

    def _wanted_elsewhere(self, run_id: str) -> bool:
        return self._elsewhere.get(run_id, 0) > time.monotonic()

    def _heard_of_listeners(self, payload: str) -> None:
        sender, *runs = payload.split()
        if sender == self._me:
            return
        now = time.monotonic()
        believed = {run_id: until for run_id, until in self._elsewhere.items() if until > now}
        self._elsewhere = believed | dict.fromkeys(runs, now + REMEMBER_SECONDS)

    def _heard_text(self, payload: str) -> None:
        head, *envelopes = payload.split("\n")
        sender, _, run_id = head.split()
        if sender != self._me:
            for envelope in envelopes:
                self._tell(run_id, envelope)

    def _tell(self, run_id: str, envelope: str) -> None:
        for heard in tuple(self._here.get(run_id, ())):
            heard(envelope)
