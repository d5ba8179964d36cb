"""Request bodies: strict JSON of bounded depth and extent, its text cleaned before anything else sees it."""

import json
from collections.abc import Callable, Coroutine
from typing import Any, NoReturn

from fastapi import Request, Response
from fastapi.routing import APIRoute

from app.api.errors import Refusal
from app.domain.text import clean

DEPTH_ALLOWED = 100
"""Levels that a body may nest."""
DEPTH_READ = 600
"""Levels beyond which a body does not count as JSON at all; parsers give up somewhere behind it."""
VALUES_ALLOWED = 20_000
"""Items of arrays and members of objects that a body may have in all: each may be wrong in a way of its own, and while
the errors are built the process serves nobody else."""


class JsonBodyRoute(APIRoute):
    """A route whose body must be JSON as we accept it."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The handler, given a request that parses strictly."""
        handle = super().get_route_handler()

        async def handle_strictly(request: Request) -> Response:
            strict = _StrictRequest(request.scope, request.receive)
            if await strict.body() and not _says_json(request.headers.get("content-type", "")):
                raise Refusal(415, "media_type_unsupported", "The body must be sent as application/json.")
            return await handle(strict)

        return handle_strictly


class _StrictRequest(Request):
    async def json(self) -> Any:
        if not hasattr(self, "_parsed"):
            self._parsed = parsed(await self.body())
        return self._parsed


def parsed(body: bytes) -> Any:
    """The cleaned JSON value of a body. Raises `Refusal`."""
    try:
        value = json.loads(body, parse_constant=_not_json)
        depth, values = extent_of(value)
    except (ValueError, RecursionError):
        raise Refusal(400, "json_invalid", "The body is not JSON.") from None
    if depth > DEPTH_READ:
        raise Refusal(400, "json_invalid", "The body is nested too deeply to be read.")
    if depth > DEPTH_ALLOWED:
        raise Refusal(422, "nesting_too_deep", f"The body may nest at most {DEPTH_ALLOWED} levels.")
    if values > VALUES_ALLOWED:
        raise Refusal(422, "too_many_values", f"The body may have at most {VALUES_ALLOWED} values.")
    return clean(value)


def extent_of(value: Any) -> tuple[int, int]:
    """How many levels of arrays and objects a JSON value has, and how many items and members they hold.

    Nothing is looked at behind the level with which there are more than `VALUES_ALLOWED`.
    """
    depth, values, level = 0, 0, [value]
    while level := [item for item in level if isinstance(item, dict | list)]:
        depth += 1
        values += sum(map(len, level))
        if values > VALUES_ALLOWED:
            break
        level = [inner for item in level for inner in (item.values() if isinstance(item, dict) else item)]
    return depth, values


def _not_json(constant: str) -> NoReturn:
    raise ValueError(constant)


def _says_json(content_type: str) -> bool:
    media_type = content_type.partition(";")[0].strip().lower()
    return media_type == "application/json" or (media_type.startswith("application/") and media_type.endswith("+json"))
