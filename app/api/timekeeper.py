"""The timekeeper: has the jobs of schedules taken when their times come, as if a client had posted them.

Every process that serves the API has one. Who comes first sees to a time; if it dies over that, another one does, and
finds the run that is there. In between it sleeps until the next time there is, or until it hears of an earlier one.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from http import HTTPStatus

import structlog

from app.api.errors import Refusal, intake_paused, limit_reached
from app.api.schedule_jobs import scheduled_run
from app.api.visits import Visit
from app.domain.errors import IntakePaused, JobRefused, LimitReached, place_of
from app.domain.keys import SCOPES, Caller
from app.domain.schedules import AGAIN, REFUSALS, outcome_of, refusals_after, run_id_for, time_after, waits
from app.runtime import Runtime
from app.store.acceptance import Origin, accept
from app.store.database import TROUBLE
from app.store.firings import DueSchedule, Result, Sequel, is_there, seconds_to_next, settle_time, take_due
from app.store.limits import find_quotas

log = structlog.get_logger(__name__)

AT_ONCE = 5
"""Times that one process sees to together: each holds what its job was given to work on."""
LEASE_S = 30.0
"""Seconds after which one that is not settled is somebody else's."""
LONGEST_SLEEP_S = 30.0
"""A wake-up may be lost, and what is late by more than a minute counts as missed."""
SHORTEST_SLEEP_S = 0.02
"""Another process may be about to take what is due."""
PASSING = (HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE)
"""Statuses of refusals that pass by themselves: no schedule is paused for them."""
BROKEN = "A fault of this service kept the job from being taken; its log says more."


class Timekeeper:
    """Sees to the times of schedules in one process."""

    def __init__(self, runtime: Runtime, visit_of: Callable[[Caller], Visit]) -> None:
        self._runtime = runtime
        self._visit_of = visit_of

    async def keep_forever(self) -> None:
        """See to what is due whenever a time has come, or there is news."""
        news = self._runtime.schedule_news
        while True:
            news.clear()
            await self._see_to_all()
            with suppress(TimeoutError):
                async with asyncio.timeout(await self._sleep_s()):
                    await news.wait()

    async def _sleep_s(self) -> float:
        if self._runtime.draining.is_set():
            return LONGEST_SLEEP_S
        seconds = await seconds_to_next(self._runtime.database)
        return LONGEST_SLEEP_S if seconds is None else min(max(seconds, SHORTEST_SLEEP_S), LONGEST_SLEEP_S)

    async def _see_to_all(self) -> None:
        database = self._runtime.database
        while not self._runtime.draining.is_set() and (
            taken := await take_due(database, room=AT_ONCE, lease_s=LEASE_S)
        ):
            ends = await asyncio.gather(*(self._see_to(due) for due in taken), return_exceptions=True)
            broken = [(due, error) for due, error in zip(taken, ends, strict=True) if error is not None]
            for due, error in broken:
                if isinstance(error, TROUBLE):
                    raise error  # Whoever takes it next finds what was done.
                log.error("schedule broke", schedule=due.id, error=type(error).__name__, where=place_of(error))
            # Its client is told, and it goes on; one that breaks at that too is left to whoever takes it next.
            await asyncio.gather(*(self._give_up(due) for due, _ in broken), return_exceptions=True)

    async def _see_to(self, due: DueSchedule) -> None:
        result, passes = await self._result_of(due)
        await self._settle(due, result, passes=passes)

    async def _give_up(self, due: DueSchedule) -> None:
        await self._settle(due, Result("refused", None, "internal_error", BROKEN), passes=False)

    async def _settle(self, due: DueSchedule, result: Result, *, passes: bool) -> None:
        run_id = run_id_for(due.id, due.due)
        if result.run_id is None and await is_there(self._runtime.database, run_id):
            # Somebody may have died after it was there. A limit may be reached by that very run.
            result = Result("fired", run_id)
        sequel = _sequel(due, result, passes=passes)
        await settle_time(self._runtime.database, due, result, sequel)
        late_s = (due.now - due.due).total_seconds()
        self._runtime.database.witness.heard_firing(result.outcome, late_s)
        told = {"schedule": due.id, "tenant": due.tenant, "time": due.due.isoformat(), "late_s": round(late_s, 3)}
        if result.outcome == "fired":
            log.info("schedule fired", run_id=result.run_id, **told)
        else:
            log.warning("schedule not fired", outcome=result.outcome, code=result.code, paused=sequel.pauses, **told)

    async def _result_of(self, due: DueSchedule) -> tuple[Result, bool]:
        """What becomes of a time, and whether what kept its job from being taken passes by itself."""
        outcome = outcome_of(due.due, due.now, due.terms.policy, busy=due.busy)
        if outcome != "fired":
            return Result(outcome), False
        run_id = run_id_for(due.id, due.due)
        try:
            await self._take_job(due, run_id)
        except JobRefused as refused:
            return Result("refused", None, refused.code, refused.detail), False
        except Refusal as refused:
            return Result("refused", None, refused.code, refused.detail), refused.status_code in PASSING
        return Result("fired", run_id), False

    async def _take_job(self, due: DueSchedule, run_id: str) -> None:
        """Have the run of a time accepted, once however often that is tried. Raises `Refusal`, `JobRefused`."""
        await self._runtime.welcome(due.tenant)
        visit = self._visit_of(Caller(due.tenant, frozenset(SCOPES), due.key))
        quotas = await find_quotas(self._runtime.database, due.tenant, due.key)
        new = await scheduled_run(visit, due.id, due.due, Origin(key=due.key, quotas=quotas))
        try:
            await accept(self._runtime.database, due.tenant, replace(new, run_id=run_id))
        except LimitReached as reached:
            raise limit_reached(reached) from None
        except IntakePaused:
            raise intake_paused() from None


def _sequel(due: DueSchedule, result: Result, *, passes: bool) -> Sequel:
    """How the schedule goes on; `passes` says that what kept its job from being taken passes by itself."""
    policy = due.terms.policy
    refusals = refusals_after(due.refusals, result.outcome, passes=passes)
    if waits(result.outcome, policy, passes=passes):
        return Sequel(due.due, due.now + AGAIN, refusals, pauses=False)
    next_at = time_after(due.terms.timing, due.due, due.now, policy)
    return Sequel(next_at, next_at, refusals, pauses=refusals >= REFUSALS)
