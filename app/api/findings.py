"""What is wrong with a request, said without repeating what the client sent."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

FINDINGS_SHOWN = 50
NAME_SHOWN = 100
"""Characters of a client's own field name that an answer repeats."""

_NOT_OFFERED = {
    "/approval": 'Approval of plans is not offered; leave it out or send "none".',
    "/strategy": 'Only the strategy "merge" is offered; leave it out or send null.',
    "/plan/strategy": 'Only the strategy "merge" is offered.',
    "/webhook": "Webhooks are not offered; leave it out or send null.",
}


def findings_of(errors: Iterable[Mapping[str, Any]], body: Any) -> list[dict[str, str]]:
    """Validation errors as `{pointer, detail}` for the body and `{parameter, detail}` for the rest, one a place.

    Places behind the first `FINDINGS_SHOWN` are left out.
    """
    places: dict[tuple[str, str], list[str]] = {}
    for error in errors:
        source, *path = error["loc"]
        if source == "body":
            place = "pointer", _pointer(path, body, error["type"])
        else:
            place = "parameter", str(path[0])[:NAME_SHOWN] if path else str(source)
        if len(places) == FINDINGS_SHOWN and place not in places:
            break
        details = places.setdefault(place, [])
        if (detail := _detail(error, place[1])) not in details:
            details.append(detail)
    return [{kind: name, "detail": "; ".join(details)} for (kind, name), details in places.items()]


def pointer_to(*path: str | int) -> str:
    """The JSON pointer (RFC 6901) to a place."""
    return "".join(f"/{str(part)[:NAME_SHOWN].replace('~', '~0').replace('/', '~1')}" for part in path)


def _pointer(path: Sequence[str | int], body: Any, kind: str) -> str:
    """The pointer to the place of an error; marks that the validator adds for itself are left out."""
    known: list[str | int] = []
    for part in path:
        inner = _inner(body, part)
        if not inner and not (kind == "missing" and part == path[-1]):
            break
        known.append(part)
        body = inner[0] if inner else None
    return pointer_to(*known)


def _inner(body: Any, part: str | int) -> tuple[Any, ...]:
    """What a body holds at one step of a path, or nothing."""
    if isinstance(body, dict):
        return (body[part],) if part in body else ()
    if isinstance(body, list) and isinstance(part, int):
        return tuple(body[part : part + 1])
    return ()


def _detail(error: Mapping[str, Any], place: str) -> str:
    if error["type"] == "missing":
        return "This is required."
    if error["type"] == "extra_forbidden":
        return f"Unknown field: {str(error['loc'][-1])[:NAME_SHOWN]}"
    if place in _NOT_OFFERED:
        return _NOT_OFFERED[place]
    return str(error["msg"]).removeprefix("Value error, ")
