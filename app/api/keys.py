"""The keys of a tenant, for those who administer it."""

from datetime import timedelta
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import JSONResponse, Response

from app.api.bodies import JsonBodyRoute
from app.api.errors import Refusal
from app.api.resources import instant, page
from app.api.schemas.keys import Key, KeyPage, NewKey
from app.api.schemas.service import PROBLEMS
from app.api.visits import VisitOf
from app.domain.keys import KEY_ID, Scope, StoredKey, in_order
from app.domain.quotas import NOTHING_SAID, Quota
from app.store import keys as stored_keys

router = APIRouter(prefix="/v1/keys", route_class=JsonBodyRoute, tags=["operations"], responses=PROBLEMS)

YEARS_OF_DAYS = 3_650

After = Annotated[str | None, Query(max_length=500, description="`next_cursor` of the page before.")]
PageLimit = Annotated[int, Query(ge=1, le=1_000, description="Keys of a page.")]
KeyId = Annotated[str, Path(description="Id of a key: what stands between `chk_` and its secret.")]


class KeyWanted(BaseModel):
    """A key that is to be made."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)

    name: str = Field(default="", max_length=200)
    """What it is for, for people."""
    scopes: list[Scope] = Field(min_length=1, max_length=20)
    """What it allows. `admin` allows everything."""
    expires_in_days: float | None = Field(default=None, gt=0, le=YEARS_OF_DAYS)
    """After how many days it opens nothing more; null for never."""
    limits: Quota = NOTHING_SAID
    """What may be used with it: no more than with the key that makes it. What its tenant may use holds too."""


@router.get("", response_model=KeyPage)
async def list_keys(visit: VisitOf, after: After = None, limit: PageLimit = 100) -> Response:
    """The keys of the tenant, newest first, also those that were revoked or have expired. Secrets are not kept."""
    if after is not None and not KEY_ID.fullmatch(after):
        raise Refusal(400, "cursor_invalid", "The cursor is not one that this service gave out.")
    found = await stored_keys.keys_of(visit.database, visit.tenant, after=after, limit=limit + 1)
    shown = found[:limit]
    return JSONResponse(page([_resource(key) for key in shown], shown[-1].id if len(found) > limit else None))


@router.post("", status_code=201, response_model=NewKey)
async def create_a_key(visit: VisitOf, body: KeyWanted) -> Response:
    """Make a key of the tenant. `key` is shown in this answer alone."""
    expires_in = None if body.expires_in_days is None else timedelta(days=body.expires_in_days)
    limits = body.limits.at_most(visit.caller.quotas.key)
    new = stored_keys.NewKey(visit.tenant, frozenset(body.scopes), body.name, expires_in, limits)
    sent, stored = await stored_keys.create_key(visit.database, new)
    return JSONResponse({**_resource(stored), "key": sent.text}, 201)


@router.delete("/{key_id}", response_model=Key)
async def revoke_a_key(key_id: KeyId, visit: VisitOf) -> Response:
    """Take a key back: within a few seconds it opens nothing more, and streams that were opened with it end.

    Repeating it changes nothing. A key may take itself back.
    """
    is_one = KEY_ID.fullmatch(key_id) is not None
    revoked = await stored_keys.revoke_key(visit.database, key_id, tenant=visit.tenant) if is_one else None
    if revoked is None:
        raise Refusal(404, "key_not_found", "There is no such key.")
    return JSONResponse(_resource(revoked))


def _resource(key: StoredKey) -> dict[str, Any]:
    return {
        "id": key.id,
        "object": "key",
        "name": key.name,
        "tenant": key.tenant,
        "scopes": in_order(key.scopes),
        "limits": key.quotas.key.model_dump(mode="json"),
        "created_at": instant(key.created_at),
        "expires_at": instant(key.expires_at),
        "revoked_at": instant(key.revoked_at),
    }
