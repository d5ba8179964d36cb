"""The plan of a run: its revisions, and what clients do about one that waits for approval."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from starlette.responses import JSONResponse, Response

from app.api.bodies import JsonBodyRoute
from app.api.deps import RunId, if_match
from app.api.errors import Refusal, RunNotFound, run_unreadable
from app.api.field_errors import FIELD_ERRORS_SHOWN
from app.api.long_polls import run_settled
from app.api.resources import page, revision_resource, run_resource
from app.api.runs import existing_run
from app.api.schemas.runs import PlanRevisionPage, Run
from app.api.schemas.service import PROBLEMS
from app.api.visits import Visit, VisitOf
from app.domain.approvals import (
    REASON_CHARACTERS,
    ApprovalRefused,
    Decided,
    EditInvalid,
    NotWaiting,
    PlanChanged,
    Revisions,
)
from app.domain.errors import RunUnreadable
from app.domain.job import strictly
from app.domain.plan import Plan
from app.domain.plan_decisions import EDITABLE
from app.domain.states import TERMINAL_RUN
from app.domain.worker import TIERS
from app.grounds import grounds_of
from app.store.history import Histories
from app.store.plans import Addressed, Pricing, approve_plan, edit_plan, reject_plan, revisions_of
from app.store.runs import Row, plan_of
from app.store.teams import team_version

GOES_ON = TERMINAL_RUN | {"running"}
GOES_ON_WITHIN_S = 1.0
"""How long a decision waits for the run to go on, or to end, so that its answer can usually show it."""

router = APIRouter(prefix="/v1/runs", route_class=JsonBodyRoute, tags=["runs"], responses=PROBLEMS)

Revision = Annotated[int | None, Query(ge=1, le=1_000_000, description="An older revision; the newest by default.")]
Meant = Annotated[
    Revisions,
    if_match("ETag of the plan that is meant, which is its revision: 412 when the plan is in another one."),
]


class PlanEdit(Plan):
    """What is to be different about a plan.

    Fields that are left out stay as they are. A list of tasks takes the place of the one there is: tasks that it lacks
    are removed. `revision`, `validation`, `shape` and `material` may be sent as they were read, and change nothing.
    """

    reason: Annotated[str, Field(max_length=REASON_CHARACTERS)] | None = None
    """Why; shown with the revision."""

    @property
    def changes(self) -> Mapping[str, Any]:
        """The fields that are to have these values."""
        return {name: getattr(self, name) for name in EDITABLE if name in self.model_fields_set}


class Rejection(BaseModel):
    """What a client may say when it rejects a plan."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)

    reason: Annotated[str, Field(max_length=REASON_CHARACTERS)] | None = None
    """Why; shown with the run."""


Edit = Annotated[PlanEdit, BeforeValidator(lambda edit: strictly(PlanEdit, edit))]


@router.get("/{run_id}/plan", response_model=Plan)
async def get_plan(run_id: RunId, visit: VisitOf, revision: Revision = None) -> Response:
    """The plan, in its newest revision or in the one asked for. Its `ETag` is the revision."""
    return _answer(await _existing_plan(visit, run_id, revision))


@router.get("/{run_id}/plan/revisions", response_model=PlanRevisionPage)
async def list_plan_revisions(run_id: RunId, visit: VisitOf) -> Response:
    """Every revision of the plan, oldest first, with its reason and its difference to the one before."""
    revisions = await revisions_of(visit.database, visit.tenant, run_id)
    if not revisions:
        await existing_run(visit, run_id)
    return JSONResponse(page([revision_resource(each) for each in revisions]))


@router.patch("/{run_id}/plan", response_model=Plan)
async def edit_a_plan(request: Request, run_id: RunId, visit: VisitOf, meant: Meant, body: Edit) -> Response:
    """Edit a plan that waits for approval: the new revision waits for it too, for as long as was left.

    `If-Match` names the revision that was read. The plan is validated as any other; what is wrong with it stands in
    `errors` (422, `plan_invalid`). An edit that changes nothing makes no revision.
    """
    if "if-match" not in request.headers:
        detail = "An edit says in If-Match which revision of the plan it is about."
        raise Refusal(428, "if_match_missing", detail)
    pricing = await _pricing(visit, await existing_run(visit, run_id))
    about = Addressed(visit.tenant, run_id, meant)
    try:
        edited = await edit_plan(
            visit.database, visit.runtime.queue, about, body.changes, reason=body.reason, pricing=pricing
        )
    except (ApprovalRefused, RunUnreadable) as error:
        raise _refusal(error) from None
    _check(edited)
    return _answer(await _existing_plan(visit, run_id, None))


@router.post("/{run_id}/plan/approve", response_model=Run)
async def approve_a_plan(run_id: RunId, visit: VisitOf, meant: Meant) -> Response:
    """Approve a plan that waits for it: the run goes on. Each is decided on once.

    With `If-Match` the plan is approved in the revision that was read, and in no other.
    """
    try:
        _check(await approve_plan(visit.database, visit.runtime.queue, Addressed(visit.tenant, run_id, meant)))
    except (ApprovalRefused, RunUnreadable) as error:
        raise _refusal(error) from None
    return await _run(visit, run_id)


@router.post("/{run_id}/plan/reject", response_model=Run)
async def reject_a_plan(run_id: RunId, visit: VisitOf, meant: Meant, body: Rejection | None = None) -> Response:
    """Reject a plan that waits for approval: the run fails with `plan_rejected`. `If-Match` as for an approval."""
    reason, about = body.reason if body else None, Addressed(visit.tenant, run_id, meant)
    try:
        _check(await reject_plan(visit.database, visit.runtime.queue, about, reason=reason))
    except (ApprovalRefused, RunUnreadable) as error:
        raise _refusal(error) from None
    return await _run(visit, run_id)


async def _existing_plan(visit: Visit, run_id: str, revision: int | None) -> Row:
    plan = await plan_of(visit.database, visit.tenant, run_id, revision)
    if plan is None:
        await existing_run(visit, run_id)
        raise Refusal(404, "plan_not_found", "The run has no such plan, or none yet.")
    return plan


def _answer(plan: Row) -> Response:
    return JSONResponse(plan, headers={"ETag": f'"{plan["revision"]}"'})


async def _run(visit: Visit, run_id: str) -> Response:
    """The run as it goes on."""
    row = await run_settled(visit, run_id, GOES_ON, GOES_ON_WITHIN_S)
    assert row is not None
    return JSONResponse(run_resource(row, datetime.now(UTC)))


async def _pricing(visit: Visit, row: Row) -> Pricing | None:
    """What the quote of an edited plan rests on."""
    team = await team_version(visit.database, visit.tenant, row["team_name"], row["team_version"])
    if team is None:
        return None
    history = await Histories(visit.database).of(visit.tenant, team.team.name)
    runtime = visit.runtime
    grounds = grounds_of(runtime.model, runtime.tools, history, team.team)
    return Pricing(grounds, {tier: runtime.model.model_id(tier) for tier in TIERS})


def _check(taken: bool | None) -> None:
    """Raise `Refusal` when there is no such run, or it has ended without a decision on its plan."""
    if taken is None:
        raise RunNotFound
    if not taken:
        raise Refusal(409, "run_ended", "The run has ended already.")


def _refusal(refused: ApprovalRefused | RunUnreadable) -> Refusal:
    match refused:
        case NotWaiting():
            return Refusal(409, "plan_not_waiting", "The plan does not wait for approval.")
        case Decided(by="default"):
            return Refusal(409, "approval_expired", "Nobody has decided in time; the default was taken.")
        case Decided(status="approved"):
            return Refusal(409, "plan_approved", "The plan has been approved already.")
        case Decided():
            return Refusal(409, "plan_rejected", "The plan has been rejected.")
        case PlanChanged(revision=revision):
            return Refusal(412, "plan_changed", f"The plan is in revision {revision} now: read it again.")
        case EditInvalid(flaws=flaws):
            errors = [
                {"pointer": flaw.pointer, "detail": flaw.detail, "code": flaw.code}
                for flaw in flaws[:FIELD_ERRORS_SHOWN]
            ]
            return Refusal(422, "plan_invalid", "The plan could not be carried out after this edit.", errors=errors)
        case RunUnreadable():
            return run_unreadable()
    raise AssertionError(refused)
