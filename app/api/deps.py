"""What routes are given: the runtime, and what headers and paths say.

All of it is `async`, though it awaits nothing: FastAPI would move plain functions to a thread, which costs more than
they do.
"""

import re
from typing import Annotated, cast

from fastapi import Depends, Header, Path, Request

from app.api.errors import Refusal, RunNotFound
from app.runtime import Runtime

WAIT_CEILING_S = 60
KEY_LENGTH = 255

RUN_ID = re.compile(r"run_[0-9a-z]{1,64}")
_WAIT = re.compile(r"wait\s*=\s*\"?(\d{1,9})\"?")


async def runtime_of(request: Request) -> Runtime:
    """What this process holds open."""
    return cast(Runtime, request.app.state.runtime)


async def _run_id(run_id: Annotated[str, Path(description="Id of a run.")]) -> str:
    if not RUN_ID.fullmatch(run_id):
        raise RunNotFound
    return run_id


async def _wait_s(
    request: Request,
    _: Annotated[
        str | None,
        Header(
            alias="Prefer",
            description="`wait=N`: seconds to wait, at most 60 (RFC 7240). What else it says is ignored.",
        ),
    ] = None,
) -> int | None:
    """Seconds that the client would wait, within our ceiling; other preferences are ignored."""
    preferences = [each.strip().lower() for line in request.headers.getlist("prefer") for each in line.split(",")]
    asked = [int(found[1]) for each in preferences if (found := _WAIT.match(each))]
    return min(asked[0], WAIT_CEILING_S) if asked else None


async def _idempotency_key(
    idempotency_key: Annotated[
        str | None,
        Header(
            alias="Idempotency-Key",
            description="Makes a repetition safe: under one key there is one run. 1 to 255 printable characters.",
            json_schema_extra={"minLength": 1, "maxLength": KEY_LENGTH, "pattern": r"\S"},
        ),
    ] = None,
) -> str | None:
    """The client's key, which may come quoted or bare."""
    if idempotency_key is None:
        return None
    key = idempotency_key.strip()
    if len(key) >= 2 and key[0] == key[-1] == '"':
        key = key[1:-1]
    if not 1 <= len(key) <= KEY_LENGTH or not key.isprintable():
        raise Refusal(400, "idempotency_key_invalid", f"An Idempotency-Key has 1 to {KEY_LENGTH} printable characters.")
    return key


RuntimeOf = Annotated[Runtime, Depends(runtime_of)]
RunId = Annotated[str, Depends(_run_id)]
WaitSeconds = Annotated[int | None, Depends(_wait_s)]
Key = Annotated[str | None, Depends(_idempotency_key)]
