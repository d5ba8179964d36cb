"""A run's events: as a page, or as a stream that follows them."""

import re
from collections.abc import Collection
from typing import Annotated

from fastapi import APIRouter, Header, Query, Request
from pydantic import BaseModel, Field, StringConstraints
from starlette.responses import Response

from app.api.deps import RunId, only
from app.api.errors import Refusal, RunNotFound
from app.api.feeds import Subscription
from app.api.long_polls import check_room
from app.api.runs import existing_run
from app.api.schemas.service import PROBLEMS
from app.api.schemas.trace import EventPage
from app.api.stream import EventStream, follow
from app.api.visits import Visit, VisitOf
from app.domain.events import FACTS
from app.domain.states import TERMINAL_RUN
from app.store.runs import Row, events_of

SEQ_CEILING = 2**63 - 1
STREAM = "text/event-stream"
_REFUSED = re.compile(r"q=0(\.0*)?")
"""A quality that means `not this one`."""

router = APIRouter(prefix="/v1/runs", tags=["runs"], responses=PROBLEMS)

LastEventId = Annotated[
    str | None,
    Header(
        alias="Last-Event-ID",
        description="For a stream: number of the last event the client has; wins over `after` unless it is empty.",
    ),
]

TypeNames = Annotated[str, StringConstraints(pattern=r"^[a-z_.,]{0,2000}$")]


class Wanted(BaseModel):
    """Which events a client asks for."""

    after: str | None = Field(
        default=None,
        max_length=100,
        description="Only events behind this number.",
        json_schema_extra={"pattern": r"^\d{1,19}$"},
    )
    limit: int = Field(default=200, ge=1, le=1000, description="Events of a page; a stream has no limit.")
    types: list[TypeNames] = Field(default=[], max_length=50, description="Only these types; commas may join several.")
    deltas: bool = Field(default=False, description="Stream text while it is written, as `text.delta`.")

    @property
    def type_names(self) -> list[str]:
        """The types, one by one."""
        return [name for joined in self.types for name in joined.split(",") if name]


@router.get(
    "/{run_id}/events",
    response_model=EventPage,
    responses={
        200: {
            "description": "A page of events; or with `Accept: text/event-stream` the events as they come.",
            "content": {STREAM: {"schema": {"type": "string", "description": "`id` is `seq`, `event` is `type`."}}},
        },
        204: {"description": "The run has ended and the client has all events that it wants."},
    },
)
async def list_or_follow_events(
    request: Request,
    run_id: RunId,
    visit: VisitOf,
    wanted: Annotated[Wanted, Query()],
    last_event_id: LastEventId = None,
) -> Response:
    """The events of a run.

    As a stream it replays what the client lacks and follows the run to its end. A `Last-Event-ID` or `after` that is
    no number, negative, or beyond the log replays everything. `text.delta` frames have no id and are not stored.
    """
    _check_types(wanted.type_names)
    only(request, "last-event-id")
    if not _wants_stream(request):
        await existing_run(visit, run_id)
        return await _page(visit, run_id, wanted)
    check_room(visit.runtime)
    row = await visit.look_at(run_id)
    if row is None:
        raise RunNotFound
    known = _known(last_event_id or wanted.after, row)
    ended = row["status"] in TERMINAL_RUN
    if ended and not await events_of(
        visit.database, visit.tenant, run_id, after=known, limit=1, types=wanted.type_names
    ):
        return Response(status_code=204)
    subscription = Subscription(visit.tenant, run_id, frozenset(wanted.type_names), wanted.deltas)
    frames = follow(visit, request.app.state.feeds, subscription, known)
    return EventStream(frames, send_limit_s=request.app.state.send_limit_s)


def _check_types(names: Collection[str]) -> None:
    unknown = sorted(set(names) - FACTS.keys())
    if not unknown:
        return
    detail = f"Unknown event type; known are: {', '.join(sorted(FACTS))}."
    if unknown == ["text.delta"]:
        detail = "Text while it is written is no event of the log; ask for it with deltas=true."
    errors = [{"parameter": "types", "detail": detail}]
    raise Refusal(422, "request_invalid", "The query names a type of event that does not exist.", errors=errors)


def _wants_stream(request: Request) -> bool:
    """Whether the client accepts a stream by its name (RFC 9110, 12.5.1)."""
    for each in ",".join(request.headers.getlist("accept")).lower().split(","):
        media_type, *parameters = [part.strip() for part in each.split(";")]
        if media_type == STREAM and not any(map(_REFUSED.fullmatch, parameters)):
            return True
    return False


async def _page(visit: Visit, run_id: str, wanted: Wanted) -> Response:
    after, limit = _number(wanted.after), wanted.limit
    shown = await events_of(visit.database, visit.tenant, run_id, after=after, limit=limit, types=wanted.type_names)
    more = "true" if shown and shown[-1].followed else "false"
    listed = ",".join(event.json for event in shown)
    next_after = shown[-1].seq if shown else after
    # Events are stored as the JSON that clients get; they are joined as they are.
    cursor = f'"{next_after}"' if more == "true" else "null"
    content = f'{{"data":[{listed}],"has_more":{more},"next_cursor":{cursor},"next_after":{next_after}}}'
    return Response(content, media_type="application/json", headers={"Vary": "Accept"})


def _number(after: str | None) -> int:
    if after is None:
        return 0
    if not (after.isascii() and after.isdecimal()) or int(after) > SEQ_CEILING:
        errors = [{"parameter": "after", "detail": "This must be the number of an event, or 0."}]
        raise Refusal(422, "request_invalid", "The number of an event is not one.", errors=errors)
    return int(after)


def _known(given: str | None, row: Row) -> int:
    """The last event that a streaming client has; 0 when what it says cannot be."""
    if given is None or not (given.isascii() and given.isdecimal()) or len(given) > len(str(SEQ_CEILING)):
        return 0
    known = int(given)
    return known if known <= row["last_seq"] else 0
