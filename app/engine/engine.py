"""The engine: claims runs, executes them, and hands them back when it is told to stop."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace

import structlog

from app.domain.errors import OwnershipLost, RunUnreadable, place_of
from app.domain.worker import TIERS
from app.engine import under_way
from app.engine.brake import Brake
from app.engine.children import Nursery
from app.engine.courier import Courier
from app.engine.execution import Execution, Shared
from app.engine.grounds import with_grounds
from app.engine.housekeeping import keep_house_forever
from app.engine.leases import Leases
from app.engine.presence import Presence
from app.engine.steward import Steward
from app.parts import PAUSE_S, Parts
from app.runtime import Runtime
from app.store.chronicle import whose
from app.store.database import TROUBLE
from app.store.history import Histories
from app.store.journal import Journal
from app.store.journal_sql import write_row
from app.store.ownership import Claimant, ClaimedRun, announce_again, claim_if_free, release_if_owned
from app.store.reconcile import announce_unattended

log = structlog.get_logger(__name__)

OTHERS_PAUSE_S = 5.0
"""Before a part begins again without which runs go on: a database that comes back has enough to do."""
LISTENING_SECONDS = 5.0
"""How long a start waits until the process hears of runs at once."""
STOP_SECONDS = 5.0
"""How long the parts of the engine may take to end once they are told to."""


class Engine:
    """Executes runs in this process."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._brake = Brake(runtime)
        self._nursery = Nursery(runtime)
        self._steward = Steward(runtime)
        self._shared = Shared(runtime, self._brake, Journal(runtime.database, runtime.name), self._nursery)
        self._held: dict[str, Execution] = {}
        self._executing: set[asyncio.Task[None]] = set()
        self._places = asyncio.Semaphore(runtime.runs_at_once)
        models = {tier: runtime.model.model_id(tier) for tier in TIERS}
        self._claimant = Claimant(runtime.name, runtime.lease_s, runtime.patience, models)
        self._histories = Histories(runtime.database)
        self._suspect: str | None = None
        """The run we have that may be what kills its processes, or of which we are about to find out."""
        self._leases = Leases(runtime, self._held, self._clear)
        self._presence = Presence(runtime, self._rest, self._wake)
        self._courier = Courier(runtime) if runtime.webhooks is not None else None
        self._parts = Parts(pause_s=min(runtime.poll_s, PAUSE_S))
        self._others = Parts(pause_s=OTHERS_PAUSE_S)
        """Without these runs go on."""

    def start(self) -> None:
        """Begin to claim runs."""
        runtime = self._runtime
        for name, work in (
            ("journal", self._shared.journal.commit_forever),
            ("renewal", self._leases.renew_forever),
            ("lapse", self._leases.drop_lapsed_forever),
            ("delivery", self._hear_forever),
            ("reconciler", self._reconcile_forever),
            ("breakers", self._follow_breakers_forever),
        ):
            self._parts.start(name, work, broke=self._give_up)
        for name, work in (
            ("loads", self._share_loads_forever),
            ("nursery", self._nursery.look_forever),
            ("steward", self._steward.look_forever),
            ("presence", self._presence.renew_forever),
            ("retention", lambda: keep_house_forever(runtime)),
        ):
            self._others.start(name, work)
        if self._courier is not None:
            self._others.start("courier", self._courier.deliver_forever)
        self._leaving = asyncio.create_task(self._leave_when_draining(), name="leaving")

    async def stop(self) -> None:
        """Claim nothing more, give what is under way time to finish, and hand every run back."""
        self._runtime.draining.set()
        await self._leaving
        with suppress(TimeoutError):
            async with asyncio.timeout(STOP_SECONDS):
                await self._brake.settled()
        await asyncio.gather(self._parts.stop(within_s=STOP_SECONDS), self._others.stop(within_s=STOP_SECONDS))
        await self._presence.end()
        if self._courier is not None:
            await self._courier.close(within_s=STOP_SECONDS)

    async def _leave_when_draining(self) -> None:
        """The process has been told to stop: others shall go on with our runs as soon as our calls have ended."""
        await self._runtime.draining.wait()
        await self._hand_over()

    async def _rest(self) -> None:
        """Claim nothing more until somebody says so. All else goes on: requests, webhooks, the care for other runs."""
        log.info("engine drains", runs=len(self._held))
        self._runtime.queue.rest()
        await self._hand_over()
        log.info("engine drained")

    def _wake(self) -> None:
        """Claim again."""
        self._parts.start("delivery", self._hear_forever, broke=self._give_up)
        log.info("engine claims again")

    @property
    def rests(self) -> bool:
        """Whether somebody has asked for it to claim nothing."""
        return self._presence.rests

    @property
    def _claims_nothing(self) -> bool:
        return self._runtime.draining.is_set() or self.rests

    async def _hand_over(self) -> None:
        """Let go of every run, so that others go on with it."""
        for execution in self._held.values():
            execution.hand_back()
        delivery = asyncio.create_task(self._parts.stop("delivery"))  # It ends with what it has delivered.
        if self._executing:
            _, late = await asyncio.wait(self._executing, timeout=self._runtime.drain_s)
            for task in late:
                task.cancel()
        # A command may take its time for its last words before its run can be handed back.
        await asyncio.wait({delivery, *self._executing}, timeout=under_way.LAST_WORDS_SECONDS + STOP_SECONDS)
        with suppress(*TROUBLE):
            await self._runtime.queue.poke(self._runtime.database)

    def _give_up(self) -> None:
        """Without one of its parts an engine would hold its runs and move none: it lets them go to other processes."""
        for execution in self._held.values():
            execution.log.close()
        self._runtime.draining.set()

    async def _hear_forever(self) -> None:
        await self._runtime.breakers.ready.wait()  # Or a run that is held would be told that it is not.
        await self._runtime.queue.deliver(self.take_up, at_once=self._runtime.runs_at_once, poll_s=self._runtime.poll_s)

    async def take_up(self, run_id: str) -> None:
        """Execute the run if it may be claimed; returns when it has ended or waits.

        The queue may lose its connection meanwhile and give up on us: the run goes on all the same.
        """
        if self._claims_nothing:
            await announce_again(self._runtime.database, self._runtime.queue, run_id)
            return
        if run_id in self._held:
            return
        task = asyncio.create_task(self._take_up(run_id), name=f"execution of {run_id}")
        self._executing.add(task)
        task.add_done_callback(self._executing.discard)
        await asyncio.shield(task)

    async def _take_up(self, run_id: str) -> None:
        structlog.contextvars.bind_contextvars(run_id=run_id)
        async with self._places:  # More may be heard of than there are: runs go on when the queue loses its connection.
            await self._claim_and_execute(run_id)

    async def _claim_and_execute(self, run_id: str) -> None:
        self._suspect = self._suspect or run_id
        try:
            asked_at = time.monotonic()
            claim = await self._claim(run_id, suspects=self._suspect == run_id)
            if claim is None:
                return
            if not claim.suspect:
                self._clear(run_id)
            await self._execute(claim, self._leases.held_until(asked_at, self._runtime.lease_s))
        finally:
            self._clear(run_id)

    def _clear(self, run_id: str) -> None:
        if self._suspect == run_id:
            self._suspect = None

    async def _execute(self, claim: ClaimedRun, held_until: float) -> None:
        runtime, run_id = self._runtime, claim.snapshot.brief.run_id
        structlog.contextvars.bind_contextvars(**whose(claim.snapshot.brief))
        if claim.snapshot.ended:
            await write_row(runtime.database, claim.snapshot, owner=runtime.name, epoch=claim.epoch)
            return
        claim = replace(claim, snapshot=await with_grounds(runtime, self._histories, claim.snapshot))
        execution = Execution(self._shared, claim, held_until)
        self._held[run_id] = execution
        if self._claims_nothing:
            execution.hand_back()
        try:
            with runtime.wakeups.listening(run_id, execution.log.hear_of):
                await execution.execute()
        except OwnershipLost:
            log.info("run left", epoch=claim.epoch)
        except Exception:  # the one place where a run may break without taking its process with it
            execution.broke = True
            log.exception("run broke", epoch=claim.epoch)
        finally:
            await self._release(execution)
            self._steward.hear_of_room()
            left = execution.log.snapshot
            if left.brief.is_nested and left.ended:
                await self._nursery.tell_of_end()
            elif left.open_children:
                self._nursery.look()

    async def _claim(self, run_id: str, *, suspects: bool) -> ClaimedRun | None:
        try:
            return await claim_if_free(self._runtime.database, run_id, self._claimant, suspects=suspects)
        except RunUnreadable as error:
            cause = error.__cause__ or error
            log.error("run unreadable", error=type(cause).__name__, where=place_of(cause))
            return None

    async def _release(self, execution: Execution) -> None:
        """Hand the run back unless it has ended, or belongs to somebody else by now.

        While something about it is unrecorded its lease is left to lapse: whoever takes it then reckons what was lost.
        """
        runtime, run_log = self._runtime, execution.log
        in_order = not run_log.lost and not run_log.waits and time.monotonic() < execution.desk.held_until
        run_log.close()
        runtime.input_cache.forget(run_log.run_id)
        if self._held.get(run_log.run_id) is execution:
            del self._held[run_log.run_id]
        if in_order and not run_log.snapshot.ended:
            with suppress(*TROUBLE):  # The lease lapses by itself.
                await release_if_owned(
                    runtime.database,
                    runtime.queue,
                    run_log.run_id,
                    owner=runtime.name,
                    epoch=run_log.epoch,
                    broke=execution.broke,
                )

    async def _reconcile_forever(self) -> None:
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(self._runtime.poll_s):
                    await self._brake.closed.wait()
            self._brake.closed.clear()
            found = await announce_unattended(self._runtime.database, self._runtime.queue)
            if found:
                log.info("runs without an owner announced", runs=found)
            self._nursery.look()

    async def _follow_breakers_forever(self) -> None:
        await self._runtime.breakers.follow_forever(lambda: self._runtime.database, self._runtime.poll_s)

    async def _share_loads_forever(self) -> None:
        await self._runtime.loads.share_forever(lambda: self._runtime.database)


@asynccontextmanager
async def running_engine(runtime: Runtime) -> AsyncIterator[Engine]:
    """An engine that runs for as long as the block, and then hands its runs back. It hears of runs at the start."""
    engine = Engine(runtime)
    engine.start()
    try:
        with suppress(TimeoutError):  # It runs all the same, and looks from time to time.
            async with asyncio.timeout(LISTENING_SECONDS):
                await runtime.wakeups.connected.wait()
                await runtime.queue.listening.wait()
        yield engine
    finally:
        await engine.stop()
