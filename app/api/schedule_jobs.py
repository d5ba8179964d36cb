"""The jobs of schedules: held against all that a job is held against, when the schedule is made and at each time."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime

from app.api.errors import FieldError, Refusal
from app.api.jobs import new_run
from app.api.visits import Visit
from app.domain.errors import JobRefused
from app.domain.job import Job
from app.domain.masking import masked
from app.domain.schedules import ScheduledFor
from app.store.acceptance import NewRun, Origin
from app.store.schedule_rows import StoredJob
from app.store.schedules import job_of_schedule

_PLACE = "/job"


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


async def scheduled_run(visit: Visit, schedule_id: str, time: datetime, origin: Origin) -> NewRun:
    """The run that a schedule is to have for a time. Raises `Refusal`, `JobRefused`.

    The team is the one that bears the name now, unless the job names a version of it.
    """
    stored = await job_of_schedule(visit.database, schedule_id)
    if stored is None or stored.contents is None:
        raise ScheduleNotFound
    told = {name: value for name, value in stored.told.items() if name not in ("inputs", "webhook")}
    inputs = [
        {"name": each["name"], "media_type": each["media_type"], "content": content}
        for each, content in zip(stored.told.get("inputs", ()), stored.contents, strict=True)
    ]
    with _about_the_job():
        new = await new_run(visit, Job.model_validate(told | {"inputs": inputs}), origin)
    return replace(new, schedule=ScheduledFor(id=schedule_id, time=time), webhook=stored.webhook)


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
