"""The tool `fetch_page`: one public web page as Markdown."""

import asyncio
import codecs
import re
from contextlib import aclosing
from dataclasses import dataclass
from functools import cached_property
from http import HTTPStatus
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Self

import httpcore2
import httpx2
import trafilatura
from pydantic import Field

from app.domain.errors import ToolError
from app.tools.network_guard import AddressBlocked, NetworkGuard
from app.tools.tool import Arguments, Tool, ToolContext

REDIRECTS_ALLOWED = 5
BYTE_LIMIT = 5_000_000
SILENCE_ALLOWED_S = 10

_HTML = frozenset({"text/html", "application/xhtml+xml"})
_TEXT = re.compile(r"text/.+|application/(json|x-ndjson|xml|[^/]+\+(json|xml))")
_CHARSET_IN_HTML = re.compile(rb"<meta[^>]{0,200}charset\s*=\s*[\"']?\s*([\w-]{1,40})", re.IGNORECASE)
# Python's codecs include some that are no charsets and take very long; the web uses these.
_CHARSETS_OF_THE_WEB = re.compile(
    r"(us-?)?ascii|utf-?(8|16|16le|16be)|latin-?1|iso-?8859-?\d+|(windows|cp)-?\d+|koi8-?[ru]|mac-?\w+"
    r"|big5(-?hkscs)?|gb(k|2312|18030)|euc-?(jp|kr)|shift[-_]?jis|iso-?2022-?jp",
    re.IGNORECASE,
)
_BYTE_ORDER_MARKS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))


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
    media_type: str
    charset: str | None
    """As the server declares it."""
    body: bytes
    cut: bool
    """Whether the page goes on after `body`."""


class _GuardedTransport(httpx2.AsyncHTTPTransport):
    """httpx2's own transport over a guarded pool: it has no parameter for the network layer."""

    def __init__(self, guard: NetworkGuard) -> None:
        self._pool = httpcore2.AsyncConnectionPool(
            ssl_context=httpx2.create_ssl_context(trust_env=False),
            max_connections=100,
            max_keepalive_connections=20,
            keepalive_expiry=5,
            network_backend=guard,
        )


class PageFetcher:
    """Fetches public pages. It holds a connection pool: `close` it, or use it as a context manager."""

    def __init__(self, guard: NetworkGuard | None = None, *, byte_limit: int = BYTE_LIMIT) -> None:
        self._byte_limit = byte_limit
        self._guard = guard or NetworkGuard()

    @cached_property
    def _client(self) -> httpx2.AsyncClient:
        return httpx2.AsyncClient(
            transport=_GuardedTransport(self._guard),
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
        except httpx2.InvalidURL as error:
            raise ToolError(f"{url} is not a valid URL: {error}", "url_invalid") from None
        except httpx2.TimeoutException:
            raise ToolError(f"{url} did not answer within {SILENCE_ALLOWED_S} s", "fetch_failed") from None
        except httpx2.HTTPError as error:
            raise ToolError(
                f"{url} could not be fetched: {str(error) or type(error).__name__}", "fetch_failed"
            ) from None
        return await asyncio.to_thread(_as_markdown, page)

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
        media_type = response.headers.get("content-type", "text/html").partition(";")[0].strip().lower()
        if media_type not in _HTML and not _TEXT.fullmatch(media_type):
            raise ToolError(f"{response.url} is {media_type}; only HTML and text can be read", "media_type_unsupported")
        body = bytearray()
        async with aclosing(response.aiter_bytes()) as chunks:
            async for chunk in chunks:
                body += chunk
                if len(body) > self._byte_limit:
                    break
        cut = len(body) > self._byte_limit
        url = str(response.url)
        return _Page(url, media_type, response.charset_encoding, bytes(body[: self._byte_limit]), cut)


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
        run=run,
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


def _as_markdown(page: _Page) -> str:
    text = _decoded(page)
    title, text = _readable(text, page.url) if page.media_type in _HTML else (None, text)
    if not text.strip():
        raise ToolError(f"{page.url} has no readable text; it may need JavaScript", "no_text")
    head = [f"Title: {title}"] if title else []
    head.append(f"URL: {page.url}")
    if page.cut:
        head.append(f"Note: the page is longer; only its first {len(page.body):,} bytes were read.")
    return "\n".join(head) + "\n\n" + text


def _readable(html: str, url: str) -> tuple[str | None, str]:
    """Title and main content, or all visible text where no main content is found."""
    tree = trafilatura.load_html(html)
    if tree is None:
        return None, ""
    title = " ".join((tree.findtext(".//title") or "").split()) or None
    markdown = trafilatura.extract(html, url=url, output_format="markdown", include_links=True)
    return title, markdown or trafilatura.html2txt(html)


def _decoded(page: _Page) -> str:
    """The body as text by the web's order: byte order mark, the server's word, the page's word, UTF-8."""
    for mark, encoding in _BYTE_ORDER_MARKS:
        if page.body.startswith(mark):
            return page.body[len(mark) :].decode(encoding, "replace")
    charset = page.charset
    if charset is None and (declared := _CHARSET_IN_HTML.search(page.body[:2_048])):
        charset = declared[1].decode("ascii", "replace")
    if charset is None or not _CHARSETS_OF_THE_WEB.fullmatch(charset):
        charset = "utf-8"
    try:
        return page.body.decode(charset, "replace")
    except LookupError:
        return page.body.decode("utf-8", "replace")
