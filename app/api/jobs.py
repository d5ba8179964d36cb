"""Taking in jobs."""

import hashlib
import json
from datetime import UTC, datetime
from typing import Annotated

import uuid_utils
from fastapi import APIRouter, Query
from starlette.responses import JSONResponse, Response

from app.api.bodies import JsonBodyRoute
from app.api.deps import Key, RuntimeOf, WaitSeconds
from app.api.errors import Refusal
from app.api.findings import FINDINGS_SHOWN
from app.api.resources import run_resource
from app.api.schemas import PROBLEMS, Run
from app.api.waiting import run_settled
from app.domain.job import Job, Limits
from app.domain.plan import Plan, validated
from app.domain.states import TERMINAL_RUN
from app.domain.team import Team
from app.runtime import TENANT
from app.store.intake import IdempotencyKey, NewRun, accept
from app.store.teams import team_named

router = APIRouter(route_class=JsonBodyRoute, tags=["jobs"], responses=PROBLEMS)

DryRun = Annotated[
    bool,
    Query(
        description="Not offered: a job that asks for it is refused, never executed.",
        json_schema_extra={"const": False},
    ),
]


@router.post(
    "/v1/jobs",
    status_code=202,
    response_model=Run,
    responses={200: {"model": Run, "description": "The run ended within the time of `Prefer: wait=N`."}},
)
async def accept_job(job: Job, runtime: RuntimeOf, key: Key, wait_s: WaitSeconds, dry_run: DryRun = False) -> Response:
    """Accept a job and answer with its run.

    With an `Idempotency-Key` the same request makes one run however often it is sent, and another body under the same
    key is refused. `Prefer: wait=N` waits up to N seconds, at most 60, for the end.
    """
    if dry_run:
        raise Refusal(422, "dry_run_not_offered", "Dry runs are not offered; the job was not executed.")
    team = await team_named(runtime.database, TENANT, job.team)
    if team is None:
        raise _team_unknown()
    limits = job.limits.applied_to(team.team.limits)
    new = NewRun(f"run_{uuid_utils.uuid7().hex}", job, team, limits, _own_plan(job, team.team, limits))
    accepted = await accept(runtime.database, runtime.queue, TENANT, new, key=_scoped(key, job))
    row = await run_settled(runtime, accepted.run_id, TERMINAL_RUN, wait_s or 0)
    assert row is not None
    ended = wait_s is not None and row["status"] in TERMINAL_RUN
    headers = _headers(accepted.run_id, replayed=accepted.replayed, wait_s=wait_s, ended=ended)
    return JSONResponse(run_resource(row, datetime.now(UTC)), 200 if ended else 202, headers)


def _headers(run_id: str, *, replayed: bool, wait_s: int | None, ended: bool) -> dict[str, str]:
    headers = {"Location": f"/v1/runs/{run_id}", "Vary": "Prefer"}
    if replayed:
        headers["Idempotent-Replayed"] = "true"
    if wait_s is not None:
        headers["Preference-Applied"] = f"wait={wait_s}"
    if not ended:
        headers["Retry-After"] = "1"
    return headers


def _scoped(key: str | None, job: Job) -> IdempotencyKey | None:
    if key is None:
        return None
    # Without defaults: a field that a later release adds leaves the digest of an older body as it is.
    canonical = json.dumps(job.model_dump(mode="json", exclude_defaults=True), sort_keys=True)
    return IdempotencyKey(key, "POST /v1/jobs", hashlib.sha256(canonical.encode()).hexdigest())


def _own_plan(job: Job, team: Team, limits: Limits) -> Plan | None:
    """The client's plan as the run will follow it. Raises `Refusal` when nothing could follow it."""
    if job.plan is None:
        return None
    plan = validated(job.plan, [worker.name for worker in team.workers], limits.tasks)
    if plan.validation.errors:
        errors = [
            {"pointer": f"/plan{finding.pointer}", "detail": finding.detail, "code": finding.code}
            for finding in plan.validation.errors[:FINDINGS_SHOWN]
        ]
        raise Refusal(422, "plan_invalid", "The plan cannot be carried out.", errors=errors)
    return plan.model_copy(update={"revision": 1})


def _team_unknown() -> Refusal:
    errors = [{"pointer": "/team", "detail": "There is no team of this name and version."}]
    return Refusal(422, "team_unknown", "The job names a team that is not known.", errors=errors)
