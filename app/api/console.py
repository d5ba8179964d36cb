"""The console at `/console`: plain files, the same for everybody. What they show they ask the API for."""

import gzip
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from string import Template

from fastapi import APIRouter, Request
from starlette.responses import Response

from app.api.deps import is_known
from app.api.errors import Refusal

PAGE = "index.html"
HOME = "/console"

router = APIRouter(prefix=HOME, include_in_schema=False)

_MEDIA_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
}
_HEADERS = {
    "Cache-Control": "no-cache",
    "Content-Security-Policy": (
        "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; object-src 'none'; "
        "require-trusted-types-for 'script'; trusted-types 'none'"
    ),
    "Cross-Origin-Opener-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Vary": "Accept, Accept-Encoding",
}
"""Nothing comes from other hosts, no script is written into a page, and no text becomes markup."""


@dataclass(frozen=True, slots=True)
class _File:
    """A file as it goes over the wire."""

    plain: bytes
    packed: bytes
    media_type: str
    tag: str


@router.get("")
@router.get("/{path:path}")
def console(request: Request, path: str = "") -> Response:
    """A file of the console, or its page for every address that a person may open.

    Not `async`: the first call packs the files.
    """
    found = _files().get(path or PAGE)
    if found is None:
        if "text/html" not in request.headers.get("accept", "").lower():
            raise Refusal(404, "not_found", "There is nothing at this path.")
        found = _files()[PAGE]
    headers = _HEADERS | {"ETag": f"W/{found.tag}"}  # Packed or not, it is the same file.
    if is_known(found.tag, request.headers.getlist("if-none-match")):
        return Response(status_code=304, headers=headers)
    if "gzip" in request.headers.get("accept-encoding", "").lower():
        return Response(found.packed, media_type=found.media_type, headers=headers | {"Content-Encoding": "gzip"})
    return Response(found.plain, media_type=found.media_type, headers=headers)


def console_of(run_id: str) -> str:
    """The address of a run's page."""
    return f"{HOME}/runs/{run_id}"


@cache
def _files() -> dict[str, _File]:
    """The files by their paths. The page names all that it is made of, so that a browser asks for it at once."""
    contents = dict(_contents(files("app") / "console"))
    parts = "\n".join(
        f'<link rel="{rel}" href="{HOME}/{path}">'
        for suffix, rel in ((".css", "stylesheet"), (".js", "modulepreload"))
        for path in sorted(contents)
        if path.endswith(suffix)
    )
    page = Template(contents[PAGE].decode()).substitute(parts=parts)
    return {path: _packed(path, content) for path, content in (contents | {PAGE: page.encode()}).items()}


def _contents(folder: Traversable, above: str = "") -> Iterator[tuple[str, bytes]]:
    for each in folder.iterdir():
        if each.is_dir():
            yield from _contents(each, f"{above}{each.name}/")
        elif f".{each.name.rpartition('.')[2]}" in _MEDIA_TYPES:
            yield f"{above}{each.name}", each.read_bytes()


def _packed(path: str, content: bytes) -> _File:
    kind = _MEDIA_TYPES[f".{path.rpartition('.')[2]}"]
    tag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
    return _File(content, gzip.compress(content, mtime=0), kind, tag)
