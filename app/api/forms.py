"""Jobs as `multipart/form-data`: a part `job` with the JSON, and a part `inputs` for each file, named by its file name.

What comes of a form is the value that the same job would be as JSON, so that everything behind it (checks, digests,
errors with pointers) knows one form of a job alone. Nothing of a form touches a disk: the bound of bodies holds.
"""

import asyncio
import base64
from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request, Response
from fastapi.routing import APIRoute
from python_multipart.multipart import parse_options_header
from starlette.datastructures import FormData, UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser

from app.api.bodies import JsonBodyRoute, check_encoding, parsed
from app.api.errors import Refusal
from app.api.field_errors import NAME_SHOWN, pointer_to
from app.domain.charsets import codec_of
from app.domain.media_types import AS_BYTES, UNSAID, essence_of, media_type_of
from app.domain.text import clean_text

MULTIPART = "multipart/form-data"
PARTS_AT_MOST = 101
"""Parts that are looked at: more inputs than a job may have are counted as such."""
_IN_MEMORY = 1 << 40
_PASSING_OVER_MARKS = {"utf-8": "utf-8-sig", "utf-16-le": "utf-16"}
"""Codecs that take a byte order mark for what it is, in the place of those that make a character of it."""
_FILES = {
    "type": "array",
    "items": {"type": "string", "format": "binary"},
    "description": (
        "Files that become inputs of the job, behind those that it has: the file name is the name, the type of the "
        "part the media type. PDF, DOCX and Parquet come as they are; anything else is text."
    ),
}
FORM_BODY: dict[str, Any] = {
    "requestBody": {
        "content": {
            MULTIPART: {
                "schema": {
                    "type": "object",
                    "properties": {"job": {"$ref": "#/components/schemas/Job"}, "inputs": _FILES},
                    "required": ["job"],
                    "additionalProperties": False,
                },
                "encoding": {"job": {"contentType": "application/json"}},
            }
        }
    }
}
"""A job as a form, as the description tells it."""


class JobBodyRoute(JsonBodyRoute):
    """A route whose body is a job: JSON, or a form that is the same."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The handler, given a request that parses strictly either way."""
        handle_json, handle = super().get_route_handler(), APIRoute.get_route_handler(self)

        async def handle_either(request: Request) -> Response:
            if essence_of(request.headers.get("content-type", "")) != MULTIPART:
                return await handle_json(request)
            check_encoding(request)
            return await handle(_FormRequest(request, await _job_in(request)))

        return handle_either


class _FormRequest(Request):
    """The request of a form whose body has been read, as if it had been JSON."""

    def __init__(self, request: Request, job: Any) -> None:
        headers = [each for each in request.scope["headers"] if each[0] != b"content-type"]
        headers.append((b"content-type", b"application/json"))
        super().__init__({**request.scope, "headers": headers}, request.receive)
        self._job = job

    async def body(self) -> bytes:
        """Something: the bytes themselves are not kept."""
        return b"{}"

    async def json(self) -> Any:
        return self._job


class _Parser(MultiPartParser):
    """Keeps every part in memory, and knows whether the form has come to its end."""

    spool_max_size = _IN_MEMORY
    is_whole = False

    def on_end(self) -> None:
        self.is_whole = True


async def _job_in(request: Request) -> Any:
    """The value of a job that was sent as a form. Raises `Refusal`."""
    form = await _form_in(request)
    try:
        value = await _job_part(form)
        files = [part for name, part in form.multi_items() if name == "inputs"]
        if not files or not isinstance(value, dict) or not isinstance(value.get("inputs", []), list | None):
            return value
        given = value.get("inputs") or []
        added = [await _input(part, len(given) + place) for place, part in enumerate(files)]
        return {**value, "inputs": [*given, *added]}
    finally:
        await form.close()


async def _form_in(request: Request) -> FormData:
    """All parts of the form, of which each is known."""
    parser = _Parser(
        request.headers, request.stream(), max_files=PARTS_AT_MOST, max_fields=PARTS_AT_MOST, max_part_size=_IN_MEMORY
    )
    try:
        form = await parser.parse()
    except MultiPartException as error:
        raise Refusal(400, "form_invalid", f"The body is no form that can be read: {error.message}") from None
    if not parser.is_whole:
        await form.close()
        raise Refusal(400, "form_invalid", "The body is no form that can be read: it ends before its last boundary.")
    if unknown := [name for name in dict.fromkeys(form) if name not in ("job", "inputs")]:
        await form.close()
        errors = [
            {"pointer": pointer_to(name), "detail": f"Unknown part: {clean_text(name)[:NAME_SHOWN]}"}
            for name in unknown
        ]
        raise _misfit("A form has a part job, and parts inputs.", *errors)
    return form


def _misfit(detail: str, *errors: dict[str, str]) -> Refusal:
    return Refusal(422, "request_invalid", detail, errors=errors)


async def _job_part(form: FormData) -> Any:
    """The value of the part `job`, cleaned."""
    parts = form.getlist("job")
    if len(parts) != 1:
        detail = "This part is required." if not parts else "This part may be there only once."
        raise _misfit("A form has one part job.", {"pointer": "/job", "detail": detail})
    [part] = parts
    body = part.encode() if isinstance(part, str) else await part.read()
    try:
        return await asyncio.to_thread(parsed, body)
    except Refusal as refusal:
        detail = refusal.detail.replace("The body", "The part job", 1)
        raise Refusal(refusal.status_code, refusal.code, detail, errors=refusal.errors) from None


async def _input(part: UploadFile | str, place: int) -> dict[str, str]:
    """A file as an input of a job, of which `place` is its index. Raises `Refusal`."""
    if isinstance(part, str):
        detail = "This part needs a file name, which is the name of the input."
        raise _misfit("A part inputs is no file.", {"pointer": f"/inputs/{place}/name", "detail": detail})
    name = clean_text(part.filename or "")
    said = part.content_type or ""
    media_type = media_type_of(name) if essence_of(said) in UNSAID else said
    content = await part.read()
    await part.close()
    try:
        written = await asyncio.to_thread(_written, content, media_type)
    except (UnicodeError, LookupError):
        detail = (
            "This is no text in the encoding that it should have, which is UTF-8 unless its media type says another."
        )
        raise _misfit("An input cannot be read.", {"pointer": f"/inputs/{place}/content", "detail": detail}) from None
    return {"name": name, "media_type": clean_text(media_type), "content": written}


def _written(content: bytes, media_type: str) -> str:
    """The content as it stands in a job: as text, or as base64 where it is none.

    Raises `UnicodeError`, or `LookupError` for what is no charset.
    """
    if essence_of(media_type) in AS_BYTES:
        return base64.b64encode(content).decode()
    label = parse_options_header(media_type)[1].get(b"charset", b"utf-8").decode("ascii")
    codec = codec_of(label)
    if codec is None:  # Some of Python's codecs are no charsets, and take time that grows with the square of a text.
        raise LookupError(label)
    return clean_text(content.decode(_PASSING_OVER_MARKS.get(codec, codec)))
