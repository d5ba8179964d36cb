"""What webhooks are told of a run."""

from typing import Any

from fastapi import APIRouter
from starlette.responses import JSONResponse, Response

from app.api.bodies import JsonBodyRoute
from app.api.deps import RunId
from app.api.errors import Refusal, RunNotFound
from app.api.job_webhooks import means_to_tell
from app.api.resources import instant, page
from app.api.schemas.service import PROBLEMS
from app.api.schemas.webhooks import DeliveryPage
from app.api.visits import Visit, VisitOf
from app.store.deliveries import Delivery, deliver_again, deliveries_of_run

router = APIRouter(prefix="/v1/runs", route_class=JsonBodyRoute, tags=["runs"], responses=PROBLEMS)


@router.get("/{run_id}/deliveries", response_model=DeliveryPage)
async def list_deliveries(run_id: RunId, visit: VisitOf) -> Response:
    """What webhooks were told of the run, and are to be told, newest first: those of its job and of its tenant."""
    return JSONResponse(await _deliveries(visit, run_id))


@router.post("/{run_id}/redeliver", status_code=202, response_model=DeliveryPage)
async def redeliver(run_id: RunId, visit: VisitOf) -> Response:
    """Deliver once more, from a first attempt on, what was delivered of the run or has failed, under the same ids.

    Receivers know by the id that they have had it. What is still to be delivered stays as it is.
    """
    await _deliveries(visit, run_id)
    means_to_tell(visit.runtime, "")
    if not await deliver_again(visit.database, visit.tenant, run_id):
        raise Refusal(409, "nothing_to_deliver", "Nothing of this run was delivered, or has failed, that could be.")
    return JSONResponse(await _deliveries(visit, run_id), 202)


async def _deliveries(visit: Visit, run_id: str) -> dict[str, Any]:
    found = await deliveries_of_run(visit.database, visit.tenant, run_id)
    if found is None:
        raise RunNotFound
    return page([delivery_resource(delivery) for delivery in found])


def delivery_resource(delivery: Delivery) -> dict[str, Any]:
    """A delivery as clients see it."""
    return {
        "id": delivery.id,
        "object": "delivery",
        "run_id": delivery.run_id,
        "type": delivery.type,
        "timestamp": instant(delivery.at),
        "webhook": delivery.webhook,
        "host": delivery.host,
        "status": delivery.status,
        "attempts": delivery.attempts,
        "response_status": delivery.response_status,
        "error": delivery.error,
        "created_at": instant(delivery.created_at),
        "attempted_at": instant(delivery.attempted_at),
        "next_attempt_at": instant(delivery.next_attempt_at),
        "ended_at": instant(delivery.ended_at),
    }
