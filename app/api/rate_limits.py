"""Limits at the door: requests are counted, and answers say how it stands with the limits of their caller.

The headers are those of draft-ietf-httpapi-ratelimit-headers-10: structured fields (RFC 9651), one item a limit.
"""

from collections.abc import Iterable, Sequence
from typing import cast

import structlog
from fastapi import Request
from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.api.border import refused_with
from app.api.errors import LIMIT_NOTES, Refusal, database_unavailable, limit_reached
from app.domain.admission import Note, note_of_requests
from app.domain.errors import LimitReached
from app.domain.keys import Caller
from app.runtime import Runtime
from app.store.database import OUTAGE
from app.store.request_rates import count_request

log = structlog.get_logger(__name__)


class RateLimits:
    """Refuses requests that are too many, and puts the headers on the answers of callers who have limits."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        caller: Caller | None = scope["state"].get("caller") if scope["type"] == "http" else None
        if caller is None or not caller.quotas.bind:
            await self._app(scope, receive, send)
            return
        notes: list[Note] = []
        scope["state"][LIMIT_NOTES] = notes

        async def noted(message: Message) -> None:
            if message["type"] == "http.response.start" and notes:
                headers = MutableHeaders(scope=message)
                headers["RateLimit-Policy"], headers["RateLimit"] = policies(notes), standings(notes)
            await send(message)

        try:
            if any(quota.rate for _, quota in caller.quotas):
                await _count(cast(Runtime, scope["app"].state.runtime), caller, notes)
        except Refusal as refusal:
            await refused_with(refusal)(scope, receive, noted)
            return
        await self._app(scope, receive, noted)


async def _count(runtime: Runtime, caller: Caller, notes: list[Note]) -> None:
    """Count a request. Raises `Refusal` for one too many."""
    try:
        counted = await count_request(runtime.database, caller.tenant, caller.key, caller.quotas)
    except OUTAGE as error:
        log.warning("request not counted", error=type(error).__name__)
        raise database_unavailable() from None
    notes += [note_of_requests(each.owner, each.rate, each.ahead_s) for each in counted]
    for each in counted:
        if each.refused:
            runtime.database.witness.heard_limit("requests_per_second")
            detail = f"The {each.owner} may send {each.rate.per_second} requests a second."
            wait_s = max(-int(-each.rate.wait_s(each.ahead_s) // 1), 1)
            raise limit_reached(LimitReached("requests_per_second", "too_many_requests", detail, wait_s))


def noted_on(request: Request) -> Sequence[Note]:
    """What the answer to a request says so far: how it stands with requests."""
    return tuple(getattr(request.state, LIMIT_NOTES, ()))


def note(request: Request, notes: Iterable[Note]) -> None:
    """Have an answer say how it stands with these limits."""
    if (noted := getattr(request.state, LIMIT_NOTES, None)) is not None:
        noted.extend(notes)


def policies(notes: Iterable[Note]) -> str:
    """The value of `RateLimit-Policy`: the limits that there are."""
    return ", ".join(
        f'"{each.name}";q={each.quota}{_parameter("w", each.window_s)}{_unit(each.unit)}' for each in notes
    )


def standings(notes: Iterable[Note]) -> str:
    """The value of `RateLimit`: what is left of them."""
    return ", ".join(f'"{each.name}";r={each.left}{_parameter("t", each.reset_s)}' for each in notes)


def _parameter(name: str, value: int | None) -> str:
    return "" if value is None else f";{name}={value}"


def _unit(unit: str | None) -> str:
    return "" if unit is None else f';qu="{unit}"'
