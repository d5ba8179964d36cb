"""What routes are given: the runtime, and what headers and paths say.

All of it is `async`, though it awaits nothing: FastAPI would move plain functions to a thread, which costs more than
they do.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from typing import Annotated, Any, cast, get_origin

from fastapi import Depends, Header, Path, Request
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute
from pydantic import BaseModel

from app.api.errors import Refusal, RunNotFound
from app.api.field_errors import FIELD_ERRORS_SHOWN, NAME_SHOWN
from app.domain.trace_ids import place_in
from app.runtime import Runtime
from app.tracing.requests import place_of_request

WAIT_CEILING_S = 60
KEY_LENGTH = 255

HEADER_LENGTH = 1000
"""Characters of a header that we read a meaning from."""

RUN_ID = re.compile(r"run_[0-9a-z]{1,64}")
_NUMBERED_TAG = re.compile(r'"?([1-9][0-9]{0,8})"?')
_WAIT = re.compile(r"wait\s*=\s*\"?(\d{1,9})\"?")


async def runtime_of(request: Request) -> Runtime:
    """What this process holds open."""
    return cast(Runtime, request.app.state.runtime)


async def known_parameters_alone(request: Request) -> None:
    """Refuse query parameters that mean nothing here: one that is mistyped would be ignored, and may cost money."""
    route = request.scope.get("route")
    if not request.url.query or not isinstance(route, APIRoute) or not route.path.startswith("/v1/"):
        return
    known = _parameters(route)
    given = Counter(name for name, _ in request.query_params.multi_items())
    listed = ", ".join(sorted(known)) or "none"
    errors = [
        {"parameter": name[:NAME_SHOWN], "detail": f"Unknown query parameter; known here: {listed}."}
        for name in given
        if name not in known
    ]
    errors += [
        {"parameter": name, "detail": "This may be given once."}
        for name, times in given.items()
        if times > 1 and name in known and not known[name]
    ]
    if errors:
        detail = "The query has a parameter that is not known here, or is given twice."
        raise Refusal(422, "parameter_unknown", detail, errors=errors[:FIELD_ERRORS_SHOWN])


def _parameters(route: APIRoute) -> dict[str, bool]:
    """The query parameters of a route, and whether each may be given more than once."""
    return dict(_declared(route.dependant))


def _declared(dependant: Dependant) -> Iterator[tuple[str, bool]]:
    for field in dependant.query_params:
        declared = field.field_info
        if isinstance(declared.annotation, type) and issubclass(declared.annotation, BaseModel):
            for name, member in declared.annotation.model_fields.items():
                yield member.alias or name, get_origin(member.annotation) is list
        else:
            yield field.alias, get_origin(declared.annotation) is list
    for needed in dependant.dependencies:
        yield from _declared(needed)


def only(request: Request, header: str) -> str | None:
    """The header, which may be sent once and at no great length. Raises `Refusal`."""
    values = request.headers.getlist(header)
    if len(set(values)) > 1 or any(len(value) > HEADER_LENGTH for value in values):
        errors = [{"parameter": header, "detail": f"This is sent once, with at most {HEADER_LENGTH} characters."}]
        raise Refusal(400, "header_invalid", "A header is sent twice, or is too long.", errors=errors)
    return values[0] if values else None


def if_match(description: str) -> Any:
    """What gives a route the versions that its client means, by their ETags; None for whichever there is."""

    async def meant(
        request: Request, _: Annotated[str | None, Header(alias="If-Match", description=description)] = None
    ) -> Collection[int] | None:
        named = only(request, "if-match")
        if named is None or named.strip() == "*":
            return None
        found = (_NUMBERED_TAG.fullmatch(each.strip()) for each in named.split(","))
        return frozenset(int(each[1]) for each in found if each is not None)

    return Depends(meant)


def is_known(tag: str, if_none_match: Sequence[str]) -> bool:
    """Whether the client has what bears this tag: the weak comparison of RFC 9110."""
    known = [each.strip().removeprefix("W/") for line in if_none_match for each in line.split(",")]
    return tag in known or "*" in known


async def _traceparent(
    request: Request,
    _: Annotated[
        str | None, Header(alias="Traceparent", description="Where the job stands in the client's own trace (W3C).")
    ] = None,
) -> str | None:
    """The client's place in its own trace, or that of the request within it, where requests have spans of their own.

    One that is not well-formed is ignored, as the standard has it.
    """
    if cast(Runtime, request.app.state.runtime).tracing is not None and (place := place_of_request()) is not None:
        return place.traceparent
    values = request.headers.getlist("traceparent")
    return values[0] if len(values) == 1 and place_in(values[0]) else None


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
    prefer = request.headers.getlist("prefer")
    if sum(map(len, prefer)) > HEADER_LENGTH:
        errors = [{"parameter": "prefer", "detail": f"This may have at most {HEADER_LENGTH} characters."}]
        raise Refusal(400, "header_invalid", "A header is too long.", errors=errors)
    preferences = [each.strip().lower() for line in prefer for each in line.split(",")]
    asked = [int(found[1]) for each in preferences if (found := _WAIT.match(each))]
    return min(asked[0], WAIT_CEILING_S) if asked else None


async def _idempotency_key(
    request: Request,
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
    only(request, "idempotency-key")
    if idempotency_key is None:
        return None
    key = idempotency_key.strip()
    if len(key) >= 2 and key[0] == key[-1] == '"':
        key = key[1:-1]
    if not 1 <= len(key) <= KEY_LENGTH or not key.isprintable():
        raise Refusal(400, "idempotency_key_invalid", f"An Idempotency-Key has 1 to {KEY_LENGTH} printable characters.")
    return key


Traceparent = Annotated[str | None, Depends(_traceparent)]
RuntimeOf = Annotated[Runtime, Depends(runtime_of)]
RunId = Annotated[str, Depends(_run_id)]
WaitSeconds = Annotated[int | None, Depends(_wait_s)]
Key = Annotated[str | None, Depends(_idempotency_key)]
