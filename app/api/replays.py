"""Whether today's code comes to the same state of a run as is stored."""

from fastapi import APIRouter
from starlette.responses import JSONResponse, Response

from app.api.bodies import JsonBodyRoute
from app.api.deps import RunId
from app.api.errors import RunNotFound
from app.api.schemas.service import PROBLEMS
from app.api.visits import VisitOf
from app.domain.replay import Replay
from app.domain.worker import TIERS
from app.replay import Today, replay_run

router = APIRouter(prefix="/v1/runs", route_class=JsonBodyRoute, tags=["runs"], responses=PROBLEMS)


@router.post("/{run_id}/replay", response_model=Replay)
async def replay_a_run(run_id: RunId, visit: VisitOf) -> Response:
    """Drive the log of a run through the code of this process, and compare. Nobody is called, and nothing is changed.

    Every event must be possible where it stands, every reply that was read at once is read again, and plans, tasks,
    attempts and the run itself must be as they are stored. A run under way is compared as of this moment.
    """
    today = Today({tier: visit.runtime.model.model_id(tier) for tier in TIERS}, visit.runtime.means)
    replay = await replay_run(visit.database, visit.tenant, run_id, today)
    if replay is None:
        raise RunNotFound
    return JSONResponse(replay.model_dump(mode="json"))
