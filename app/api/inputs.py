"""What a job was given to work on, read back."""

import re
from collections.abc import Iterator
from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Path, Request
from starlette.responses import JSONResponse, Response, StreamingResponse

from app.api.deps import RunId, is_known
from app.api.errors import Refusal
from app.api.resources import INERT, page
from app.api.runs import IfNoneMatch, existing_run
from app.api.schemas.runs import InputPage
from app.api.schemas.service import PROBLEMS
from app.api.visits import VisitOf
from app.domain.base64_text import bytes_in_pieces
from app.domain.job import JobInput
from app.domain.media_types import AS_BYTES, begins_as, essence_of
from app.domain.text import clean_text
from app.store.inputs import input_named, inputs_of

_PIECE = 65_536
"""Characters that are encoded at a time."""
_MEDIA_TYPE = re.compile(r"[a-z0-9!#$&^_.+-]{1,100}/[a-z0-9!#$&^_.+-]{1,100}")
_SHOWN_AS_THEY_ARE = frozenset(
    {"text/plain", "text/csv", "text/tab-separated-values", "text/markdown", "application/json"}
)
"""What a browser shows as text. Anything else it might run, or hand to a program that does: that it is to save."""

router = APIRouter(prefix="/v1/runs", tags=["runs"], responses=PROBLEMS)

Name = Annotated[str, Path(description="Name of an input, percent-encoded; slashes may stay as they are.")]


@router.get("/{run_id}/inputs", response_model=InputPage)
async def list_inputs(run_id: RunId, visit: VisitOf) -> Response:
    """The inputs of the job, without their content."""
    found = await inputs_of(visit.database, visit.tenant, run_id)
    if not found:
        await existing_run(visit, run_id)
    listed = [
        {
            "name": item.name,
            "media_type": item.media_type,
            "characters": item.characters,
            "url": f"/v1/runs/{run_id}/inputs/{quote(item.name, safe='')}",
        }
        for item in found
    ]
    return JSONResponse(page(listed))


@router.get(
    "/{run_id}/inputs/{name:path}",
    response_class=Response,
    responses={
        200: {
            "description": "The input. `Content-Type` is the media type that the job gave it.",
            "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
        },
        304: {"description": "The client has it already: an input never changes."},
    },
)
async def get_input(request: Request, run_id: RunId, name: Name, visit: VisitOf, _: IfNoneMatch = None) -> Response:
    """An input of the job, as it was sent: text as UTF-8, Parquet, PDF and DOCX as the file itself.

    A browser shows plain text, CSV, Markdown and JSON; anything else it saves.
    """
    item = await input_named(visit.database, visit.tenant, run_id, clean_text(name))
    if item is None:
        await existing_run(visit, run_id)
        raise Refusal(404, "input_not_found", "The run has no input of this name.")
    media_type = _media_type(item)
    shown = "inline" if media_type in _SHOWN_AS_THEY_ARE else "attachment"
    headers = {
        "Content-Type": f"{media_type}; charset=utf-8" if media_type.startswith("text/") else media_type,
        "Content-Disposition": f"{shown}; filename*=UTF-8''{quote(item.name, safe='')}",
        **INERT,
        "ETag": f'"{run_id}"',
    }
    if is_known(headers["ETag"], request.headers.getlist("if-none-match")):
        return Response(status_code=304, headers={"ETag": headers["ETag"]})
    return StreamingResponse(_pieces(item, media_type), headers=headers)


def _media_type(item: JobInput) -> str:
    """The type without its parameters: text is sent in our encoding, whatever it came in. Nonsense is mere bytes."""
    essence = essence_of(item.media_type)
    if essence in AS_BYTES and not begins_as(essence, item.content):
        return "text/plain"
    return essence if _MEDIA_TYPE.fullmatch(essence) else "application/octet-stream"


def _pieces(item: JobInput, media_type: str) -> Iterator[bytes]:
    """The bytes to send. They are made in a thread, piece by piece."""
    begin = item.content.find(",") + 1 if media_type in AS_BYTES else 0  # behind the head of a data URL
    pieces = (item.content[start : start + _PIECE] for start in range(begin, len(item.content), _PIECE))
    return bytes_in_pieces(pieces) if media_type in AS_BYTES else (piece.encode() for piece in pieces)
