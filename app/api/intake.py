"""The intake of jobs: whether new ones of the tenant are taken in, and how that is changed."""

from fastapi import APIRouter
from starlette.responses import JSONResponse, Response

from app.api.resources import instant
from app.api.schemas.operators import Intake
from app.api.schemas.service import PROBLEMS
from app.api.visits import Visit, VisitOf
from app.store.intake import pause_intake, pauses_of, resume_intake

router = APIRouter(prefix="/v1/intake", tags=["operations"], responses=PROBLEMS)


@router.get("", response_model=Intake)
async def get_intake(visit: VisitOf) -> Response:
    """Whether new jobs of the tenant are taken in."""
    return await _answer(visit)


@router.post("/pause", response_model=Intake)
async def pause_the_intake(visit: VisitOf) -> Response:
    """Take in no new jobs of the tenant, through whichever process, from the answer to this on.

    Jobs, dry runs, forks, retries and new syntheses are refused (503 `intake_paused`, with `Retry-After`). A repetition
    of what was taken before is answered as ever. Runs under way go on, and so do those that wait in line.
    """
    await pause_intake(visit.database, visit.tenant, "tenant")
    return await _answer(visit)


@router.post("/resume", response_model=Intake)
async def resume_the_intake(visit: VisitOf) -> Response:
    """Take in jobs again. What the operator has said stays: `paused_by` tells."""
    await resume_intake(visit.database, visit.tenant, "tenant")
    return await _answer(visit)


async def _answer(visit: Visit) -> Response:
    pauses = await pauses_of(visit.database, visit.tenant)
    since = min((pause.paused_at for pause in pauses), default=None)
    return JSONResponse(
        {
            "object": "intake",
            "paused": bool(pauses),
            "paused_at": instant(since),
            "paused_by": sorted({pause.said_by for pause in pauses}),
        }
    )
