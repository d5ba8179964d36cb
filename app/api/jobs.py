"""Taking in jobs."""

import asyncio
import hashlib
import json
from dataclasses import dataclass
from datetime import UTC, datetime
from difflib import get_close_matches
from itertools import zip_longest
from typing import Annotated
from uuid import uuid4

import uuid_utils
from fastapi import APIRouter, Depends, Query, Request
from pydantic import BaseModel
from starlette.responses import JSONResponse, Response

from app.api.deps import Key, Traceparent, WaitSeconds
from app.api.documents import refuse_false_documents
from app.api.dry_runs import DRY_RUN_WAIT_S, dry_run_answer
from app.api.errors import Refusal
from app.api.field_errors import FIELD_ERRORS_SHOWN, pointer_to
from app.api.forms import FORM_BODY, JobBodyRoute
from app.api.job_webhooks import own_webhook
from app.api.long_polls import check_room, has_room, run_settled
from app.api.resources import run_resource
from app.api.schemas.runs import DryRun, Run
from app.api.schemas.service import PROBLEMS
from app.api.templates import plan_of_template, wants_template
from app.api.visits import Visit, VisitOf, tell_of_run
from app.domain.crew import Crew
from app.domain.enlisting import checked
from app.domain.job import Job, Limits, dry, with_approval
from app.domain.json_shape import LONGEST_SCHEMA, Path, SchemaInvalid, check_schema
from app.domain.plan import Plan, PlanSource
from app.domain.states import TERMINAL_RUN
from app.domain.team import Team
from app.runtime import Runtime
from app.store.acceptance import Accepted, NewRun, Origin, accept, accepted_before
from app.store.database import OUTAGE
from app.store.idempotency import IdempotencyKey
from app.store.runs import Row
from app.store.teams import offered_teams, team_named

router = APIRouter(route_class=JobBodyRoute, tags=["jobs"], responses=PROBLEMS)

ENDED = "The run ended within the time of `Prefer: wait=N`; with `dry_run=true`: the plan and the quote."
PIECE_CHARACTERS = 64 * 1024
TEAMS_SHOWN = 10
SCHEMA_FAULT_CHARACTERS = 500


async def _origin(request: Request, visit: VisitOf, traceparent: Traceparent) -> Origin:
    return Origin(request.state.request_id, traceparent, visit.caller.key, visit.caller.quotas)


OriginOf = Annotated[Origin, Depends(_origin)]
IsDry = Annotated[bool, Query(description="Only plan the job, and say what it would take: nothing is executed.")]


@dataclass(frozen=True, slots=True)
class Terms:
    """How a client wants its job to be taken."""

    key: str | None
    """Under which repetitions are the same job."""
    wait_s: int | None
    """How long to wait for the end; None when it does not say."""
    dry_run: bool


async def _terms(key: Key, wait_s: WaitSeconds, dry_run: IsDry = False) -> Terms:
    return Terms(key, wait_s, dry_run)


TermsOf = Annotated[Terms, Depends(_terms)]


@router.post(
    "/v1/jobs",
    status_code=202,
    response_model=Run,
    responses={200: {"model": Run | DryRun, "description": ENDED}},
    openapi_extra=FORM_BODY,
)
async def accept_job(request: Request, visit: VisitOf, job: Job, terms: TermsOf, origin: OriginOf) -> Response:
    """Accept a job and answer with its run.

    With an `Idempotency-Key` the same request makes one run however often it is sent, and another body under the same
    key is refused. `Prefer: wait=N` waits up to N seconds, at most 60, for the end.

    As `multipart/form-data` the job stands in the part `job`, and each part `inputs` is a file that becomes one of its
    inputs: `curl -F job=@job.json -F inputs=@report.pdf`.

    With `dry_run=true` the job is planned and nothing is executed. The answer is the plan, the report of its validation
    and a quote (200), or why there is no plan (a problem with the `stop_reason` of the run as its code). It is waited
    for as long as `Prefer: wait=N` says, else 50 seconds; planning that takes longer goes on, and its run is answered
    (202), which will have the quote and the plan.
    """
    wait_s = terms.wait_s
    if terms.dry_run:
        check_room(visit.runtime)  # Before planning is paid for: who asks waits for its end.
    accepted = await _accepted(visit, job, terms, origin)
    tell_of_run(request, accepted)
    if terms.dry_run:
        return await _answer_dry(visit, accepted, wait_s)
    return await answer_with_run(visit, accepted, wait_s)


async def _accepted(visit: Visit, job: Job, terms: Terms, origin: Origin) -> Accepted:
    """The run of a job: a new one, or that of an earlier request under its key. Raises `Refusal`."""
    key = await _scoped(terms, job)
    if key and (before := await accepted_before(visit.database, visit.tenant, key)):
        return before  # Whatever it rests on may have gone since: its team, the webhook whose secret it takes.
    new = await new_run(visit, job, origin, dry_run=terms.dry_run)
    return await accept(visit.database, visit.tenant, new, key=key)


async def new_run(visit: Visit, job: Job, origin: Origin, *, dry_run: bool = False) -> NewRun:
    """The run that a job is to have, found fit to be executed. Raises `Refusal`, `JobRefused`."""
    runtime = visit.runtime
    team = await team_named(visit.database, visit.tenant, job.team)
    if team is None:
        raise await _team_unknown(visit, job.team)
    asked = job.limits.applied_to(team.team.limits)
    limits = origin.quotas.within(asked)
    members = workers_at_depth(team.team, limits)
    refuse_unpriced(runtime, team.team, limits, "/limits/cost_usd" if job.limits.cost_usd is not None else "/team")
    _refuse_no_schema(job, team.team)
    await refuse_false_documents(job.inputs)
    inputs = tuple(given.name for given in job.inputs)
    webhook = None if dry_run else await own_webhook(visit, job.webhook)
    plan, made_by = await _plan_brought(job, Crew(members, runtime.means, limits, inputs, job.strategy))
    asked = _wanted(asked, job, dry_run=dry_run)
    return NewRun(f"run_{uuid_utils.uuid7().hex}", job, team, asked, plan, made_by, origin, webhook=webhook)


async def _plan_brought(job: Job, crew: Crew) -> tuple[Plan | None, PlanSource | None]:
    """The plan that the run comes with, and who has made it; nothing where it is still to be made. Raises `Refusal`."""
    if job.plan is not None:
        return own_plan(job.plan, crew), "client"
    if wants_template(crew.team, job.planning, job.objective, has_inputs=bool(job.inputs)):
        return await plan_of_template(crew, job.objective, job.inputs), "template"
    return None, None


async def answer_with_run(visit: Visit, accepted: Accepted, wait_s: int | None) -> Response:
    """The run that was accepted: as it is, or at its end when that comes within the time its client waits."""
    if wait_s and not has_room(visit.runtime):
        wait_s = None  # The job is taken: its client has to ask again, as one does who named no time.
    row = await _row_after(visit, accepted, wait_s or 0)
    ended = wait_s is not None and row["status"] in TERMINAL_RUN
    headers = _headers(accepted.run_id, replayed=accepted.replayed, wait_s=wait_s, ended=ended)
    return JSONResponse(run_resource(row, datetime.now(UTC)), 200 if ended else 202, headers)


async def _answer_dry(visit: Visit, accepted: Accepted, wait_s: int | None) -> Response:
    """The plan and the quote once there are some; the run itself when they take longer than is waited for."""
    row = await _row_after(visit, accepted, DRY_RUN_WAIT_S if wait_s is None else wait_s)
    ended = row["status"] in TERMINAL_RUN
    headers = _headers(accepted.run_id, replayed=accepted.replayed, wait_s=wait_s, ended=ended)
    if not ended:
        return JSONResponse(run_resource(row, datetime.now(UTC)), 202, headers)
    return await dry_run_answer(visit, row, headers)


async def _row_after(visit: Visit, accepted: Accepted, wait_s: int) -> Row:
    """The run when it has ended, or as it is after `wait_s` seconds."""
    if accepted.row is not None and not wait_s:
        return accepted.row
    try:
        row = await run_settled(visit, accepted.run_id, TERMINAL_RUN, wait_s)
    except OUTAGE:
        if accepted.row is None:
            raise
        return accepted.row  # The job is taken: whoever is told anything else would send it again.
    assert row is not None
    return row


def _headers(run_id: str, *, replayed: bool, wait_s: int | None, ended: bool) -> dict[str, str]:
    headers = {"Location": f"/v1/runs/{run_id}", "Vary": "Prefer"}
    if replayed:
        headers["Idempotent-Replayed"] = "true"
    if wait_s is not None:
        headers["Preference-Applied"] = f"wait={wait_s}"
    if not ended:
        headers["Retry-After"] = "1"
    return headers


async def _scoped(terms: Terms, job: Job) -> IdempotencyKey | None:
    """A key of a dry run is another than that of the job itself."""
    if terms.key is None:
        return None
    request = "POST /v1/jobs?dry_run=true" if terms.dry_run else "POST /v1/jobs"
    return IdempotencyKey(terms.key, request, await asyncio.to_thread(digest_of, job))


def digest_of(body: BaseModel) -> str:
    """SHA-256 of a body's canonical JSON, made in pieces: nothing else runs while a text is encoded in one go."""
    # Without defaults: a field that a later release adds leaves the digest of an older body as it is.
    plain = body.model_dump(mode="json", exclude_defaults=True)
    mark = uuid4().hex
    contents = [item["content"] for item in plain.get("inputs", ())]
    for item in plain.get("inputs", ()):
        item["content"] = mark
    digest = hashlib.sha256()
    for part, content in zip_longest(json.dumps(plain, sort_keys=True).split(mark), contents, fillvalue=""):
        digest.update(part.encode())
        for start in range(0, len(content), PIECE_CHARACTERS):
            digest.update(json.dumps(content[start : start + PIECE_CHARACTERS])[1:-1].encode())
    return digest.hexdigest()


def workers_at_depth(team: Team, limits: Limits) -> Team:
    """The team as a run of such limits has it. Raises `Refusal` when that leaves nobody to do anything."""
    team = team.at_depth(limits.depth)
    if not team.workers:
        detail = "All workers of this team are teams themselves, for which a run needs a depth of at least 2."
        errors = [{"pointer": "/limits/depth", "detail": detail}]
        raise Refusal(422, "request_invalid", "The team has no worker at this depth.", errors=errors)
    return team


def _wanted(limits: Limits, job: Job, *, dry_run: bool) -> Limits:
    """The limits with what the run is not to do beyond: a dry run ends at its plan, and asks nobody to approve it."""
    if dry_run:
        return dry(limits)
    return with_approval(limits) if job.approval == "plan" else limits


def refuse_unpriced(runtime: Runtime, team: Team, limits: Limits, place: str) -> None:
    """A limit in money means nothing for models whose price nobody knows. Raises `Refusal`, at `place`, for such."""
    if limits.cost_usd is None:
        return
    model, used = runtime.model, team.used_models
    if unpriced := sorted({model_id for name in used if not model.prices.knows(model_id := model.model_id(name))}):
        detail = (
            f"The run has a limit in US dollars, and these models have no known price: {', '.join(unpriced)}. "
            "Their prices are set in CHARGEHAND_MODEL_PRICES; a model that costs nothing has the price 0."
        )
        raise Refusal(
            422,
            "price_unknown",
            "The cost of the job cannot be limited.",
            errors=[{"pointer": place, "detail": detail}],
        )


def _refuse_no_schema(job: Job, team: Team) -> None:
    """Raises `Refusal` when the job's `output_schema` is nothing that data could fit, or the team has its own form."""
    if job.output_schema is None:
        return
    detail = ""
    path: Path = ()
    if team.finds:
        detail = f"Workers of {team.name} report findings, and these are the data of its results."
    elif len(json.dumps(job.output_schema)) > LONGEST_SCHEMA:
        detail = f"A schema may have at most {LONGEST_SCHEMA} characters, written as JSON."
    else:
        try:
            check_schema(job.output_schema)
        except SchemaInvalid as error:
            detail, path = f"This is no JSON Schema that can be used: {error.message}", error.path
    if detail:
        errors = [{"pointer": pointer_to("output_schema", *path), "detail": detail[:SCHEMA_FAULT_CHARACTERS]}]
        raise Refusal(422, "request_invalid", "The output schema cannot be used.", errors=errors)


def own_plan(plan: Plan | None, crew: Crew) -> Plan | None:
    """The client's plan as the run will follow it. Raises `Refusal` when nothing could follow it."""
    if plan is None:
        return None
    plan = checked(plan, crew)
    if plan.validation.errors:
        errors = [
            {"pointer": f"/plan{flaw.pointer}", "detail": flaw.detail, "code": flaw.code}
            for flaw in plan.validation.errors[:FIELD_ERRORS_SHOWN]
        ]
        raise Refusal(422, "plan_invalid", "The plan cannot be carried out.", errors=errors)
    return plan.model_copy(update={"revision": 1})


async def _team_unknown(visit: Visit, reference: str) -> Refusal:
    name, _, version = reference.partition("@")
    known = await offered_teams(visit.database, visit.tenant)
    if version and name in known:
        detail = f"This team has the versions 1 to {known[name]}."
    else:
        near = get_close_matches(name, known) or sorted(known)[:TEAMS_SHOWN]
        detail = f"There is no such team; GET /v1/teams lists them, among them: {', '.join(near)}."
    errors = [{"pointer": "/team", "detail": detail}]
    return Refusal(422, "team_unknown", "The job names a team that is not known.", errors=errors)
