"""The files that a run handed over, as downloads: nothing of them is ever shown or run where it comes from."""

import hashlib
import unicodedata
from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Path, Request
from starlette.responses import JSONResponse, Response

from app.api.deps import RunId, is_known
from app.api.errors import Refusal
from app.api.resources import INERT, page
from app.api.runs import IfNoneMatch, existing_run
from app.api.schemas.runs import ArtifactPage
from app.api.schemas.service import PROBLEMS
from app.api.visits import VisitOf
from app.domain.text import clean_text
from app.store.artifacts import file_named, files_of

_AS_HANDED_OVER = frozenset({
    "application/json", "application/x-ndjson", "application/sarif+json", "application/zip", "application/pdf",
    "application/vnd.apache.parquet", "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", "image/png", "image/jpeg", "image/gif",
    "image/webp",
})  # fmt: skip
"""What nothing runs, whatever is in it. A model has chosen the type of a file as it has chosen what is in it."""
_TEXTS = frozenset({"text/plain", "text/markdown", "text/csv", "text/tab-separated-values"})
"""What is text to everybody. Other text is sent as plain: HTML and scripts are no longer any then."""
_PLAIN = "text/plain; charset=utf-8"
_LIKE_TEXT = ("+xml", "/xml", "javascript", "ecmascript", "+json", "yaml", "/toml", "/sql", "x-sh", "x-python")
"""What is text too, by the end of its media type."""

router = APIRouter(prefix="/v1/runs", tags=["runs"], responses=PROBLEMS)

Name = Annotated[str, Path(description="Name of a file as the run lists it, percent-encoded.")]


@router.get("/{run_id}/artifacts", response_model=ArtifactPage)
async def list_artifacts(run_id: RunId, visit: VisitOf) -> Response:
    """The files that the run has handed over so far, in the order in which they came.

    Those of a task are there as soon as it has succeeded, those of the answer once the run has ended.
    """
    found = await files_of(visit.database, visit.tenant, run_id)
    if not found:
        await existing_run(visit, run_id)
    return JSONResponse(page([each.model_dump() for each in found]))


@router.get(
    "/{run_id}/artifacts/{name}",
    response_class=Response,
    responses={
        200: {
            "description": "The file. `Content-Type` is its media type where that is a harmless one; other text is "
            "sent as `text/plain`, and anything else as `application/octet-stream`.",
            "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
        },
        304: {"description": "The client has it already: a file never changes."},
    },
)
async def get_artifact(request: Request, run_id: RunId, name: Name, visit: VisitOf, _: IfNoneMatch = None) -> Response:
    """A file that the run handed over, to be saved. A browser shows none of them, and runs nothing in them."""
    found = await file_named(visit.database, visit.tenant, run_id, clean_text(name))
    if found is None:
        await existing_run(visit, run_id)
        raise Refusal(404, "artifact_not_found", "The run has handed over no file of this name.")
    tag = f'"{hashlib.sha256(found.content).hexdigest()[:32]}"'
    if is_known(tag, request.headers.getlist("if-none-match")):
        return Response(status_code=304, headers={"ETag": tag})
    headers = {
        "Content-Disposition": disposition_of(found.name),
        **INERT,
        "ETag": tag,
    }
    # The header goes as it is: the framework would add a charset of its own to some types.
    return Response(found.content, headers=headers | {"Content-Type": sent_as(found.media_type)})


def sent_as(media_type: str) -> str:
    """What a file of a media type is sent as."""
    if media_type in _TEXTS:
        return f"{media_type}; charset=utf-8"
    if media_type in _AS_HANDED_OVER:
        return media_type
    is_text = media_type.startswith("text/") or media_type.endswith(_LIKE_TEXT)
    return _PLAIN if is_text else "application/octet-stream"


def disposition_of(name: str) -> str:
    """The header that has a file saved under its name (RFC 6266): in full, and in plain letters for old clients."""
    letters = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    plain = "".join("_" if char in '"\\%;' else char for char in letters) or "file"
    return f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(name, safe='')}"
