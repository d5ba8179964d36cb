"""The jobs of schedules: held against all that a job is held against, when the schedule is made and at each time."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from typing import Any

from app.api.errors import FieldError, Refusal
from app.api.jobs import new_run
from app.api.visits import Visit
from app.domain.errors import JobRefused
from app.domain.job import Job, JobInput
from app.domain.masking import masked
from app.domain.plan import Plan
from app.domain.schedules import ScheduledFor
from app.store.acceptance import NewRun, Origin
from app.store.projection import as_json
from app.store.schedule_rows import Schedule, StoredJob
from app.store.schedules import job_of_schedule

_PLACE = "/job"
_TEXTS = ("objective", "rubric", "metadata")
"""What is masked of a job, beside its plan and its inputs."""


class ScheduleNotFound(Refusal):
    """The tenant has no such schedule; whether another has is not told."""

    def __init__(self) -> None:
        super().__init__(404, "schedule_not_found", "There is no such schedule.")


async def job_to_store(visit: Visit, job: Job, origin: Origin) -> StoredJob:
    """A job that could be taken now, as it is stored with a schedule. Raises `Refusal`, `JobRefused`, at `/job`."""
    with _about_the_job():
        new = await new_run(visit, job, origin)
    kept = masked(job, inputs=new.team.team.mask_inputs)
    told = kept.model_dump(mode="json", exclude_defaults=True, exclude={"inputs", "webhook"})
    told = {"objective": kept.objective, "team": kept.team} | told
    if kept.inputs:
        told["inputs"] = [
            {"name": each.name, "media_type": each.media_type, "characters": len(each.content)} for each in kept.inputs
        ]
    if new.webhook is not None:
        told["webhook"] = {"url": new.webhook.url}
    secret = new.webhook.secret if new.webhook else None
    return StoredJob(told, [each.content for each in kept.inputs], secret)


async def is_job_of(visit: Visit, schedule: Schedule, sent: StoredJob) -> bool:
    """Whether a job is the one that a schedule has already. One with a secret counts as another: it is sealed anew."""
    has = schedule.terms.job
    if has is None or as_json(has.told) != as_json(sent.told) or has.webhook_secret or sent.webhook_secret:
        return False
    if not sent.contents:
        return True
    stored = await job_of_schedule(visit.database, schedule.id)
    return stored is not None and stored.contents == sent.contents


async def scheduled_run(visit: Visit, schedule_id: str, time: datetime, origin: Origin) -> NewRun:
    """The run that a schedule is to have for a time. Raises `Refusal`, `JobRefused`.

    The team is the one that bears the name now, unless the job names a version of it.
    """
    stored = await job_of_schedule(visit.database, schedule_id)
    if stored is None or stored.contents is None:
        raise ScheduleNotFound
    with _about_the_job():
        new = await new_run(visit, _job_in(stored.told, stored.contents), origin)
    return replace(new, schedule=ScheduledFor(id=schedule_id, time=time), webhook=stored.webhook)


def _job_in(told: Mapping[str, Any], contents: Sequence[str]) -> Job:
    """A job as it was stored. It was held to the limits of length before it was masked: a mark may be longer than what
    it stands for, so that none of them is held against its texts again."""
    texts = {name: told[name] for name in _TEXTS if name in told}
    rest = {name: value for name, value in told.items() if name not in (*_TEXTS, "plan", "inputs", "webhook")}
    plan = Plan.model_validate(told["plan"]) if "plan" in told else None
    inputs = tuple(
        JobInput.model_construct(name=each["name"], media_type=each["media_type"], content=content)
        for each, content in zip(told.get("inputs", ()), contents, strict=True)
    )
    job = Job.model_validate(rest | {"objective": "Masked."})
    return job.model_copy(update=texts | {"plan": plan, "inputs": inputs})


@contextmanager
def _about_the_job() -> Iterator[None]:
    """Say of what is wrong with a job where that stands in the body."""
    try:
        yield
    except Refusal as refused:
        headers = dict(refused.headers) if refused.headers else None
        errors = [_within(error) for error in refused.errors]
        raise Refusal(refused.status_code, refused.code, refused.detail, errors=errors, headers=headers) from None
    except JobRefused as refused:
        errors_of_job = tuple((_PLACE + pointer, detail) for pointer, detail in refused.errors)
        raise JobRefused(refused.code, refused.detail, errors_of_job) from None


def _within(error: FieldError) -> FieldError:
    return {**error, "pointer": _PLACE + error["pointer"]} if "pointer" in error else error
