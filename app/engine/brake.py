"""The brake: what stands between the runs of this process and whatever they call, and passes on what comes of it."""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import structlog

from app.domain.errors import AccountProblem, Held
from app.domain.policy.breakers import (
    Breaker,
    Fault,
    brake_of,
    fail,
    leave_probe,
    stance,
    succeed,
    take_probe,
)
from app.domain.policy.conditions import Conditions
from app.domain.policy.load import Load
from app.domain.retries import Patience
from app.domain.topics import Topic
from app.runtime import Runtime
from app.store.breakers import Change, Which, change_breaker
from app.store.database import TROUBLE

log = structlog.get_logger(__name__)

PUT_OFF_S = 0.5
"""Before a probe is asked for again that could not be had."""


class Brake:
    """The breakers, for the runs of this process."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._board = runtime.breakers
        self._on_their_way: set[asyncio.Task[Any]] = set()
        self._open: frozenset[Which] = frozenset()
        self.closed = asyncio.Event()
        """Set when a breaker has closed: runs that were waiting for that may go on."""
        self._board.watch(self._lift_pauses)

    def conditions(self, tenant: str, under_way: frozenset[Topic], load: Mapping[str, Load]) -> Conditions:
        """What this process knows of the world, for decisions about a run of that tenant."""
        return Conditions(self._runtime.model.brakes(), self._board.open_of(tenant), under_way, load)

    def watched_by(self, changed: Callable[[], None]) -> AbstractContextManager[None]:
        """Have `changed` called whenever a breaker has changed what it lets through."""
        return self._board.watched_by(changed)

    def door(self, which: Which, about: str | None = None, began_at: datetime | None = None) -> "Door":
        """The way through a breaker for one call, which is `about` something that may be to blame as well.

        `began_at` is said of a call that has gone through without it.
        """
        return Door(self, which, about, began_at)

    def is_due(self, which: Which) -> bool:
        """Whether a call would be the probe now."""
        return stance(self.find(which), datetime.now(UTC)) == "probe"

    async def settled(self) -> None:
        """Wait until what was said is in the database."""
        while self._on_their_way:
            await asyncio.wait(self._on_their_way)

    def _lift_pauses(self) -> None:
        """A model whose breaker has closed answers again: what its provider asked of this process is over too."""
        opened = self._board.all_open()
        for which in self._open - opened:
            kind, _, model = which.name.partition(":")
            if kind == "model":
                self._runtime.model.lift(model)
                self.closed.set()
        self._open = opened

    # For doors alone.

    def find(self, which: Which) -> Breaker | None:
        return self._board.find(*which)

    async def change(self, which: Which, change: Change) -> Breaker:
        """Change a breaker for everybody. What is known here comes back when the database does not answer."""
        try:
            with self._board.changing(*which) as is_last:
                changed = await change_breaker(self._runtime.database, *which, change)
                assert changed is not None
                if changed.state == "closed":
                    self.closed.set()
                if is_last():
                    self._board.put(which.tenant, changed)
        except TROUBLE as error:
            log.warning("breaker not changed", breaker=which.name, error=type(error).__name__)
            return self.find(which) or Breaker(which.name)
        return changed

    def change_soon(self, which: Which, change: Change) -> Breaker:
        """The same, for this process at once, and whatever becomes of the call that led to it; what is known then."""
        known = change(self.find(which) or Breaker(which.name), datetime.now(UTC))
        self._board.put(which.tenant, known)
        task = asyncio.create_task(self.change(which, change), name=f"breaker {which.name}")
        self._on_their_way.add(task)
        task.add_done_callback(self._on_their_way.discard)
        return known

    def put_off(self, which: Which, breaker: Breaker) -> Breaker:
        """Leave a probe that could not be had alone for a moment."""
        later = replace(breaker, probe_at=datetime.now(UTC) + timedelta(seconds=PUT_OFF_S))
        self._board.put(which.tenant, later)
        return later

    @property
    def patience(self) -> Patience:
        return self._runtime.patience


class Door:
    """One call's way through a breaker: it enters, and then has been answered, or has failed, or leaves."""

    def __init__(self, brake: Brake, which: Which, about: str | None, began_at: datetime | None) -> None:
        self._began_at = began_at
        self._brake = brake
        self._which = which
        self._about = about
        self._prober: str | None = None

    async def enter(self) -> None:
        """Go through, or take the probe. Raises `Held`, or `AccountProblem` where waiting would not help."""
        self._began_at = now = datetime.now(UTC)
        breaker = self._brake.find(self._which)
        if stance(breaker, now) == "probe":
            breaker = await self._take_probe()
            if self._prober is not None:
                return
            now = datetime.now(UTC)
        says = stance(breaker, now)
        if breaker is None or says == "pass":
            return
        if says == "refuse":
            problem = brake_of(breaker)
            raise AccountProblem(problem.message, code=problem.code, sent=False)  # type: ignore[arg-type]
        due = breaker.probe_at if breaker.state == "open" else None  # How long a probe takes nobody knows.
        left = None if due is None else (due - now).total_seconds()
        message = "It has failed so often that it is left alone for a while."
        raise Held(message, retry_after_s=left, breaker=self._which.name)

    async def _take_probe(self) -> Breaker:
        prober, within_s = uuid4().hex, self._brake.patience.probe_s
        self._prober = prober  # Even if we are stopped before we hear that we have it: whoever leaves gives it back.
        taken = await self._brake.change(self._which, lambda breaker, now: take_probe(breaker, prober, now, within_s))
        if taken.prober == prober:
            return taken
        self._prober = None
        if stance(taken, datetime.now(UTC)) == "probe":  # The database did not answer, or its clock is behind.
            taken = self._brake.put_off(self._which, taken)
        return taken

    def answered(self) -> None:
        """What was called works. Costs nothing unless failures were counted."""
        prober, breaker, began_at = self._prober, self._brake.find(self._which), self._began_at
        self._prober = None
        took = datetime.now(UTC) - began_at if began_at else None

        def change(breaker: Breaker, now: datetime) -> Breaker:
            return succeed(breaker, prober, now - took if took is not None else None)

        if prober is not None or (breaker is not None and succeed(breaker, None, began_at) != breaker):
            self._brake.change_soon(self._which, change)

    def failed(self, code: str, retry_after_s: float | None = None) -> Breaker:
        """It does not work; what its breaker is now. All calls of this process know at once, others in a moment."""
        fault, patience, prober = Fault(code, retry_after_s, self._about), self._brake.patience, self._prober
        self._prober = None
        breaker = self._brake.find(self._which) or Breaker(self._which.name)

        def change(breaker: Breaker, now: datetime) -> Breaker:
            return fail(breaker, fault, now, patience, prober)

        if prober is None and change(breaker, datetime.now(UTC)) == breaker:
            return breaker  # It tells nobody anything new. A probe's end always does, whatever is known here.
        return self._brake.change_soon(self._which, change)

    def leave(self) -> None:
        """Nothing came of the call that would speak for or against what was called: another may probe."""
        prober, self._prober = self._prober, None
        if prober is not None:
            self._brake.change_soon(self._which, lambda breaker, now: leave_probe(breaker, prober, now))
