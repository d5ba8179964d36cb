"""What clients say of a schedule, and what becomes of that: terms, and a first time that lies ahead."""

import asyncio
from dataclasses import replace
from datetime import datetime
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field
from pydantic_core import PydanticCustomError

from app.api.errors import Refusal
from app.api.jobs import digest_of
from app.api.moments import read_moment
from app.api.schedule_jobs import is_job_of, job_to_store
from app.api.visits import Visit
from app.domain.cron import LONGEST, checked_cron, checked_zone
from app.domain.job import Job, one_line
from app.domain.schedules import Missed, Overlap, Policy, Timing
from app.store.acceptance import Origin
from app.store.idempotency import IdempotencyKey
from app.store.schedule_rows import Schedule, StoredJob, Terms
from app.store.schedules import moment

_YEARS = 9_000
"""Moments behind that year have no place in every zone."""


def _moment(value: Any) -> datetime:
    at: datetime | None = None
    try:
        at = read_moment(value if isinstance(value, str) else "")
    except ValueError:
        raise PydanticCustomError("moment_invalid", "This must be a moment with its time zone (RFC 3339).") from None
    except OverflowError:
        pass
    if at is None or at.year >= _YEARS:
        raise PydanticCustomError("moment_invalid", "This moment lies too far ahead.")
    return at


Cron = Annotated[str, Field(max_length=LONGEST), AfterValidator(checked_cron)]
Zone = Annotated[str, Field(max_length=LONGEST), AfterValidator(checked_zone)]
Moment = Annotated[datetime, BeforeValidator(_moment)]
Name = Annotated[str, Field(min_length=1, max_length=200), AfterValidator(one_line)]


class _Body(BaseModel):
    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True, extra="forbid")


class Times(_Body):
    """A schedule without its job."""

    name: Name | None = None
    """What it is for, for people."""
    cron: Cron | None = None
    """When the job is to run: minute, hour, day of the month, month and day of the week, as in `0 9 * * 1-5`. Either
    this or `once` is sent."""
    timezone: Zone = "UTC"
    """The time zone that `cron` is read in, by its name in the IANA database."""
    once: Moment | None = None
    """The one moment at which the job is to run (RFC 3339)."""
    missed: Missed | None = None
    """What becomes of times that nobody was there for: `skip` (nothing) or `run_once` (one run for all of them). Left
    out or null: `skip` with `cron`, `run_once` with `once`."""
    overlap: Overlap = "allow"
    """What becomes of a time at which the run before has not ended: `allow` (another run) or `skip` (nothing)."""


class ScheduleWanted(Times):
    """A schedule that is to be made."""

    job: Job
    """The job, as `POST /v1/jobs` takes it."""


def _left_out() -> Any:
    """Stands for a field that was not sent, and may not be null."""
    return None


class ScheduleChanges(_Body):
    """What is to be different about a schedule; what is left out stays as it is."""

    name: Name | None = None
    """What it is for; null for nothing."""
    cron: Cron | None = None
    """Another expression; a schedule that was to run once is one with `cron` then. Null beside a `once`, and nowhere
    else."""
    timezone: Zone = Field(default_factory=_left_out)
    """Another time zone for `cron`."""
    once: Moment | None = None
    """Another moment; a schedule with `cron` runs once then. Null beside a `cron`, and nowhere else."""
    missed: Missed = Field(default_factory=_left_out)
    """What else becomes of times that nobody was there for."""
    overlap: Overlap = Field(default_factory=_left_out)
    """What else becomes of a time at which the run before has not ended."""
    job: Job = Field(default_factory=_left_out)
    """Another job, in the place of the whole one so far."""


async def wanted_terms(visit: Visit, wanted: ScheduleWanted, origin: Origin) -> tuple[Terms, datetime]:
    """The terms of a new schedule, and its first time. Raises `Refusal`, `JobRefused`."""
    timing = Timing(wanted.cron, wanted.timezone, wanted.once)
    first = await _first_time(visit, timing)
    policy = Policy(wanted.missed or ("run_once" if wanted.once else "skip"), wanted.overlap)
    return Terms(wanted.name, timing, policy, await job_to_store(visit, wanted.job, origin)), first


async def changed_terms(
    visit: Visit, read: Schedule, changes: ScheduleChanges, origin: Origin
) -> tuple[Terms, datetime | None]:
    """The terms of a schedule with these changes, and its next time where that is another one. Raises `Refusal`,
    `JobRefused`."""
    terms = read.terms
    timing = _timing_with(terms.timing, changes)
    next_at = await _first_time(visit, timing) if timing != terms.timing else None
    return replace(
        terms,
        name=changes.name if "name" in changes.model_fields_set else terms.name,
        timing=timing,
        policy=Policy(changes.missed or terms.policy.missed, changes.overlap or terms.policy.overlap),
        job=await _job_with(visit, read, changes, origin),
    ), next_at


async def _job_with(visit: Visit, read: Schedule, changes: ScheduleChanges, origin: Origin) -> StoredJob | None:
    if "job" not in changes.model_fields_set:
        return read.terms.job
    sent = await job_to_store(visit, changes.job, origin)
    return read.terms.job if await is_job_of(visit, read, sent) else sent


def key_after(read: Schedule, terms: Terms, key: str | None) -> str | None:
    """The key that the runs of a schedule count for which `key` has given these terms: nobody has them count for
    somebody else, whose limits may be wider."""
    return read.key if replace(terms, name=read.terms.name) == read.terms else key


def _timing_with(timing: Timing, changes: ScheduleChanges) -> Timing:
    """Raises `Refusal`."""
    if changes.cron is not None and changes.once is not None:
        return Timing(changes.cron, timing.timezone, changes.once)  # Which is refused.
    if changes.cron is None and changes.once is None:
        for name in sorted(changes.model_fields_set & {"cron", "once"}):
            raise _refused(f"/{name}", "This is null only where the other one of `cron` and `once` is sent.")
    cron = changes.cron or (timing.cron if changes.once is None else None)
    once = changes.once or (timing.once if changes.cron is None else None)
    return Timing(cron, changes.timezone or timing.timezone, once)


async def _first_time(visit: Visit, timing: Timing) -> datetime:
    """The first time that lies ahead. Raises `Refusal` where there is none."""
    if (timing.cron is None) == (timing.once is None):
        raise _refused("/cron", "A schedule has either `cron` or `once`.")
    first = timing.after(await moment(visit.database))
    if first is None and timing.cron is not None:
        raise _refused("/cron", "No such time comes within the next 50 years.")
    if first is None:
        raise _refused("/once", "This moment is over.")
    return first


def _refused(pointer: str, detail: str) -> Refusal:
    errors = [{"pointer": pointer, "detail": detail}]
    return Refusal(422, "request_invalid", "The schedule would never run.", errors=errors)


async def key_of(key: str | None, wanted: ScheduleWanted) -> IdempotencyKey | None:
    """What says that a repetition of the request means the same schedule."""
    if key is None:
        return None
    times = Times.model_construct(**{name: getattr(wanted, name) for name in Times.model_fields})
    digest = f"{digest_of(times)} {await asyncio.to_thread(digest_of, wanted.job)}"
    return IdempotencyKey(key, "POST /v1/schedules", digest)
