"""The tool `fetch_page`: one public web page as Markdown."""

import re
from contextlib import aclosing
from dataclasses import dataclass
from functools import cached_property
from http import HTTPStatus
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Self

import httpx2
from pydantic import Field

from app.domain.errors import ToolError
from app.tools.guarded_http import GuardedTransport
from app.tools.network_guard import AddressBlocked, NetworkGuard
from app.tools.sandbox import Sandbox
from app.tools.tool import Arguments, Tool, ToolContext

REDIRECTS_ALLOWED = 5
BYTE_LIMIT = 5_000_000
SILENCE_ALLOWED_S = 10

WAIT_S = 60
"""For the page, for a place in the sandbox, and for the work there."""
PATIENCE_S = 20
"""For the place."""

_HTML = frozenset({"text/html", "application/xhtml+xml"})
_TEXT = re.compile(r"text/.+|application/(json|x-ndjson|xml|[^/]+\+(json|xml))")


class FetchPage(Arguments):
    """What to fetch."""

    url: str = Field(
        max_length=2_000,
        description="Absolute URL of a public page, with http:// or https://, for instance https://example.org/news.",
    )


@dataclass(frozen=True, slots=True)
class _Page:
    url: str
    """Where the redirects ended."""
    html: bool
    charset: str | None
    """As the server declares it."""
    body: bytes
    cut: bool
    """Whether the page goes on after `body`."""


class PageFetcher:
    """Fetches public pages, and has them read in `sandbox`.

    It holds a connection pool: `close` it, or use it as a context manager.
    """

    def __init__(self, sandbox: Sandbox, guard: NetworkGuard | None = None, *, byte_limit: int = BYTE_LIMIT) -> None:
        self._sandbox = sandbox
        self._byte_limit = byte_limit
        self._guard = guard or NetworkGuard()

    @cached_property
    def _client(self) -> httpx2.AsyncClient:
        return httpx2.AsyncClient(
            transport=GuardedTransport(self._guard),
            trust_env=False,
            follow_redirects=False,
            timeout=SILENCE_ALLOWED_S,
            headers={
                "User-Agent": "Mozilla/5.0 (compatible; Chargehand)",
                "Accept": "text/html, text/*;q=0.9, */*;q=0.1",
            },
            # The client outlives runs and tenants, so that it must not carry cookies from one to the next.
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close every connection."""
        if "_client" in vars(self):
            await self._client.aclose()

    async def fetch(self, url: str) -> str:
        """The page at `url` as Markdown under its title and final address; raises `ToolError`."""
        try:
            page = await self._follow(httpx2.URL(url))
        except (httpx2.InvalidURL, UnicodeError) as error:
            raise ToolError(f"{url} is not a valid URL: {error}", "url_invalid") from None
        except httpx2.TimeoutException:
            raise ToolError(f"{url} did not answer within {SILENCE_ALLOWED_S} s", "fetch_failed") from None
        except httpx2.HTTPError as error:
            raise ToolError(
                f"{url} could not be fetched: {str(error) or type(error).__name__}", "fetch_failed"
            ) from None
        request = {"url": page.url, "html": page.html, "charset": page.charset, "cut": page.cut}
        answer = await self._sandbox.answer("app.tools.pages", request, [page.body], patience_s=PATIENCE_S)
        if "error" in answer:
            raise ToolError(answer["error"], answer["code"])
        return str(answer["text"])

    async def _follow(self, url: httpx2.URL) -> _Page:
        for _ in range(REDIRECTS_ALLOWED + 1):
            _refuse_unless_web(url)
            async with self._client.stream("GET", url) as response:
                if response.next_request is None:
                    return await self._read(response)
                url = response.next_request.url
        raise ToolError(f"more than {REDIRECTS_ALLOWED} redirects; the last one leads to {url}", "fetch_failed")

    async def _read(self, response: httpx2.Response) -> _Page:
        if not response.is_success:
            raise ToolError(f"{response.url} answered with HTTP status {_named(response.status_code)}", "http_error")
        media_type, charset = _content_type(response.headers)
        if media_type not in _HTML and not _TEXT.fullmatch(media_type):
            raise ToolError(f"{response.url} is {media_type}; only HTML and text can be read", "media_type_unsupported")
        self._refuse_unknown_encoding(response)
        body = bytearray()
        async with aclosing(response.aiter_bytes()) as chunks:
            async for chunk in chunks:
                body += chunk
                if len(body) > self._byte_limit:
                    break
        cut = len(body) > self._byte_limit
        url = str(response.url)
        return _Page(url, media_type in _HTML, charset, bytes(body[: self._byte_limit]), cut)

    def _refuse_unknown_encoding(self, response: httpx2.Response) -> None:
        """The client passes on as it came what it cannot unpack."""
        known = {"", "identity", *self._client.headers["accept-encoding"].replace(" ", "").split(",")}
        packed = {each.strip().lower() for each in response.headers.get_list("content-encoding", split_commas=True)}
        if unknown := packed - known:
            names = ", ".join(sorted(unknown))
            raise ToolError(f"{response.url} is packed as {names}, which cannot be read", "media_type_unsupported")


def fetch_page(pages: PageFetcher) -> Tool:
    """The tool over `pages`."""

    async def run(arguments: FetchPage, context: ToolContext) -> str:
        return await pages.fetch(arguments.url)

    return Tool(
        name="fetch_page",
        description=(
            "Reads one public web page and returns its title, its final URL and its main content as Markdown with "
            "links. Also reads plain text, Markdown, CSV, JSON and XML. It follows up to 5 redirects and reads the "
            "first 5 MB. It runs no JavaScript, cannot log in, and reads no PDF, image or other binary file; addresses "
            "inside private networks are blocked. Use it when you know the URL; it cannot search the web."
        ),
        arguments=FetchPage,
        effect="read",
        reads="web",
        run=run,
        timeout_s=WAIT_S,
    )


def _refuse_unless_web(url: httpx2.URL) -> None:
    if not url.scheme:
        raise ToolError(f"{url} is not an absolute URL like https://example.org/news", "url_invalid")
    if url.scheme not in {"http", "https"} or not url.host:
        raise AddressBlocked(f"{url} is not an http or https URL", "blocked")
    if url.userinfo:
        raise AddressBlocked("URLs with a user name or password are not fetched", "blocked")


def _named(status: int) -> str:
    try:
        return f"{status} ({HTTPStatus(status).phrase})"
    except ValueError:
        return str(status)


def _content_type(headers: httpx2.Headers) -> tuple[str, str | None]:
    """Media type and charset. Sent more than once, the last one counts, and keeps the charset of one of its kind."""
    media_type, charset = "", None
    for value in headers.get_list("content-type", split_commas=True):
        named, *parameters = (part.strip() for part in value.split(";"))
        if "/" not in named:
            continue
        if named.lower() != media_type:
            media_type, charset = named.lower(), None
        for parameter in parameters:
            name, _, given = parameter.partition("=")
            if name.strip().lower() == "charset":
                charset = given.strip(" \"'")
    return media_type or "text/html", charset
