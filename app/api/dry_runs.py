"""What a dry run is answered with, once it has ended: its plan and its quote, or why there is no plan."""

import json
from collections.abc import Mapping

from starlette.responses import JSONResponse, Response

from app.api.errors import FieldError, Refusal
from app.api.field_errors import FIELD_ERRORS_SHOWN
from app.api.problem_codes import PROBLEM_CODES
from app.api.visits import Visit
from app.store.runs import Row, events_of, plan_of

DRY_RUN_WAIT_S = 50
"""How long a dry run is waited for unless its client says otherwise: proxies hang up after a minute."""
REJECTIONS_READ = 10
"""More than a run has: what is wrong with the last of them is told."""


async def dry_run_answer(visit: Visit, row: Row, headers: Mapping[str, str]) -> Response:
    """The answer to a dry run that has ended. Raises `Refusal` when it has no plan."""
    if row["status"] != "succeeded":
        raise await _why_no_plan(visit, row, headers)
    plan = await plan_of(visit.database, visit.tenant, row["id"])
    return JSONResponse({"plan": plan, "quote": row["quote"], "run_id": row["id"]}, 200, headers)


async def _why_no_plan(visit: Visit, row: Row, headers: Mapping[str, str]) -> Refusal:
    code = row["stop_reason"] if row["stop_reason"] in PROBLEM_CODES else "internal_error"
    detail = row["error"]["message"] if row["error"] else PROBLEM_CODES[code].sentence
    errors = await _flaws(visit, row["id"])
    return Refusal(PROBLEM_CODES[code].status, code, detail, errors=errors, headers=dict(headers))


async def _flaws(visit: Visit, run_id: str) -> list[FieldError]:
    """What was wrong with the last plan that the supervisor wrote, by its places in the plan."""
    rejections = await events_of(visit.database, visit.tenant, run_id, limit=REJECTIONS_READ, types=["plan.invalid"])
    found = json.loads(rejections[-1].json)["data"]["errors"] if rejections else []
    return [
        {"pointer": f"/plan{flaw['pointer']}", "detail": flaw["detail"], "code": flaw["code"]}
        for flaw in found[:FIELD_ERRORS_SHOWN]
    ]
