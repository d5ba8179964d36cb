"""What a caller may use, and how much of it is left."""

from collections.abc import Iterator
from decimal import Decimal

from fastapi import APIRouter, Request
from starlette.responses import JSONResponse, Response

from app.api.rate_limits import note, noted_on
from app.api.resources import Resource, instant
from app.api.schemas.limits import CallerLimits
from app.api.schemas.service import PROBLEMS
from app.api.visits import VisitOf
from app.domain.admission import Note, Standing, notes_of
from app.domain.quotas import Owner, Quota, Rate, period_at
from app.store.admission import look_at_standing

router = APIRouter(prefix="/v1/limits", tags=["operations"], responses=PROBLEMS)


@router.get("", response_model=CallerLimits)
async def get_limits(request: Request, visit: VisitOf) -> Response:
    """What the caller may use: the limits of its tenant and of its key, and how much is left of each.

    The operator sets them; those of a key are given when it is made. Days and months are those of UTC.
    """
    caller, quotas = visit.caller, visit.caller.quotas
    rates = {owner: quota.rate for owner, quota in quotas}
    data: list[Resource] = [_of_requests(each, rate) for each in noted_on(request) if (rate := rates[each.owner])]
    if quotas.count:
        standing = await look_at_standing(visit.database, caller.tenant, caller.key, quotas)
        data += [each for owner, quota in quotas for each in _of_runs(owner, quota, standing)]
        note(request, notes_of(quotas, standing))
    most = [quota.cost_usd_per_run for _, quota in quotas if quota.cost_usd_per_run is not None]
    return JSONResponse(
        {
            "object": "limits",
            "tenant": caller.tenant,
            "key": caller.key,
            "cost_usd_per_run": _money(min(most)) if most else None,
            "data": data,
        }
    )


def _of_requests(stands: Note, rate: Rate) -> Resource:
    counted = _count(stands.limit, stands.owner, rate.per_second, rate.burst - stands.left)
    return counted | {"burst": rate.burst, "left": stands.left}


def _of_runs(owner: Owner, quota: Quota, standing: Standing) -> Iterator[Resource]:
    taken = standing.of(owner)
    if quota.runs_in_flight is not None:
        yield _count("runs_in_flight", owner, quota.runs_in_flight, taken.in_flight, taken.held)
    if quota.runs_queued is not None:
        yield _count("runs_queued", owner, quota.runs_queued, taken.queued)
    for name, limit in quota.costs.items():
        spending, period = taken.costs[name], period_at(name, standing.now)
        yield {
            "name": name,
            "owner": owner,
            "limit_usd": _money(limit),
            "spent_usd": _money(spending.spent),
            "reserved_usd": _money(spending.reserved),
            "left_usd": _money(spending.left(limit)),
            "since": instant(period.since),
            "until": instant(period.until),
        }


def _count(name: str, owner: Owner, limit: int, used: int, held: int = 0) -> Resource:
    left = max(limit - used, 0)
    return {"name": name, "owner": owner, "limit": limit, "burst": None, "used": used, "left": left, "held": held}


def _money(amount: Decimal) -> str:
    return format(amount, "f")
