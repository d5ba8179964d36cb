"""Request bodies: strict JSON of bounded depth and extent, its text cleaned before anything else sees it."""

import asyncio
import math
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any

from fastapi import Request, Response
from fastapi.routing import APIRoute

from app.api.errors import Refusal
from app.api.field_errors import pointer_to
from app.api.json_reader import (
    BARE_BYTES_ALLOWED,
    PIECE_BYTES,
    VALUES_ALLOWED,
    JsonReader,
    NotJson,
    TooManyValues,
)

DEPTH_ALLOWED = 100
"""Levels that a body may nest."""
NUMBERS_SHOWN = 50


class JsonBodyRoute(APIRoute):
    """A route whose body must be JSON as we accept it."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The handler, given a request that parses strictly."""
        handle = super().get_route_handler()

        async def handle_strictly(request: Request) -> Response:
            _check_headers(request)
            strict = _StrictRequest(request.scope, request.receive)
            await strict.body()
            return await handle(strict)

        return handle_strictly


def _check_headers(request: Request) -> None:
    """Refuse what does not say that it is JSON before any of it is read."""
    headers = request.headers
    if headers.get("content-length", "0") == "0" and "transfer-encoding" not in headers:
        return
    check_encoding(request)
    if not _says_json(headers.getlist("content-type")):
        raise Refusal(415, "media_type_unsupported", "The body must be sent as application/json.")


def check_encoding(request: Request) -> None:
    """Refuse a body that is compressed: nobody knows how long it is."""
    if request.headers.get("content-encoding", "identity").strip().lower() not in ("", "identity"):
        accepted = {"Accept-Encoding": "identity"}
        raise Refusal(415, "content_encoding_unsupported", "The body must be sent uncompressed.", headers=accepted)


def _says_json(content_types: list[str]) -> bool:
    media_types = {each.partition(";")[0].strip().lower() for each in content_types}
    if len(media_types) != 1:
        return False
    media_type = media_types.pop()
    return media_type == "application/json" or (media_type.startswith("application/") and media_type.endswith("+json"))


class _StrictRequest(Request):
    """A request that reads its body as JSON while it comes, and keeps the value alone."""

    _parsed: Any = None
    _read = False
    _present = False

    async def body(self) -> bytes:
        """Something, if there is a body; its bytes are not kept."""
        if not self._read:
            self._read = True
            reader = await _read(self)
            self._present = reader is not None
            self._parsed = reader and _value(reader)
        return b"{}" if self._present else b""

    async def json(self) -> Any:
        await self.body()
        return self._parsed


async def _read(request: Request) -> JsonReader | None:
    """The reader after the whole body; None when there is none."""
    reader, any_byte = JsonReader(), False
    with _refusals():
        async for chunk in request.stream():
            for start in range(0, len(chunk), PIECE_BYTES):
                if start:
                    await asyncio.sleep(0)
                any_byte = True
                reader.take(chunk[start : start + PIECE_BYTES])
    return reader if any_byte else None


def parsed(body: bytes) -> Any:
    """The cleaned JSON value of a body. Raises `Refusal`."""
    reader = JsonReader()
    with _refusals():
        reader.take(body)
    return _value(reader)


def _value(reader: JsonReader) -> Any:
    with _refusals():
        value = reader.value()
    if depth_of(value) > DEPTH_ALLOWED:
        raise Refusal(422, "nesting_too_deep", f"The body may nest at most {DEPTH_ALLOWED} levels.")
    if places := list(_unkept_numbers(value)):
        detail = "This number is beyond the range or the precision that is kept."
        errors = [{"pointer": place, "detail": detail} for place in places[:NUMBERS_SHOWN]]
        raise Refusal(422, "number_out_of_range", "The body has a number that cannot be kept.", errors=errors)
    with _refusals():
        return reader.finished(value)


@contextmanager
def _refusals() -> Iterator[None]:
    try:
        yield
    except NotJson as error:
        raise Refusal(400, "json_invalid", str(error)) from None
    except TooManyValues:
        detail = f"The body may have at most {VALUES_ALLOWED} values, and {BARE_BYTES_ALLOWED} bytes outside of texts."
        raise Refusal(422, "too_many_values", detail) from None


def depth_of(value: Any) -> int:
    """How many levels of arrays and objects a JSON value has."""
    depth, level = 0, [value]
    while level := [item for item in level if isinstance(item, dict | list)]:
        depth += 1
        level = [inner for item in level for inner in (item.values() if isinstance(item, dict) else item)]
    return depth


def _unkept_numbers(value: Any, *path: str | int) -> Iterator[str]:
    match value:
        case float():
            if math.isinf(value):
                yield pointer_to(*path)
        case dict():
            for name, item in value.items():
                yield from _unkept_numbers(item, *path, name)
        case list():
            for index, item in enumerate(value):
                yield from _unkept_numbers(item, *path, index)
