"""What people see first: the page at `/`, the description of the API at `/docs`, and the document behind it."""

import html
from functools import cache
from importlib.resources import files
from string import Template

from fastapi import APIRouter, Request
from starlette.responses import JSONResponse, Response

from app import version
from app.api.console import HOME
from app.api.errors import Refusal
from app.api.schemas.service import PROBLEMS, Home

router = APIRouter(tags=["operations"], responses=PROBLEMS)

_FILES = {"docs.js": "text/javascript", "page.css": "text/css"}
_HTML = "text/html"
_PAGE_HEADERS = {
    "Cache-Control": "no-cache",
    "Content-Security-Policy": "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}
"""Pages load nothing from other hosts, and no script that is written into them."""


@router.get(
    "/",
    response_model=Home,
    responses={200: {"description": "What this is; a page for those who accept `text/html`.", "content": {_HTML: {}}}},
)
async def home(request: Request) -> Response:
    """What answers here, in which release, and where to go on."""
    if _HTML in request.headers.get("accept", "").lower():
        here = html.escape(f"{request.url.scheme}://{request.url.netloc}")
        page = Template(_read("home.html")).substitute(version=html.escape(version), here=here)
        return Response(page, media_type=_HTML, headers=_PAGE_HEADERS | {"Vary": "Accept"})
    links = {"console": HOME, "docs": "/docs", "openapi": "/openapi.json", "jobs": "/v1/jobs", "teams": "/v1/teams"}
    said = {"name": "Chargehand", "version": version, **links, "ready": "/readyz"}
    return JSONResponse(said, headers={"Cache-Control": "no-cache", "Vary": "Accept"})


@router.get("/openapi.json", include_in_schema=False)
def description(request: Request) -> Response:
    """The OpenAPI document. Not `async`: the first call builds it, which takes longer than the loop may stand still."""
    return Response(request.app.document, media_type="application/json", headers={"Cache-Control": "no-cache"})


@router.get("/docs", include_in_schema=False)
async def docs() -> Response:
    """The description of the API as a page."""
    return Response(_read("docs.html"), media_type=_HTML, headers=_PAGE_HEADERS)


@router.get("/docs/{name}", include_in_schema=False)
async def docs_part(name: str) -> Response:
    """What the pages are made of."""
    if name not in _FILES:
        raise Refusal(404, "not_found", "There is nothing at this path.")
    return Response(_read(name), media_type=_FILES[name], headers=_PAGE_HEADERS)


@cache
def _read(name: str) -> str:
    return (files("app.api") / "static" / name).read_text(encoding="utf-8")
