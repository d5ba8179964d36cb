"""One run while this process executes it.

The loop asks `decide` what should be under way, stops what is not wanted, starts what is missing, records what is
settled, and waits for something to happen. It holds no policy, and a resumed run takes the very same way.
"""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime

import structlog

from app.agents.converse import converse
from app.domain import events as ev
from app.domain.errors import HeldBack, OwnershipLost
from app.domain.events import Entry
from app.domain.policy.agenda import is_open
from app.domain.policy.children import has_orphans, wants_child
from app.domain.policy.commands import Command, Converse, PlaceFindings, RunChild
from app.domain.policy.decide import decide
from app.domain.policy.endings import fail
from app.domain.policy.failed_attempts import break_attempt
from app.domain.policy.findings_due import unplaced
from app.domain.topics import Topic
from app.engine.brake import Brake
from app.engine.children import Nursery, begin_child
from app.engine.placing import place_findings
from app.engine.recovery import Lost, reckon_lost
from app.engine.run_desk import RunDesk
from app.engine.under_way import LAST_WORDS_SECONDS, UnderWay
from app.runtime import Runtime
from app.store.journal import Journal
from app.store.ownership import ClaimedRun

log = structlog.get_logger(__name__)

HELD_BACK_S = 0.1
"""Before a conversation may be begun again that a breaker has held back: should what is decided on and what stands at
the door ever differ, they do so at leisure."""


@dataclass(frozen=True, slots=True)
class Shared:
    """What the runs of one process share."""

    runtime: Runtime
    brake: Brake
    journal: Journal
    nursery: Nursery


class Execution:
    """A claimed run."""

    def __init__(self, shared: Shared, claim: ClaimedRun, held_until: float) -> None:
        runtime, brake = shared.runtime, shared.brake
        self.broke = False
        """Whether the loop itself has failed: the run may be what breaks it."""
        self._runtime = runtime
        self._brake = brake
        self._nursery = shared.nursery
        self._claim = claim
        self._changed = asyncio.Event()
        self.log = shared.journal.open(claim.snapshot, claim.epoch, self._changed.set)
        self._under_way = UnderWay(self.log.run_id, self._carry_out, self._changed.set)
        self.desk = RunDesk(runtime, brake, self.log, self._under_way, held_until)

    @property
    def has_moved(self) -> bool:
        """Whether more has been recorded here than that we have the run."""
        return self.log.snapshot.last_seq > self._claim.snapshot.last_seq + (not self._claim.begins)

    def hand_back(self) -> None:
        """Start nothing more: what is under way may finish, then the run is for another process to continue."""
        self.desk.leaving.set()
        self._changed.set()

    async def execute(self) -> None:
        """Take the run to its end, or until it has to wait. Raises `OwnershipLost` when it may go no further here."""
        try:
            await self._begin()
            with self._brake.watched_by(self._changed.set):
                while self.log.snapshot.status in ("queued", "running"):
                    await self._advance()
        finally:
            self.desk.leave()
            await self._under_way.stop(self._under_way.commands)
            with suppress(OwnershipLost, TimeoutError):
                async with asyncio.timeout(LAST_WORDS_SECONDS):
                    await self.log.settled()

    async def _begin(self) -> None:
        desk, lapsed_at = self.desk, self._claim.lapsed_at
        await desk.begin()
        if not self._claim.begins:
            lost = await reckon_lost(desk, min(desk.now(), lapsed_at)) if lapsed_at else Lost()
            epoch = self.log.epoch
            resumed = ev.RunResumed(
                engine=self._runtime.name,
                epoch=epoch,
                lost_calls=lost.calls,
                usage=lost.usage,
                unsettled=lost.unsettled,
            )
            await desk.record(Entry(resumed))
        if self._claim.poisoned:
            await desk.record(*self._fail("The processes that executed this run kept dying or standing still."))

    async def _advance(self) -> None:
        self._changed.clear()
        await self._reap()
        under_way, leaving = self._under_way.commands, self.desk.leaving.is_set()
        if self.log.lost or (leaving and not under_way):
            raise OwnershipLost(self.log.run_id)
        if has_orphans(self.log.snapshot):
            self._nursery.look()
        decision = decide(self.log.snapshot, self.desk.now(), self.desk.conditions())
        unwanted = [command for command in under_way if command not in decision.commands]
        if unwanted:
            await self._under_way.stop(unwanted)
            await self.log.settled()  # What they said last is part of what is decided on.
        elif decision.entries and self.log.waits:
            await self.log.settled()  # What is on its way may change what is settled.
        elif decision.entries:
            if await self.desk.may_begin(decision.entries):
                await self.desk.settle(*decision.entries)
        else:
            if not leaving:
                for command in decision.commands:
                    self._under_way.start(command)
            await self._something_happens(decision.wake_at)

    async def _something_happens(self, wake_at: datetime | None) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout((wake_at - self.desk.now()).total_seconds() if wake_at else None):
                await self._changed.wait()

    async def _carry_out(self, command: Command) -> None:
        """Run a command until it has nothing left to do and all it said is recorded."""
        # What was decided on: others may have said since what leaves this one nothing to say.
        before, topic = self.log.snapshot.last_seq, _topic_of(command)
        if topic.task_id is not None:
            structlog.contextvars.bind_contextvars(task_id=topic.task_id, attempt=topic.attempt)
        held = False
        try:
            if isinstance(command, RunChild):
                await begin_child(self._runtime, self.desk, command)
            elif isinstance(command, PlaceFindings):
                await place_findings(self.desk, self._runtime.documents, command)
            else:
                await converse(self.desk, topic)
        except HeldBack:
            held = True
            await asyncio.sleep(HELD_BACK_S)
        await self.log.settled()
        if self.desk.run.last_seq == before and not held:
            raise RuntimeError(f"{command} ended without an event")

    async def _reap(self) -> None:
        """Remove commands that have ended; one that broke ends its task, or the run.

        That is recorded before anything else is decided, so that nothing which broke is begun again.
        """
        for command, error in self._under_way.take_ended():
            if isinstance(error, OwnershipLost):
                if not self.desk.leaving.is_set():
                    raise error
            elif error is not None:
                log.error("attempt broke", command=str(command), exc_info=error)
                if self._is_wanted(command):
                    await self.desk.record(*self._end_broken(_topic_of(command)))

    def _is_wanted(self, command: Command) -> bool:
        match command:
            case PlaceFindings(tasks):
                return unplaced(self.desk.run) == tasks
            case RunChild():
                return wants_child(self.desk.run, _topic_of(command))
            case Converse(topic):
                return is_open(self.desk.run, topic)

    def _end_broken(self, topic: Topic) -> Sequence[Entry]:
        """What comes of a bug of ours in the middle of a conversation."""
        if topic.task_id is None:
            return self._fail("An internal error ended the run.")
        return [break_attempt(self.desk.run, topic)]

    def _fail(self, message: str) -> Sequence[Entry]:
        return fail(self.desk.run, "internal_error", message)


def _topic_of(command: Command) -> Topic:
    """What a command is about, as the conversation that the attempt has or would have."""
    match command:
        case RunChild(task_id, attempt):
            return Topic("work", task_id, attempt)
        case PlaceFindings():
            return Topic("verify")
        case Converse(topic):
            return topic
