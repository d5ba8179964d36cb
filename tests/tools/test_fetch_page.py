import gzip
import socket
import time

import pytest

from app.domain.errors import ToolError
from app.tools.fetch_page import PageFetcher, fetch_page
from app.tools.network_guard import NetworkGuard
from app.tools.pages import answer as pages_answer
from app.tools.sandbox import Sandbox
from app.tools.tool import ToolAnswer, ToolContext, call
from tests.tools.conftest import Names
from tests.tools.site import Reply, Site

SENTENCES = "<p>The chargehand runs the crew, and the crew does the work that was planned for it.</p>" * 5
ARTICLE = f"<html><head><title>The  crew &amp; its work</title></head><body><h1>Crew</h1>{SENTENCES}</body></html>"


def text_reply(body: bytes, media_type: str) -> Reply:
    return Reply(body, headers={"Content-Type": media_type})


async def fetched(pages: PageFetcher, url: str, context: ToolContext) -> ToolAnswer:
    return await call({"fetch_page": fetch_page(pages)}, "fetch_page", {"url": url}, context)


@pytest.mark.parametrize(
    "url",
    [
        "http://169.254.169.254/", "http://127.0.0.1:{port}/", "http://localhost:{port}/", "http://LOCALHOST:{port}/",
        "http://2130706433:{port}/", "http://0x7f.1:{port}/", "http://017700000001:{port}/", "http://127.1:{port}/",
        "http://[::1]:{port}/", "http://[::ffff:127.0.0.1]:{port}/", "http://[64:ff9b::7f00:1]:{port}/",
        "http://100.64.0.1/", "http://0.0.0.0:{port}/", "http://[::]:{port}/", "http://[fec0::1]/", "http://192.88.99.1/",
        "http://224.0.0.1/", "file:///etc/hostname", "ftp://127.0.0.1:{port}/", "http://user:word@127.0.0.1:{port}/",
    ],
)  # fmt: skip
async def test_places_inside_are_blocked_in_every_spelling(
    pages: PageFetcher, canary: Site, context: ToolContext, url: str
) -> None:
    answer = await fetched(pages, url.format(port=canary.port), context)

    assert answer.error_code == "blocked"
    assert "blocked" in answer.text
    assert canary.connections == 0


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_to_the_inside_is_blocked(
    pages: PageFetcher, site: Site, canary: Site, context: ToolContext, status: int
) -> None:
    site.replies["/"] = Reply(status=status, headers={"Location": f"http://127.0.0.1:{canary.port}/"})

    answer = await fetched(pages, f"http://public.example:{site.port}/", context)

    assert answer.error_code == "blocked"
    assert (site.connections, canary.connections) == (1, 0)


async def test_a_redirect_to_a_file_is_blocked(pages: PageFetcher, site: Site, context: ToolContext) -> None:
    site.replies["/"] = Reply(status=302, headers={"Location": "file:///etc/hostname"})

    assert (await fetched(pages, f"http://public.example:{site.port}/", context)).error_code == "blocked"


async def test_the_address_that_was_checked_is_the_one_connected_to(
    pages: PageFetcher, names: Names, site: Site, canary: Site, context: ToolContext
) -> None:
    names.answers["rebinding.example"] = [["127.0.0.2"], ["127.0.0.1"]]
    site.replies["/"] = Reply(ARTICLE.encode())

    first = await fetched(pages, f"http://rebinding.example:{site.port}/", context)
    second = await fetched(pages, f"http://rebinding.example:{canary.port}/", context)

    assert first.error_code is None
    assert second.error_code == "blocked"
    assert names.asked == ["rebinding.example", "rebinding.example"]
    assert canary.connections == 0


async def test_one_inner_address_among_the_answers_blocks_the_name(
    pages: PageFetcher, names: Names, site: Site, context: ToolContext
) -> None:
    names.answers["mixed.example"] = [["127.0.0.2", "10.1.2.3"]]

    answer = await fetched(pages, f"http://mixed.example:{site.port}/", context)

    assert answer.error_code == "blocked"
    assert "10.1.2.3" not in answer.text
    assert site.connections == 0


async def test_ports_of_other_services_are_blocked(
    sandbox: Sandbox, names: Names, canary: Site, context: ToolContext
) -> None:
    async with PageFetcher(sandbox, NetworkGuard(resolve=names.resolve, permits=lambda address: True)) as pages:
        answer = await fetched(pages, f"http://127.0.0.1:{canary.port}/", context)

    assert answer.error_code == "blocked"
    assert canary.connections == 0


async def test_a_proxy_of_the_environment_is_not_used(
    sandbox: Sandbox, pages: PageFetcher, site: Site, canary: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{canary.port}")
    site.replies["/"] = Reply(ARTICLE.encode())
    async with PageFetcher(sandbox) as pages_made_with_it:
        with pytest.raises(ToolError, match="blocked"):
            await pages_made_with_it.fetch("http://127.0.0.1/")

    assert "Crew" in await pages.fetch(f"http://public.example:{site.port}/")
    assert canary.connections == 0


async def test_a_page_comes_as_markdown_under_its_title_and_final_address(pages: PageFetcher, site: Site) -> None:
    site.replies["/old"] = Reply(status=301, headers={"Location": "/new?a=1"})
    linked = ARTICLE.replace("the crew does", "the <a href='/crew'>crew</a> does", 1)
    site.replies["/new?a=1"] = Reply(linked.encode())

    text = await pages.fetch(f"http://public.example:{site.port}/old")

    origin = f"http://public.example:{site.port}"
    assert text.startswith(f"Title: The crew & its work\nURL: {origin}/new?a=1\n\n")
    assert "# Crew" in text
    assert f"[crew]({origin}/crew)" in text


async def test_endless_redirects_end(pages: PageFetcher, site: Site, context: ToolContext) -> None:
    site.replies["/"] = Reply(status=302, headers={"Location": "/"})

    answer = await fetched(pages, f"http://public.example:{site.port}/", context)

    assert answer.error_code == "fetch_failed"
    assert site.connections == 6


async def test_a_huge_body_is_read_to_the_cap_and_the_cut_is_announced(
    pages: PageFetcher, site: Site, context: ToolContext
) -> None:
    site.replies["/"] = Reply(b"x" * 99_999 + b"\n", headers={"Content-Type": "text/plain"}, body_repeated=500)

    answer = await fetched(pages, f"http://public.example:{site.port}/", context)

    assert answer.error_code is None
    assert "only its first 5,000,000 bytes were read" in answer.text
    assert site.bytes_sent < 20_000_000


async def test_a_small_body_that_unpacks_to_a_huge_one_is_read_to_the_cap(pages: PageFetcher, site: Site) -> None:
    packed = gzip.compress(b"x" * 100_000_000)
    site.replies["/"] = Reply(packed, headers={"Content-Type": "text/plain", "Content-Encoding": "gzip"})

    text = await pages.fetch(f"http://public.example:{site.port}/")

    assert len(text) < 5_001_000


async def test_a_page_without_main_content_gives_its_visible_text(pages: PageFetcher, site: Site) -> None:
    site.replies["/"] = Reply(
        b"<html><body><script>let x = 1</script><nav><span>Only a menu</span></nav></body></html>"
    )

    text = await pages.fetch(f"http://public.example:{site.port}/")

    assert "Only a menu" in text
    assert "let x" not in text


async def test_a_page_without_text_is_an_error(pages: PageFetcher, site: Site, context: ToolContext) -> None:
    site.replies["/"] = Reply(b"<html><body><div id=root></div></body></html>")

    assert (await fetched(pages, f"http://public.example:{site.port}/", context)).error_code == "no_text"


@pytest.mark.parametrize(
    ("media_type", "body"),
    [
        ("text/plain", b"plain <b>words</b>"),
        ("text/markdown; charset=utf-8", b"# Heading"),
        ("application/json", b'{"a": [1, 2]}'),
        ("application/problem+json", b'{"title": "x"}'),
        ("text/csv", b"a,b\n1,2"),
    ],
)
async def test_text_is_passed_through_as_it_is(pages: PageFetcher, site: Site, media_type: str, body: bytes) -> None:
    site.replies["/"] = text_reply(body, media_type)

    assert (await pages.fetch(f"http://public.example:{site.port}/")).endswith("\n\n" + body.decode())


@pytest.mark.parametrize("media_type", ["application/pdf", "image/png", "application/octet-stream"])
async def test_other_media_types_are_refused_by_name(
    pages: PageFetcher, site: Site, context: ToolContext, media_type: str
) -> None:
    site.replies["/"] = text_reply(b"%PDF-1.7", media_type)

    answer = await fetched(pages, f"http://public.example:{site.port}/", context)

    assert answer.error_code == "media_type_unsupported"
    assert media_type in answer.text


@pytest.mark.parametrize(
    ("media_type", "body"),
    [
        ("text/plain; charset=iso-8859-1", "Größe".encode("latin-1")),
        ("text/plain; charset=Shift_JIS", "日本".encode("shift_jis") + b" Gr\xc3"),
        ("text/plain", b"\xef\xbb\xbf" + "Größe".encode()),
        ("text/plain", "Größe 日本".encode("utf-16")),
        ("text/plain; charset=idna", "Größe".encode()),
        ("text/plain; charset=cp99999", "Größe".encode()),
        ("text/html", "<html><head><meta charset='windows-1252'></head><body>Größe</body></html>".encode("cp1252")),
    ],
)
async def test_the_declared_charset_is_respected(pages: PageFetcher, site: Site, media_type: str, body: bytes) -> None:
    site.replies["/"] = text_reply(body, media_type)

    text = await pages.fetch(f"http://public.example:{site.port}/")

    assert "Größe" in text or "日本" in text


@pytest.mark.parametrize(("status", "named"), [(404, "404 (Not Found)"), (503, "503"), (599, "599"), (304, "304")])
async def test_an_http_error_names_its_status(
    pages: PageFetcher, site: Site, context: ToolContext, status: int, named: str
) -> None:
    site.replies["/"] = Reply(b"no", status=status)

    answer = await fetched(pages, f"http://public.example:{site.port}/", context)

    assert answer.error_code == "http_error"
    assert named in answer.text


async def test_cookies_are_not_carried_from_one_page_to_the_next(pages: PageFetcher, site: Site) -> None:
    site.replies["/"] = Reply(
        ARTICLE.encode(), headers={"Content-Type": "text/html", "Set-Cookie": "session=s3; Path=/"}
    )

    for _ in range(2):
        await pages.fetch(f"http://public.example:{site.port}/")

    assert "cookie" not in "".join(site.requests).lower()


async def test_a_server_that_cannot_be_reached_is_an_error(pages: PageFetcher, context: ToolContext) -> None:
    with socket.socket() as unlistened:
        unlistened.bind(("127.0.0.2", 0))
        answer = await fetched(pages, f"http://public.example:{unlistened.getsockname()[1]}/", context)

    assert answer.error_code == "fetch_failed"


@pytest.mark.parametrize("url", ["", "news", "//host/", "http://a\x00b/"])
async def test_what_is_no_url_is_an_error(pages: PageFetcher, context: ToolContext, url: str) -> None:
    assert (await fetched(pages, url, context)).error_code == "url_invalid"


async def test_an_unknown_host_is_an_error(pages: PageFetcher, names: Names, context: ToolContext) -> None:
    names.answers["nowhere.example"] = [[]]

    assert (await fetched(pages, "http://nowhere.example/", context)).error_code == "host_unknown"


@pytest.mark.parametrize(
    "url", ["http://public.example/\ud800", "http://\ud800.example/", "\ud800", "http://a\udc00b/"]
)
async def test_a_url_that_no_bytes_can_be_made_of_is_an_error(
    pages: PageFetcher, context: ToolContext, url: str
) -> None:
    answer = await fetched(pages, url, context)

    assert answer.error_code in {"url_invalid", "tool_call_invalid"}
    assert answer.text.encode()


@pytest.mark.parametrize(
    ("label", "codec", "text"),
    [
        ("gb2312", "gbk", "朱镕基"), ("GBK", "gb18030", "𠮷野家"), ("iso-8859-1", "cp1252", "“10 €”"),
        ("us-ascii", "cp1252", "“10 €”"), ("latin1", "cp1252", "10 €"), ("iso_8859-1", "cp1252", "10 €"),
        ("shift_jis", "cp932", "①髙"), ("x-sjis", "cp932", "①髙"), ("windows-31j", "cp932", "①髙"),
        ("euc-kr", "cp949", "똠방각하"), ("ks_c_5601-1987", "cp949", "똠방각하"), ("windows-874", "cp874", "ไทย €"),
        ("tis-620", "cp874", "ไทย €"), ("iso8859-9", "cp1254", "ğ €"), ("iso-8859-8-i", "iso-8859-8", "שלום"),
        ("big5", "big5hkscs", "𠝹"), ("windows-1251", "cp1251", "Привет"), ("koi8-r", "koi8-r", "Привет"),
        ("macintosh", "mac-roman", "é"), ('"utf8"', "utf-8", "é"),
    ],
)  # fmt: skip
async def test_a_label_means_what_it_means_on_the_web(
    pages: PageFetcher, site: Site, label: str, codec: str, text: str
) -> None:
    site.replies["/"] = text_reply(text.encode(codec), f"text/plain; charset={label}")

    assert (await pages.fetch(f"http://public.example:{site.port}/")).endswith("\n\n" + text)


@pytest.mark.parametrize("media_type", ["text/xml", "application/xml", "application/rss+xml", "application/xhtml+xml"])
async def test_xml_declares_its_own_charset(pages: PageFetcher, site: Site, media_type: str) -> None:
    body = "<?xml version='1.0' encoding='ISO-8859-1'?><html><body><p>Café “x”</p></body></html>".encode("cp1252")
    site.replies["/"] = text_reply(body, media_type)

    assert "Café “x”" in await pages.fetch(f"http://public.example:{site.port}/")


@pytest.mark.parametrize(
    "value", ["text/html, text/html", "text/html; charset=iso-8859-1, text/html", "bogus, text/html"]
)
async def test_a_type_that_is_sent_twice_is_one(pages: PageFetcher, site: Site, value: str) -> None:
    site.replies["/"] = text_reply(ARTICLE.encode(), value)

    text = await pages.fetch(f"http://public.example:{site.port}/")

    assert "Title: The crew & its work" in text
    assert "<p>" not in text


async def test_a_packing_that_nobody_knows_is_refused(pages: PageFetcher, site: Site, context: ToolContext) -> None:
    site.replies["/"] = Reply(b"\x01\x02", headers={"Content-Type": "text/html", "Content-Encoding": "gzip, snappy"})

    answer = await fetched(pages, f"http://public.example:{site.port}/", context)

    assert answer.error_code == "media_type_unsupported"
    assert "snappy" in answer.text


@pytest.mark.parametrize(
    ("content", "target"),
    [
        ("0; url=/new", "{origin}/new"),
        ("5;URL='https://b.example/x'", "https://b.example/x"),
        ("0,new", "{origin}/new"),
    ],
)
async def test_where_a_page_sends_its_readers_is_told(
    pages: PageFetcher, site: Site, context: ToolContext, content: str, target: str
) -> None:
    origin = f"http://public.example:{site.port}"
    refresh = f'<html><head><meta http-equiv="Refresh" content="{content}"></head><body>'
    site.replies["/"] = Reply(f"{refresh}<p>Redirecting...</p></body></html>".encode())
    site.replies["/blank"] = Reply(f"{refresh}</body></html>".encode())

    expected = f"the page sends its readers on to {target.format(origin=origin)}"
    assert expected in await pages.fetch(f"{origin}/")
    assert expected in (await fetched(pages, f"{origin}/blank", context)).text


@pytest.mark.parametrize(
    "piece", ["<p>word", "<br>", "<table><tr><td>a</td></tr></table>", "<a href=/x>y</a>", "<div>", "<"]
)
async def test_a_page_of_nothing_but_tags_is_read_in_time(piece: str) -> None:
    started = time.process_time()
    body = (piece * (2_000_000 // len(piece))).encode()

    answer = pages_answer({"url": "http://a/", "html": True, "charset": None, "cut": False}, iter([body]))

    assert "text" in answer or answer["code"] == "no_text"
    assert time.process_time() - started < 10
