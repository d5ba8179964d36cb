"""The door of the API: who may come in, by the key that a request brings, before anything of its body is read."""

import re
from typing import cast

import structlog
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from app.api.border import refused_with, whose_request
from app.api.deps import RUN_ID
from app.api.errors import Refusal, database_unavailable, key_invalid
from app.api.keyring import KeyRing
from app.domain.keys import Caller, SentKey
from app.domain.keys import Scope as KeyScope
from app.domain.trace_ids import trace_id_by_shape
from app.runtime import Runtime
from app.store.database import OUTAGE

log = structlog.get_logger(__name__)

_GUARDED = "/v1/"
_OPEN = "/v1/schemas/"
"""What is the same for everybody, and no secret: editors fetch it."""
_FOR_ADMINS = ("/v1/keys", "/v1/webhooks")
_CHANGED_BY_ADMINS = ("/v1/breakers", "/v1/engines", "/v1/intake")
"""What others may look at."""
_OF_RUN = re.compile(rf"/v1/runs/({RUN_ID.pattern})(?:/|\Z)")
_ASKED_WITH = {"WWW-Authenticate": 'Bearer realm="chargehand"'}


def scope_for(method: str, path: str) -> KeyScope:
    """What a key must allow for a request."""
    if _is_within(path, *_FOR_ADMINS):
        return "admin"
    if method in ("GET", "HEAD") or (_is_within(path, "/v1/runs") and path.endswith("/replay")):
        return "runs:read"
    if _is_within(path, "/v1/teams"):
        return "teams:write"
    return "admin" if _is_within(path, *_CHANGED_BY_ADMINS) else "jobs:write"


def _is_within(path: str, *places: str) -> bool:
    return any(path == place or path.startswith(f"{place}/") for place in places)


class Doorkeeper:
    """Lets requests in whose key allows them, and says whom they come from (`request.state.caller`)."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not _needs_caller(scope["path"]):
            await self._app(scope, receive, send)
            return
        try:
            scope["state"]["caller"] = await _caller(scope)
        except Refusal as refusal:
            await refused_with(refusal)(scope, receive, send)
            return
        if (found := _OF_RUN.match(scope["path"])) is not None:
            scope["state"]["run_id"] = found[1]
            scope["state"]["trace_id"] = trace_id_by_shape(found[1])
        with structlog.contextvars.bound_contextvars(**whose_request(scope)):
            await self._app(scope, receive, send)


def _needs_caller(path: str) -> bool:
    return path.startswith(_GUARDED) and not path.startswith(_OPEN)


async def _caller(scope: Scope) -> Caller:
    """Whom a request comes from. Raises `Refusal`."""
    state = scope["app"].state
    runtime, keys = cast(Runtime, state.runtime), cast(KeyRing, state.keys)
    sent = _sent(Headers(scope=scope).getlist("authorization")) if runtime.wants_keys else None
    try:
        if sent is None:
            return await keys.anybody()
        caller = await keys.caller_of(sent)
        if caller is None:
            raise key_invalid()
        await runtime.welcome(caller.tenant)
    except OUTAGE as error:
        log.warning("key not looked up", error=type(error).__name__)
        raise database_unavailable() from None
    wanted = scope_for(scope["method"], scope["path"])
    if not caller.may(wanted):
        raise Refusal(403, "scope_missing", f"The key does not have the scope {wanted}.")
    return caller


def _sent(authorization: list[str]) -> SentKey:
    """The key that a request brings. Raises `Refusal`."""
    kind, _, text = authorization[0].partition(" ") if len(authorization) == 1 else ("", "", "")
    if kind.lower() != "bearer":
        detail = "Send a key of the API: Authorization: Bearer <chk_…>"
        raise Refusal(401, "key_missing", detail, headers=_ASKED_WITH)
    sent = SentKey.read(text.strip())
    if sent is None:
        raise key_invalid()
    return sent
