"""Schedules: jobs that come at times of their own, and what becomes of each of these times."""

import hashlib
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal, get_args

from pydantic import BaseModel, ConfigDict

from app.domain.cron import next_after

Missed = Literal["skip", "run_once"]
"""What becomes of times that nobody was there for: nothing, or one run for all of them."""
Overlap = Literal["allow", "skip"]
"""What becomes of a time at which the run before it has not ended: a run beside it, or nothing."""
PauseReason = Literal["client", "refused"]
"""Why a schedule is paused: a client wanted it, or its job was refused too often."""
Outcome = Literal["fired", "missed", "overlapped", "refused"]
"""What became of a time: a run; nothing, since it was over, or since the run before had not ended; or a refusal."""
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)

GRACE = timedelta(seconds=60)
"""From when on a time that is over counts as missed: a restart takes less."""
AGAIN = timedelta(seconds=60)
"""After which a time is tried again at which the job was refused for something that passes."""
REFUSALS = 10
"""Refusals in a row after which a schedule is paused. What would be the same every time is not tried for ever."""
AT_MOST = 1_000
"""Schedules of a tenant."""
_ID_DIGITS = 32


class ScheduledFor(BaseModel):
    """The schedule that a run comes from, and the time that it is for."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)

    id: str
    """Id of the schedule. It may be deleted while the run is kept."""
    time: datetime
    """The time that was named; when the schedule was run by hand, that moment."""


@dataclass(frozen=True, slots=True)
class Timing:
    """When a schedule has its times: by a cron expression in a zone, or once."""

    cron: str | None
    timezone: str
    once: datetime | None

    def after(self, moment: datetime) -> datetime | None:
        """The first time behind `moment`; None when none comes."""
        if self.cron is not None:
            return next_after(self.cron, self.timezone, moment)
        return self.once if self.once is not None and self.once > moment else None

    def upcoming(self, first: datetime | None, count: int) -> list[datetime]:
        """`first` and the times behind it, `count` at most."""
        times = [first] if first is not None else []
        while times and len(times) < count and (following := self.after(times[-1])) is not None:
            times.append(following)
        return times


@dataclass(frozen=True, slots=True)
class Policy:
    """What is to become of a time at which not all is as it should be."""

    missed: Missed
    overlap: Overlap


def outcome_of(due: datetime, now: datetime, policy: Policy, *, busy: bool) -> Outcome:
    """What is to become of the time `due` now, unless the job is refused; `busy` says that the run before goes on."""
    if _is_late(due, now) and policy.missed == "skip":
        return "missed"
    return "overlapped" if busy and policy.overlap == "skip" else "fired"


def time_after(timing: Timing, due: datetime, now: datetime, policy: Policy) -> datetime | None:
    """The time behind `due`, of which something has become: the next one that is not missed by now.

    One run stands for all times that were missed together, so that what follows it lies ahead.
    """
    stands_for_all = _is_late(due, now) and policy.missed == "run_once"
    return timing.after(max(due, now if stands_for_all else now - GRACE))


def waits(outcome: Outcome, policy: Policy, *, passes: bool) -> bool:
    """Whether a time is tried again, as itself, until what kept its job from being taken has passed.

    Whoever leaves missed times out waits for the next one instead.
    """
    return outcome == "refused" and passes and policy.missed == "run_once"


def time_resumed(timing: Timing, due: datetime, now: datetime, policy: Policy) -> datetime | None:
    """The time that a schedule goes on with whose pause ends now: times that came in it were missed, however short it
    was."""
    return timing.after(now) if due <= now and policy.missed == "skip" else due


def _is_late(due: datetime, now: datetime) -> bool:
    return now - due >= GRACE


def refusals_after(before: int, outcome: Outcome, *, passes: bool) -> int:
    """Refusals in a row after a further time; `passes` says that what kept its job from being taken will pass."""
    if outcome == "fired":
        return 0
    return before + 1 if outcome == "refused" and not passes else before


def run_id_for(schedule: str, due: datetime) -> str:
    """The id of the run that a schedule has at a time: whoever makes it, however often, makes that one."""
    told = f"{schedule} {due.timestamp():.6f}"
    return f"run_{hashlib.sha256(told.encode()).hexdigest()[:_ID_DIGITS]}"
