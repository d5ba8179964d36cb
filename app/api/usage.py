"""What runs have taken: calls, tokens and money, by day, team, model or key."""

from datetime import UTC, datetime, timedelta
from typing import Annotated

from fastapi import APIRouter, Query
from starlette.responses import JSONResponse, Response

from app.api.errors import Refusal
from app.api.moments import MOMENT, moment_of
from app.api.resources import Resource, instant
from app.api.schemas.service import PROBLEMS
from app.api.schemas.usage import UsageReport
from app.api.visits import VisitOf
from app.store.usage import GroupBy, Period, UsageGroup, usage_of

router = APIRouter(prefix="/v1/usage", tags=["operations"], responses=PROBLEMS)

DAYS_UNLESS_SAID = 30
DAYS_AT_MOST = 366

From = Annotated[str | None, Query(alias="from", max_length=40, description=f"{MOMENT}; 30 days before `to`.")]
To = Annotated[str | None, Query(max_length=40, description=f"{MOMENT}, which is no part of it; now.")]
By = Annotated[GroupBy, Query(description="What is added up.")]


@router.get("", response_model=UsageReport)
async def get_usage(visit: VisitOf, since: From = None, to: To = None, group_by: By = "day") -> Response:
    """What the runs that were posted in a period have taken so far, the nested runs in them included.

    Days are those of UTC. What runs under way have taken counts up to their last commit.
    """
    until = moment_of(to, "to") if to is not None else datetime.now(UTC)
    start = moment_of(since, "from") if since is not None else until - timedelta(days=DAYS_UNLESS_SAID)
    if not timedelta() < until - start <= timedelta(days=DAYS_AT_MOST):
        errors = [{"parameter": "from", "detail": f"This lies before `to`, by {DAYS_AT_MOST} days at most."}]
        raise Refusal(422, "request_invalid", "There is no such period.", errors=errors)
    groups, total = await usage_of(visit.database, visit.tenant, Period(start, until), group_by)
    return JSONResponse(
        {
            "since": instant(start),
            "until": instant(until),
            "group_by": group_by,
            "data": [{"name": group.name, **_counts(group)} for group in groups],
            "total": _counts(total),
        }
    )


def _counts(group: UsageGroup) -> Resource:
    return {"runs": group.runs, "usage": group.usage.model_dump(mode="json")}
