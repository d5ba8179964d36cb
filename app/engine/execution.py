"""One run while this process executes it.

The loop asks `decide` what should be under way, stops what is not wanted, starts what is missing, records what is
settled, and waits for something to happen. It holds no policy, and a resumed run takes the very same way.
"""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime

import structlog

from app.agents.supervisor import make_plan, refine, synthesize
from app.agents.worker import work_on
from app.domain import events as ev
from app.domain.commands import Command, MakePlan, Refine, Synthesize, WorkOn
from app.domain.conclusions import failed
from app.domain.decisions import decide
from app.domain.errors import OwnershipLost
from app.domain.events import Event, Purpose
from app.domain.job import JobInput
from app.domain.results import Problem
from app.domain.snapshot import Snapshot
from app.engine.recovery import resumption
from app.engine.under_way import LAST_WORDS_SECONDS, Speaker, UnderWay, speaking
from app.llm.model import Model
from app.runtime import Runtime
from app.store.deltas import Passage
from app.store.journal import Journal
from app.store.ownership import Claim
from app.tools.tool import Tool

log = structlog.get_logger(__name__)

SETTLING = ("plan.", "task.", "synthesis.")
"""Types of events that may settle something else at once: what is ready, what is skipped, how the run ends."""


class Execution:
    """A claimed run. It is the `Desk` at which its agents sit."""

    def __init__(self, runtime: Runtime, journal: Journal, claim: Claim, held_until: float) -> None:
        self.held_until = held_until
        """When our lease ends, on the monotonic clock."""
        self.broke = False
        """Whether the loop itself has failed: the run may be what breaks it."""
        self._runtime = runtime
        self._claim = claim
        self._changed = asyncio.Event()
        self.log = journal.open(claim.snapshot, claim.epoch, self._changed.set)
        self._under_way = UnderWay(self.log.run_id, self._carry_out, self._changed.set)
        self._loop = Speaker()
        self._handing_back = asyncio.Event()

    @property
    def has_moved(self) -> bool:
        """Whether more has been recorded here than that we have the run."""
        return self.log.snapshot.last_seq > self._claim.snapshot.last_seq + (not self._claim.begins)

    # The desk.

    @property
    def run(self) -> Snapshot:
        return self.log.ahead

    @property
    def model(self) -> Model:
        return self._runtime.model

    @property
    def tools(self) -> Mapping[str, Tool]:
        return self._runtime.tools

    async def inputs(self) -> Sequence[JobInput]:
        brief = self._claim.snapshot.brief
        return await self._runtime.materials.of_run(self._runtime.database, brief.run_id) if brief.inputs else ()

    def now(self) -> datetime:
        return datetime.now(UTC)

    async def record(self, *events: Event) -> None:
        self._supersede_text(events)
        done = self._say(*events)
        if any(event.type.startswith(SETTLING) for event in events):
            self._take_along_what_follows()
        await asyncio.shield(done)  # Whoever is stopped while waiting has said it all the same.

    def note(self, *events: Event) -> None:
        self._supersede_text(events)
        self._say(*events)

    async def ensure_owned(self, *, begun: bool = False) -> None:
        speaker = self._speaker()
        if speaker.said is not None:
            await asyncio.shield(speaker.said)
        leaving = self._handing_back.is_set() and not begun
        if self.log.lost or leaving or speaker.dismissed or time.monotonic() >= self.held_until:
            raise OwnershipLost(self.log.run_id)

    def listener(self, purpose: Purpose, task_id: str | None, attempt: int | None) -> Callable[[str], None] | None:
        deltas, run_id = self._runtime.deltas, self.log.run_id
        if not deltas.wanted(run_id):
            return None

        def heard(text: str) -> None:
            deltas.publish(run_id, purpose=purpose, task_id=task_id, attempt=attempt, text=text)

        return heard

    def _supersede_text(self, events: Sequence[Event]) -> None:
        """Text that others have not got yet must not reach them behind the event that tells all of it."""
        for event in events:
            if isinstance(event, ev.LlmCompleted | ev.LlmFailed):
                passage = Passage(self.log.run_id, event.data.purpose, event.task_id, event.attempt)
                self._runtime.deltas.supersede(passage)

    def _speaker(self) -> Speaker:
        return speaking.get() or self._loop

    def _say(self, *events: Event) -> asyncio.Future[bool]:
        speaker = self._speaker()
        if speaker.dismissed:
            raise OwnershipLost(self.log.run_id)
        done = speaker.said = self.log.append(*events)
        return done

    def _take_along_what_follows(self) -> None:
        """Have what the newest events settle share their commit, unless something must be stopped for it first."""
        follows = decide(self.log.ahead, self.now())
        others = {
            command
            for command in self._under_way.commands
            if command != self._speaker().command and not (isinstance(command, WorkOn) and self._has_ended(command))
        }
        if follows.events and others <= set(follows.commands):
            self.log.append(*follows.events)

    def _has_ended(self, command: WorkOn) -> bool:
        """Whether the attempt is over, so that whoever works on it is about to leave by itself."""
        task = self.run.tasks[command.task_id]
        return task.status != "running" or len(task.attempts) != command.attempt

    # The loop.

    async def execute(self) -> None:
        """Take the run to its end, or until it has to wait. Raises `OwnershipLost` when it may go no further here."""
        try:
            await self._begin()
            while self.log.snapshot.status in ("queued", "running"):
                await self._advance()
        finally:
            await self._under_way.stop(self._under_way.commands)
            with suppress(OwnershipLost, TimeoutError):
                async with asyncio.timeout(LAST_WORDS_SECONDS):
                    await self.log.settled()

    async def _begin(self) -> None:
        if not self._claim.begins:
            lapsed_at = self._claim.lapsed_at
            lost = resumption(self.run, min(self.now(), lapsed_at), self.model) if lapsed_at else {}
            resumed = ev.Resumed(engine=self._runtime.name, epoch=self.log.epoch, **lost)
            await self.record(ev.RunResumed(at=self.now(), run_id=self.log.run_id, data=resumed))
        if self._claim.poisoned:
            await self.record(*self._end_in_fault("The processes that executed this run kept dying or standing still."))

    async def _advance(self) -> None:
        self._changed.clear()
        await self._reap()
        under_way = self._under_way.commands
        if self.log.lost or (self._handing_back.is_set() and not under_way):
            raise OwnershipLost(self.log.run_id)
        decision = decide(self.log.snapshot, self.now())
        unwanted = [command for command in under_way if command not in decision.commands]
        if unwanted:
            await self._under_way.stop(unwanted)
            await self.log.settled()  # What they said last is part of what is decided on.
        elif decision.events and self.log.waits:
            await self.log.settled()  # What is on its way may change what is settled.
        elif decision.events:
            await self.record(*decision.events)
        else:
            if not self._handing_back.is_set():
                for command in decision.commands:
                    self._under_way.start(command)
            await self._something_happens(decision.wake_at)

    async def _something_happens(self, wake_at: datetime | None) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout((wake_at - self.now()).total_seconds() if wake_at else None):
                await self._changed.wait()

    async def _carry_out(self, command: Command) -> None:
        """Run a command until it has nothing left to do and all it said is recorded."""
        before = self.run.last_seq
        match command:
            case MakePlan():
                await make_plan(self)
            case Refine(task_id):
                structlog.contextvars.bind_contextvars(task_id=task_id)
                await refine(self, task_id)
            case WorkOn(task_id, attempt):
                structlog.contextvars.bind_contextvars(task_id=task_id, attempt=attempt)
                await work_on(self, task_id)
            case Synthesize():
                await synthesize(self)
        await self.log.settled()
        if self.run.last_seq == before:
            raise RuntimeError(f"{command} ended without an event")

    async def _reap(self) -> None:
        """Take leave of commands that have ended; one that broke ends its task, or the run.

        That is recorded before anything else is decided, so that nothing which broke is begun again.
        """
        for command, error in self._under_way.take_ended():
            if isinstance(error, OwnershipLost):
                if not self._handing_back.is_set():
                    raise error
            elif error is not None:
                log.error("attempt broke", command=str(command), exc_info=error)
                if ends := self._broken(command):
                    await self.record(*ends)

    def _broken(self, command: Command) -> Sequence[Event]:
        """What comes of a bug of ours; nothing when the command had done what it was for."""
        run = self.run
        match command:
            case WorkOn() if not run.ended and not self._has_ended(command):
                return [self._task_failed(command.task_id, "An internal error ended the attempt.")]
            case Refine(task_id) if not run.ended and run.tasks[task_id].refine_first and not run.tasks[task_id].ended:
                return [self._task_failed(task_id, "An internal error kept the instruction from being improved.")]
            case MakePlan() if not run.ended and run.plan is None:
                return self._end_in_fault("An internal error ended the run.")
            case Synthesize() if not run.ended and run.synthesis is None:
                return self._end_in_fault("An internal error ended the run.")
            case _:
                return ()

    def _task_failed(self, task_id: str, message: str) -> Event:
        return ev.TaskFailed(
            at=self.now(),
            run_id=self.log.run_id,
            task_id=task_id,
            attempt=len(self.run.tasks[task_id].attempts) or None,
            data=ev.Failed(error=Problem(code="internal_error", message=message)),
        )

    def _end_in_fault(self, message: str) -> Sequence[Event]:
        return failed(self.run, self.now(), "internal_error", message)

    def hand_back(self) -> None:
        """Start nothing more: what is under way may finish, then the run is for another process to continue."""
        self._handing_back.set()
        self._changed.set()
