"""A run's desk: what its agents have at hand, and the one door by which what they say reaches the journal."""

import asyncio
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import UTC, datetime

from app.agents.allowance import kept_for_answer
from app.agents.desk import Door
from app.domain import events as ev
from app.domain.credentials import Dictation
from app.domain.errors import BudgetSpent, OwnershipLost
from app.domain.events import Entry
from app.domain.job import JobInput
from app.domain.nested import Allowance
from app.domain.policy.agenda import is_open, left_behind
from app.domain.policy.budget import Kept, WorstCase, room_of_task
from app.domain.policy.commands import Command, Converse
from app.domain.policy.conditions import Conditions
from app.domain.policy.decide import decide
from app.domain.snapshot import Snapshot
from app.domain.topics import Topic
from app.engine.brake import Brake
from app.engine.reservations import Reservations
from app.engine.run_load import RunLoad
from app.engine.under_way import Speaker, UnderWay, speaking
from app.engine.worker_doors import WorkerDoors
from app.llm.model import Model
from app.runtime import Runtime
from app.store.breakers import Which
from app.store.deltas import Passage
from app.store.journal import RunLog
from app.tools.tool import Tool

SETTLING = (
    "plan.", "task.", "attempt.", "child.", "ruling.", "question.", "selection.", "reduction.", "synthesis.",
    "conflict.", "judgement.", "gap.", "review.", "budget.", "finding",
)  # fmt: skip
"""Types of events that may settle something else at once: what is ready, what is skipped, how the run ends."""


class RunDesk:
    """The `Desk` of a run that this process executes."""

    def __init__(self, runtime: Runtime, brake: Brake, log: RunLog, under_way: UnderWay, held_until: float) -> None:
        self.held_until = held_until
        """When our lease ends, on the monotonic clock."""
        self.leaving = asyncio.Event()
        """Set once the run is to be handed back: nothing more is begun."""
        self._runtime = runtime
        self._brake = brake
        self._log = log
        self._under_way = under_way
        self._loop = Speaker()
        self._reservations = Reservations()
        self._workers = WorkerDoors(brake)
        self._load = RunLoad(runtime.loads, log.ahead)
        self._kept: dict[tuple[object, ...], Kept] = {}
        """What is kept for the answer, by what it was reckoned for: the newest alone."""

    @property
    def run(self) -> Snapshot:
        return self._log.ahead

    @property
    def model(self) -> Model:
        return self._runtime.model

    @property
    def tools(self) -> Mapping[str, Tool]:
        return self._runtime.tools

    async def inputs(self) -> Sequence[JobInput]:
        brief, runtime = self.run.brief, self._runtime
        return await runtime.input_cache.of_run(runtime.database, brief.tenant, brief.run_id) if brief.inputs else ()

    def now(self) -> datetime:
        return datetime.now(UTC)

    def conditions(self) -> Conditions:
        """What this process knows of the world, for decisions."""
        under_way = frozenset(command.topic for command in self._under_way.commands if isinstance(command, Converse))
        return self._brake.conditions(self.run.brief.tenant, under_way, self._load.besides())

    async def begin(self) -> None:
        """Have known what decisions need to know of the world."""
        await self._load.begin(self.run)

    def leave(self) -> None:
        """Nothing more happens here."""
        self._load.leave()

    async def record(self, *entries: Entry) -> None:
        await self._record(self._say(*entries), entries)

    async def settle(self, *entries: Entry) -> None:
        """Have decisions recorded, unless somebody else has written into the run since they were made."""
        await self._record(self._append(*entries, decided=True), entries)

    async def _record(self, done: asyncio.Future[bool], entries: Sequence[Entry]) -> None:
        if any(entry.fact.type.startswith(SETTLING) for entry in entries):
            self._take_along_what_follows()
        await asyncio.shield(done)  # Whoever is stopped while waiting has said it all the same.

    def record_soon(self, *entries: Entry) -> None:
        self._say(*entries)

    async def admit(self, *, even_when_leaving: bool = False) -> None:
        speaker = self._speaker()
        if speaker.said is not None:
            await asyncio.shield(speaker.said)
        leaving = self.leaving.is_set() and not even_when_leaving
        if self._log.lost or leaving or speaker.dismissed or time.monotonic() >= self.held_until:
            raise OwnershipLost(self._log.run_id)

    def door(self, breaker: str, about: str | None = None) -> Door:
        return self._brake.door(Which(self.run.brief.tenant, breaker), about)

    async def may_begin(self, entries: Sequence[Entry]) -> bool:
        """Whether the attempts among `entries` may start: no other run has the probe of one of their workers."""
        return await self._workers.may_begin(self.run, entries)

    def reserve(self, topic: Topic, call: WorstCase) -> AbstractAsyncContextManager[int]:
        return self._reservations.hold(call, lambda: self.run, lambda: self._kept_from(topic))

    def allot(self, topic: Topic) -> AbstractAsyncContextManager[Allowance]:
        """What the nested run of an attempt may spend of the budget; held until the log tells of it."""
        allowed = room_of_task(self.run, topic).tokens
        return self._reservations.hold_share(lambda: self.run, lambda: self._kept_from(topic), allowed)

    async def _kept_from(self, topic: Topic) -> Kept:
        """What a conversation may not spend, since the answer needs it. Raises `BudgetSpent` once only that is left."""
        run = self.run
        if topic.purpose == "synthesize":
            return Kept()
        if (spent := run.exhausted) is not None and topic.purpose != "select":
            raise BudgetSpent(spent.limit, spent.allowed, spent.needed, spent.left)
        tasks, answering = (task.status for task in run.tasks.values()), run.answering
        told = answering.round, len(answering.selections), len(answering.reductions), answering.sifting.is_settled
        reckoned_for = (*tasks, run.late, run.lacking, *told, topic.purpose == "select")
        if reckoned_for not in self._kept:
            self._kept = {reckoned_for: await kept_for_answer(run, self.model, topic)}
        return self._kept[reckoned_for]

    def listener(self, topic: Topic) -> Callable[[str], None] | None:
        deltas, run_id = self._runtime.deltas, self._log.run_id
        if topic.purpose in ("reduce", "verify") or not deltas.wanted(
            run_id
        ):  # Several are written at once, for no reader.
            return None
        dictation = Dictation()

        def heard(text: str) -> None:
            if said := dictation.after(text):
                deltas.publish(run_id, purpose=topic.purpose, task_id=topic.task_id, attempt=topic.attempt, text=said)

        return heard

    def _speaker(self) -> Speaker:
        return speaking.get() or self._loop

    def _say(self, *entries: Entry) -> asyncio.Future[bool]:
        self._supersede_text(entries)
        speaker = self._speaker()
        if speaker.dismissed:
            raise OwnershipLost(self._log.run_id)
        done = speaker.said = self._append(*entries)
        return done

    def _append(self, *entries: Entry, decided: bool = False) -> asyncio.Future[bool]:
        """Have it recorded, and have breakers and loads of workers know how their attempts begin and end."""
        before, done = self.run, self._log.append(*entries, decided=decided)
        self._workers.hear(before, entries)
        self._load.hear(before, entries, self.run, self.now())
        return done

    def _supersede_text(self, entries: Sequence[Entry]) -> None:
        """Text that others have not got yet must not reach them behind the event that tells all of it."""
        for fact, task_id, attempt in entries:
            if isinstance(fact, ev.LlmCompleted | ev.LlmFailed):
                self._runtime.deltas.supersede(Passage(self._log.run_id, fact.purpose, task_id, attempt))

    def _take_along_what_follows(self) -> None:
        """Have what the newest facts settle share their commit, unless something must be stopped for it first."""
        follows = decide(self.run, self.now(), self.conditions())
        left = set(left_behind(self.run))
        others = {
            command
            for command in self._under_way.commands
            # A conversation that is over is left by itself in a moment, unless it is one that is to be stopped.
            if command != self._speaker().command and _goes_on(self.run, command, left)
        }
        if (
            follows.entries
            and others <= set(follows.commands)
            and not self._workers.probes_in(self.run, follows.entries)
        ):
            self._append(*follows.entries, decided=True)


def _goes_on(run: Snapshot, command: Command, left: Collection[Topic]) -> bool:
    """Whether a command that is under way will not be over by itself in a moment, or is to be stopped."""
    return not isinstance(command, Converse) or is_open(run, command.topic) or command.topic in left
