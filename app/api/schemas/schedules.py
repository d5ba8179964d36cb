"""The shapes of schedules."""

from datetime import datetime
from typing import Any, Literal

from app.api.schemas.shape import Page, Shape
from app.domain.schedules import Missed, Outcome, Overlap, PauseReason
from app.domain.states import RunStatus


class FiringRun(Shape):
    """The run of a time."""

    id: str
    """Its id."""
    status: RunStatus | None
    """What it is doing; null when it has been deleted."""
    url: str
    """Where it is."""


class FiringError(Shape):
    """Why there is no run of a time."""

    code: str
    """What was wrong, as `POST /v1/jobs` would have answered; `internal_error` for a fault of the service."""
    message: str
    """The same in words."""


class Firing(Shape):
    """What has become of a time of a schedule."""

    time: datetime
    """The time that is meant."""
    at: datetime
    """When that was seen to, the last time where it was tried again."""
    by_hand: bool
    """Whether a client had it run, out of turn."""
    outcome: Outcome
    """`fired`: there is a run. `missed`: the time was over before anybody saw to it. `overlapped`: the run before had
    not ended. `refused`: the job could not be taken."""
    run: FiringRun | None
    """The run; null where there is none."""
    error: FiringError | None
    """Why the job was refused; null unless it was."""


class ScheduleLinks(Shape):
    """Where a schedule is."""

    self: str
    """The schedule."""


class Schedule(Shape):
    """A job that comes at times of its own."""

    id: str
    """Its id."""
    object: Literal["schedule"]
    """Always `schedule`."""
    name: str | None
    """What it is for, for people."""
    status: Literal["active", "paused", "ended"]
    """`ended`: no time of it comes any more."""
    cron: str | None
    """When it runs: a cron expression; null for one that runs once."""
    timezone: str
    """The time zone that the expression is read in."""
    once: datetime | None
    """When it runs, for one that runs once; null for the others."""
    missed: Missed
    """What becomes of times that nobody was there for, as the service was down or the schedule paused: nothing
    (`skip`), or one run for all of them (`run_once`)."""
    overlap: Overlap
    """What becomes of a time at which the run before has not ended: another run (`allow`), or nothing (`skip`)."""
    job: dict[str, Any] | None
    """The job as it was sent, without what its inputs hold and without secrets; null in a list."""
    next_at: datetime | None
    """When it runs next, which is never over; null while it is paused, and after its end."""
    next_times: list[datetime] | None
    """The times that come, five at most; null in a list."""
    firings: list[Firing] | None
    """What has become of its newest times, the newest first, 20 at most; null in a list."""
    paused_at: datetime | None
    """Since when it is paused; null while it is not."""
    pause_reason: PauseReason | None
    """`client`: somebody has paused it. `refused`: its job was refused ten times in a row. Null while it is not
    paused."""
    key: str | None
    """Id of the key that its runs count for: of who made it, or has resumed it since, or changed more than its name.
    Null without keys."""
    created_at: datetime
    """When it was made."""
    updated_at: datetime
    """When it was last changed by a client."""
    links: ScheduleLinks
    """Where it is."""


class SchedulePage(Page):
    """Schedules, newest first."""

    data: list[Schedule]
    """Schedules."""
