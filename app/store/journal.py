"""The journal: what happens to a run while a process executes it.

Each run that this process executes has a `RunLog`. Events appended to it are folded at once into the state *ahead*;
they become facts when a commit has carried them to Postgres, together with the rows they change, in one statement that
is guarded by the owner's epoch and by the number of the last event. One committer serves all runs of the process:
what is appended while a commit is under way shares the next one.

A commit that the guard refuses is one of two things. Another epoch means the run is lost: the log is closed and takes
nothing more. Another last event means that somebody else, a client that cancels, has added to the log: its events are
folded in, and ours are numbered anew behind them. What was decided without knowing of those is dropped, so that the
decision is made again; what has happened, such as a reply, stands.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import reduce
from itertools import islice

import psycopg
import structlog

from app.domain.errors import FAULTS, IllegalMove, OwnershipLost, RunUnreadable, Unwritable, place_of
from app.domain.events import Entry, Event
from app.domain.fold import after, extend, renumber
from app.domain.snapshot import Snapshot
from app.store.appended import Appended
from app.store.chronicle import tell, whose
from app.store.database import OUTAGE, Database
from app.store.journal_sql import Batch, commit, events_after
from app.store.witness import Witness

log = structlog.get_logger(__name__)

RUNS_IN_ONE_COMMIT = 100
LOOP_TURNS = 4
RETRY_SECONDS = 0.1
RETRY_CEILING_SECONDS = 2.0
REFUSALS_ALLOWED = 8
"""Times that Postgres may refuse what one run writes before this process gives the run up."""
REFUSAL = (psycopg.Error, Unwritable, RunUnreadable)
"""What is raised when Postgres refuses to take something, when our own code cannot write it down, or cannot read what
others have added; unless it is an outage, which some of these are too."""
FOR_GOOD = (psycopg.DataError, Unwritable)
"""Those of them that the same words would meet again."""


class RunLog:
    """One run as its owner sees it: what is fact, and what is on its way to be."""

    def __init__(self, snapshot: Snapshot, epoch: int, committer: "Journal", changed: Callable[[], None]) -> None:
        self.snapshot = snapshot
        """The state that Postgres holds too."""
        self.ahead = snapshot
        """The same with the events that are on their way."""
        self.epoch = epoch
        self.lost = False
        self.refusals = 0
        self._committer = committer
        self._changed = changed
        self._entries: deque[Appended] = deque()
        self._in_flight = 0

    @property
    def run_id(self) -> str:
        return self.snapshot.brief.run_id

    def append(self, *entries: Entry, decided: bool = False) -> asyncio.Future[bool]:
        """Add facts in order, as of now. The future says whether they were recorded: a decision may come too late.

        Raises `OwnershipLost` when the run belongs to somebody else, `IllegalMove` when they cannot follow the log.
        """
        if self.lost:
            raise OwnershipLost(self.run_id)
        self.ahead, events = extend(self.ahead, entries, datetime.now(UTC))
        entry = Appended(events, decided)
        self._entries.append(entry)
        self._committer.wants_commit(self)
        return entry.done

    async def settled(self) -> None:
        """Wait until everything appended so far is recorded, or refused."""
        while self._entries:
            await asyncio.shield(self._entries[-1].done)

    def hear_of(self, newest: int) -> None:
        """Take notice that the run has an event numbered `newest`, or 0: perhaps some. What is not ours is fetched."""
        if (newest > self.ahead.last_seq or newest == 0) and not self.lost:
            self._committer.wants_commit(self)

    def lose(self) -> None:
        """Take nothing more: the run is somebody else's, or may be at any moment."""
        if not self.lost:
            self._committer.witness.heard_loss()
            self.close()

    def close(self) -> None:
        """Take nothing more: the run is lost, or handed back."""
        self.lost = True
        self._drop(OwnershipLost(self.run_id))

    def take_back(self) -> None:
        """Forget what waits to be recorded, since it never can be. Whoever wanted that gets `Unwritable`."""
        self.refusals = 0
        self.ahead = self.snapshot
        self._drop(Unwritable(self.run_id))

    def _drop(self, error: Exception) -> None:
        for entry in self._entries:
            if not entry.done.done():
                entry.done.set_exception(error)
                entry.done.exception()  # Whoever waits is told; an unwaited append is not a fault.
        self._entries.clear()
        self._in_flight = 0
        self._changed()

    # For the committer alone.

    def batch(self, now: datetime) -> Batch:
        """All that waits, as one guarded write."""
        self._in_flight = len(self._entries)
        events = [event for entry in self._entries for event in entry.events]
        return Batch(self.ahead, events, self.epoch, self.snapshot.last_seq, now)

    def committed(self, batch: Batch) -> None:
        """The batch is fact now."""
        self.refusals = 0
        self.snapshot = batch.run
        for _ in range(self._in_flight):
            self._entries.popleft().settle(recorded=True)
        self._in_flight = 0
        self._changed()
        tell(self._committer.witness, batch.run, batch.events)

    def caught_up(self, newer: Sequence[Event]) -> None:
        """Fold in events that Postgres has and we do not, and number ours anew behind them. Raises `RunUnreadable`."""
        try:
            newer = self._without_own(list(newer))
            self.snapshot = reduce(after, newer, self.snapshot)
        except FAULTS as error:
            raise RunUnreadable(self.run_id) from error
        self._renumber(foreign=bool(newer))
        self._changed()

    def _without_own(self, newer: list[Event]) -> list[Event]:
        """Settle entries that were committed after all: the answer to a commit can be lost with its connection."""
        while newer and self._entries:
            own = self._entries[0].events
            if [_identity(event) for event in newer[: len(own)]] != [_identity(event) for event in own]:
                break
            self.snapshot = reduce(after, own, self.snapshot)
            tell(self._committer.witness, self.snapshot, own)
            del newer[: len(own)]
            self._entries.popleft().settle(recorded=True)
        return newer

    def _renumber(self, *, foreign: bool) -> None:
        self.ahead = self.snapshot
        waiting, self._entries = self._entries, deque()
        for entry in waiting:
            if foreign and (entry.decided or entry.leaves_run):
                entry.settle(recorded=False)
                continue
            try:
                self.ahead, entry.events = renumber(self.ahead, entry.events)
            except IllegalMove:
                entry.settle(recorded=False)
                continue
            self._entries.append(entry)

    @property
    def waits(self) -> bool:
        """Whether something that was appended is not recorded yet."""
        return bool(self._entries)


class Journal:
    """The committer of one process."""

    def __init__(self, database: Database, owner: str) -> None:
        self._database = database
        self._owner = owner
        self._wanting: dict[RunLog, None] = {}
        self._wake = asyncio.Event()

    @property
    def witness(self) -> Witness:
        """Who hears of what is committed."""
        return self._database.witness

    def open(self, snapshot: Snapshot, epoch: int, changed: Callable[[], None]) -> RunLog:
        """The log of a run that this process has claimed. `changed` is called whenever its state moves on."""
        return RunLog(snapshot, epoch, self, changed)

    def wants_commit(self, run: RunLog) -> None:
        self._wanting[run] = None
        self._wake.set()

    async def commit_forever(self) -> None:
        """Carry what is appended to Postgres, until cancelled. An outage delays it and loses nothing."""
        failures = 0
        while True:
            await self._wake.wait()
            self._wake.clear()
            while self._wanting:
                await _what_comes_at_the_same_time()
                turn = list(islice(self._wanting, RUNS_IN_ONE_COMMIT))
                for run in turn:
                    del self._wanting[run]
                try:
                    await self._commit(turn)
                    failures = 0
                except (*REFUSAL, *OUTAGE) as error:
                    failures += 1
                    await self._after_failure(turn, error, failures)

    async def _commit(self, turn: Sequence[RunLog]) -> None:
        now = datetime.now(UTC)
        batches = {run: run.batch(now) for run in turn if run.waits and not run.lost}
        recorded = await commit(self._database, self._owner, list(batches.values())) if batches else set()
        for run, batch in batches.items():
            if run.run_id in recorded:
                run.committed(batch)
        if behind := [run for run in turn if run.run_id not in recorded and not run.lost]:
            await self._catch_up(behind)
        for run in turn:
            if run.waits and not run.lost:
                self.wants_commit(run)

    async def _catch_up(self, behind: Sequence[RunLog]) -> None:
        known = {run.run_id: (run.epoch, run.snapshot.last_seq) for run in behind}
        found = await events_after(self._database, self._owner, known)
        for run in behind:
            newer = found.get(run.run_id)
            if newer is None:
                log.warning("ownership lost", **whose(run.snapshot.brief), epoch=run.epoch)
                run.lose()
            else:
                run.caught_up(newer)

    async def _after_failure(self, turn: Sequence[RunLog], error: Exception, failures: int) -> None:
        """Try again run by run, so that one run spoils no other's commit; after an outage, not before some time."""
        log.warning("commit failed", error=_named(error), runs=len(turn), failures=failures)
        if isinstance(error, OUTAGE):
            await asyncio.sleep(_backoff(failures))
        for run in turn:
            if run.lost:
                continue
            try:
                await self._commit([run])
            except OUTAGE:
                self.wants_commit(run)
            except REFUSAL as refusal:
                self._refused(run, refusal)

    def _refused(self, run: RunLog, refusal: Exception) -> None:
        """Try this run again after a while, and the others meanwhile; a run that is refused for good is given up.

        Words that can never be recorded end what wanted them recorded, and not the run.
        """
        run.refusals += 1
        cause = refusal.__cause__ if isinstance(refusal, Unwritable | RunUnreadable) else None
        why = {**whose(run.snapshot.brief), "error": _named(cause or refusal), "where": place_of(cause or refusal)}
        if isinstance(refusal, FOR_GOOD):
            log.error("events cannot be written", **why)
            run.take_back()
        elif run.refusals > REFUSALS_ALLOWED:
            log.error("run given up", **why)
            run.close()
        else:
            asyncio.get_running_loop().call_later(_backoff(run.refusals), self.wants_commit, run)


async def _what_comes_at_the_same_time() -> None:
    """Let replies that lie in the sockets be read first, so that they share the commit. Costs nothing when none do."""
    for _ in range(LOOP_TURNS):
        await asyncio.sleep(0)


def _named(error: BaseException) -> str:
    """The error's class, and what Postgres calls it."""
    state = error.sqlstate if isinstance(error, psycopg.Error) else None
    return f"{type(error).__name__} {state}" if state else type(error).__name__


def _backoff(failures: int) -> float:
    return min(RETRY_SECONDS * 2.0**failures, RETRY_CEILING_SECONDS)


def _identity(event: Event) -> tuple[object, ...]:
    return event.type, event.at, event.task_id, event.attempt
