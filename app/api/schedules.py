"""Schedules: jobs that come at times of their own."""

import re
from collections.abc import Collection
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Query, Request
from starlette.responses import JSONResponse, Response

from app.api.bodies import JsonBodyRoute
from app.api.deps import Key, WaitSeconds, if_match
from app.api.errors import Refusal
from app.api.jobs import ENDED, OriginOf, answer_with_run
from app.api.resources import Resource, instant, page
from app.api.schedule_jobs import ScheduleNotFound, scheduled_run
from app.api.schedule_terms import (
    ScheduleChanges,
    ScheduleWanted,
    changed_terms,
    key_after,
    key_of,
    wanted_terms,
)
from app.api.schemas.runs import Run
from app.api.schemas.schedules import Schedule, SchedulePage
from app.api.schemas.service import PROBLEMS
from app.api.visits import Visit, VisitOf, tell_of_run
from app.domain.schedules import AT_MOST
from app.store import schedules as stored
from app.store.acceptance import accept, accepted_before
from app.store.firings import Firing, firings_of, note_run_by_hand
from app.store.idempotency import IdempotencyKey
from app.store.schedule_rows import Schedule as StoredSchedule

router = APIRouter(prefix="/v1/schedules", route_class=JsonBodyRoute, tags=["schedules"], responses=PROBLEMS)

TIMES_SHOWN = 5
FIRINGS_SHOWN = 20
_ID = re.compile(r"sch_[0-9a-z]{1,64}")

After = Annotated[str | None, Query(max_length=500, description="`next_cursor` of the page before.")]
PageLimit = Annotated[int, Query(ge=1, le=100, description="Schedules of a page.")]


async def _schedule_id(schedule_id: Annotated[str, Path(description="Id of a schedule.")]) -> str:
    if not _ID.fullmatch(schedule_id):
        raise ScheduleNotFound
    return schedule_id


ScheduleId = Annotated[str, Depends(_schedule_id)]


Meant = Annotated[
    Collection[int] | None,
    if_match("ETag of the schedule that was read: 412 when a client has changed it since."),
]


@router.post(
    "",
    status_code=201,
    response_model=Schedule,
    responses={200: {"model": Schedule, "description": "The schedule that the `Idempotency-Key` has made before."}},
)
async def create_a_schedule(visit: VisitOf, body: ScheduleWanted, key: Key, origin: OriginOf) -> Response:
    """Have a job run again and again, by a cron expression in a time zone, or once at a moment.

    The job is held against all that `POST /v1/jobs` holds it against, now and at each of its times; what is wrong with
    it is told with pointers under `/job`. Each time is a job with a run of its own, which says where it comes from
    (`schedule`). A tenant has at most 1,000 schedules. `Idempotency-Key` works as for jobs.
    """
    meant = await key_of(key, body)
    before = await stored.schedule_made_before(visit.database, visit.tenant, meant) if meant else None
    if before is not None:
        return await _answer(visit, before, replayed=True)
    terms, first = await wanted_terms(visit, body, origin)
    made = await stored.create_schedule(
        visit.database, visit.tenant, terms, first, made_with=visit.caller.key, key=meant
    )
    if made is None:
        raise Refusal(409, "schedules_too_many", f"There are {AT_MOST} schedules, the most that there may be.")
    schedule, is_new = made
    return await _answer(visit, schedule, replayed=not is_new, created=is_new)


@router.get("", response_model=SchedulePage)
async def list_schedules(visit: VisitOf, after: After = None, limit: PageLimit = 20) -> Response:
    """The schedules of the tenant, newest first, without their jobs and times."""
    if after is not None and not _ID.fullmatch(after):
        raise Refusal(400, "cursor_invalid", "The cursor is not one that this service gave out.")
    found = await stored.page_of_schedules(visit.database, visit.tenant, after, limit=limit + 1)
    shown = found[:limit]
    return JSONResponse(page([_resource(each) for each in shown], shown[-1].id if len(found) > limit else None))


@router.get("/{schedule_id}", response_model=Schedule)
async def get_a_schedule(schedule_id: ScheduleId, visit: VisitOf) -> Response:
    """One schedule, with the times that come next and what has become of the newest ones."""
    return await _answer(visit, await _existing(visit, schedule_id))


@router.patch("/{schedule_id}", response_model=Schedule)
async def change_a_schedule(
    schedule_id: ScheduleId, visit: VisitOf, meant: Meant, body: ScheduleChanges, origin: OriginOf
) -> Response:
    """Change a schedule. A `job` takes the place of the whole one; other times begin now.

    With `If-Match` the schedule is changed as it was read, and not when a client has changed it since (412). What
    changes nothing leaves its `ETag` as it is. Whoever changes more than its name has its runs count for their key.
    """
    schedule = await _existing(visit, schedule_id)
    while meant is None or schedule.version in meant:
        terms, next_at = await changed_terms(visit, schedule, body, origin)
        if terms == schedule.terms:
            return await _answer(visit, schedule)
        key = key_after(schedule, terms, visit.caller.key)
        changed = await stored.change_schedule(visit.database, visit.tenant, schedule, terms, next_at, key=key)
        if changed is not None:
            return await _answer(visit, changed)
        schedule = await _existing(visit, schedule_id)  # Somebody else was faster.
    raise Refusal(412, "schedule_changed", "The schedule has been changed since it was read.")


@router.delete("/{schedule_id}", status_code=204)
async def delete_a_schedule(schedule_id: ScheduleId, visit: VisitOf) -> Response:
    """Delete a schedule. Its runs stay, and go on."""
    if not await stored.delete_schedule(visit.database, visit.tenant, schedule_id):
        raise ScheduleNotFound
    return Response(status_code=204)


@router.post("/{schedule_id}/pause", response_model=Schedule)
async def pause_a_schedule(schedule_id: ScheduleId, visit: VisitOf) -> Response:
    """Pause a schedule: none of its times becomes a run. Runs go on. Repeating it changes nothing."""
    return await _answer(visit, _found(await stored.pause_schedule(visit.database, visit.tenant, schedule_id)))


@router.post("/{schedule_id}/resume", response_model=Schedule)
async def resume_a_schedule(schedule_id: ScheduleId, visit: VisitOf) -> Response:
    """Let a schedule go on that is paused. What came meanwhile was missed: `missed` says what becomes of that.

    Its runs count for the key of who resumes it. Repeating it changes nothing.
    """
    key = visit.caller.key
    return await _answer(
        visit, _found(await stored.resume_schedule(visit.database, visit.tenant, schedule_id, key=key))
    )


@router.post(
    "/{schedule_id}/run", status_code=202, response_model=Run, responses={200: {"model": Run, "description": ENDED}}
)
async def run_a_schedule(
    request: Request, schedule_id: ScheduleId, visit: VisitOf, key: Key, wait_s: WaitSeconds, origin: OriginOf
) -> Response:
    """Have the job of a schedule run now, whether it is paused or not, and answer with the run.

    Its times stay as they are, and `overlap` does not count. `Idempotency-Key` and `Prefer: wait=N` work as for jobs.
    """
    await _existing(visit, schedule_id)
    meant = IdempotencyKey(key, f"POST {request.url.path}", "") if key is not None else None
    accepted = await accepted_before(visit.database, visit.tenant, meant) if meant else None
    if accepted is None:
        now = await stored.moment(visit.database)
        new = await scheduled_run(visit, schedule_id, now, origin)
        accepted = await accept(visit.database, visit.tenant, new, key=meant)
        if not accepted.replayed:
            await note_run_by_hand(visit.database, schedule_id, accepted.run_id, now)
    tell_of_run(request, accepted)
    return await answer_with_run(visit, accepted, wait_s)


async def _existing(visit: Visit, schedule_id: str) -> StoredSchedule:
    """The schedule. Raises `Refusal`."""
    return _found(await stored.find_schedule(visit.database, visit.tenant, schedule_id))


def _found(schedule: StoredSchedule | None) -> StoredSchedule:
    if schedule is None:
        raise ScheduleNotFound
    return schedule


async def _answer(visit: Visit, schedule: StoredSchedule, *, replayed: bool = False, created: bool = False) -> Response:
    """The whole schedule."""
    resource = _resource(schedule)
    times = schedule.upcoming(TIMES_SHOWN)
    firings = await firings_of(visit.database, schedule.id, limit=FIRINGS_SHOWN)
    resource["next_times"] = [instant(at) for at in times]
    resource["firings"] = [_firing_resource(each) for each in firings]
    headers = {"ETag": f'"{schedule.version}"'}
    if created or replayed:
        headers["Location"] = resource["links"]["self"]
    if replayed:
        headers["Idempotent-Replayed"] = "true"
    return JSONResponse(resource, 201 if created else 200, headers)


def _resource(schedule: StoredSchedule) -> Resource:
    """A schedule as a list shows it."""
    terms, times = schedule.terms, schedule.upcoming(1)
    status = "paused" if schedule.paused_at else "active" if schedule.next_at else "ended"
    return {
        "id": schedule.id,
        "object": "schedule",
        "name": terms.name,
        "status": status,
        "cron": terms.timing.cron,
        "timezone": terms.timing.timezone,
        "once": instant(terms.timing.once),
        "missed": terms.policy.missed,
        "overlap": terms.policy.overlap,
        "job": terms.job and terms.job.told,
        "next_at": instant(times[0]) if times else None,
        "next_times": None,
        "firings": None,
        "paused_at": instant(schedule.paused_at),
        "pause_reason": schedule.pause_reason,
        "key": schedule.key,
        "created_at": instant(schedule.created_at),
        "updated_at": instant(schedule.updated_at),
        "links": {"self": f"/v1/schedules/{schedule.id}"},
    }


def _firing_resource(firing: Firing) -> dict[str, Any]:
    result = firing.result
    run = {"id": result.run_id, "status": firing.run_status, "url": f"/v1/runs/{result.run_id}"}
    return {
        "time": instant(firing.due),
        "at": instant(firing.at),
        "by_hand": firing.by_hand,
        "outcome": result.outcome,
        "run": run if result.run_id else None,
        "error": {"code": result.code, "message": result.detail} if result.code else None,
    }
