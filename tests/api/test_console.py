"""The files of the console: who gets them, what stands above them, and what must not be in them."""

import gzip
import re

import pytest

from tests.support.api import Api, Starts
from tests.support.postgres import ROOT

CONSOLE = ROOT / "app" / "console"
FILES = sorted(path.relative_to(CONSOLE).as_posix() for path in CONSOLE.rglob("*") if path.is_file())
MEDIA_TYPES = {"html": "text/html", "js": "text/javascript", "css": "text/css", "svg": "image/svg+xml"}
BROWSER = {"accept": "text/html,application/xhtml+xml,*/*;q=0.8"}


async def test_every_file_is_there_and_is_what_it_is_called(api: Api) -> None:
    assert len(FILES) > 20

    for path in FILES:
        answer = await api.client.get(f"/console/{path}", headers={"accept": "*/*"})

        assert answer.status_code == 200, path
        assert answer.headers["content-type"].removesuffix("; charset=utf-8") == MEDIA_TYPES[path.rpartition(".")[2]]
        if path != "index.html":
            assert answer.content == (CONSOLE / path).read_bytes(), path


async def test_the_page_names_all_that_it_is_made_of(api: Api) -> None:
    page = (await api.client.get("/console", headers=BROWSER)).text

    named = re.findall(r'(?:href|src)="/console/([^"]+)"', page)
    assert set(named) >= {path for path in FILES if path.endswith((".js", ".css"))}
    assert set(named) <= set(FILES)
    assert re.search(r"<script(?![^>]*\bsrc=)|\bstyle=|\bon[a-z]+=|\$", page) is None


@pytest.mark.parametrize("path", ["/console", "/console/", "/console/main.js", "/console/runs/run_1?task=t1"])
async def test_nothing_comes_from_elsewhere_and_no_text_becomes_code(api: Api, path: str) -> None:
    headers = (await api.client.get(path, headers=BROWSER)).headers

    policy = headers["content-security-policy"].split("; ")
    assert policy[0] == "default-src 'self'"
    assert {"base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'", "object-src 'none'"} <= set(policy)
    assert {"require-trusted-types-for 'script'", "trusted-types 'none'"} <= set(policy)
    assert not re.search(r"unsafe|\*|https?:|data:", headers["content-security-policy"])
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cross-origin-opener-policy"] == "same-origin"
    assert headers["cache-control"] == "no-cache"


async def test_a_browser_gets_the_page_at_every_address_of_it_and_a_program_is_told_what_is_not_there(api: Api) -> None:
    page = await api.client.get("/console", headers=BROWSER)
    for accept in ("*/*", "application/json"):
        assert (await api.client.get("/console/", headers={"accept": accept})).content == page.content
    for address in ("/console/runs", "/console/runs/run_1", "/console/no.js"):
        assert (await api.client.get(address, headers=BROWSER)).content == page.content

    for accept in ("*/*", "application/json", "text/css"):
        answer = await api.client.get("/console/no.js", headers={"accept": accept})

        assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
        assert answer.headers["content-type"] == "application/problem+json"


async def test_files_are_packed_and_asked_for_again_only_when_they_have_changed(api: Api) -> None:
    plain = await api.client.get("/console/console.css", headers={"accept-encoding": "identity"})
    async with api.client.stream("GET", "/console/console.css", headers={"accept-encoding": "br, gzip"}) as packed:
        raw = b"".join([piece async for piece in packed.aiter_raw()])

    assert packed.headers["content-encoding"] == "gzip"
    assert "content-encoding" not in plain.headers
    assert gzip.decompress(raw) == plain.content
    assert len(raw) < len(plain.content) / 2
    assert {"accept", "accept-encoding"} <= {each.strip().lower() for each in packed.headers["vary"].split(",")}
    tag = plain.headers["etag"]
    assert tag == packed.headers["etag"]
    for known in (tag, tag.removeprefix("W/"), f'"other", {tag}', "*"):
        again = await api.client.get("/console/console.css", headers={"if-none-match": known})

        assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", tag)
    other = await api.client.get("/console/console.css", headers={"if-none-match": '"other"'})
    assert other.status_code == 200


async def test_head_says_what_get_would(api: Api) -> None:
    for path in ("/console", "/console/main.js", "/console/icon.svg"):
        head = await api.client.head(path, headers=BROWSER)

        assert (head.status_code, head.content) == (200, b"")
        assert head.headers["etag"] == (await api.client.get(path, headers=BROWSER)).headers["etag"]


async def test_a_run_says_where_its_page_is(api: Api) -> None:
    run_id = await api.post()

    address = (await api.get(f"/v1/runs/{run_id}"))["links"]["console"]

    assert address == f"/console/runs/{run_id}"
    assert (await api.client.get(address, headers=BROWSER)).status_code == 200


async def test_the_console_is_open_to_those_without_a_key_and_what_it_shows_is_not(start_api: Starts) -> None:
    api = await start_api(auth="keys")

    for path in ("/console", "/console/runs", "/console/main.js"):
        assert (await api.client.get(path, headers=BROWSER)).status_code == 200
    assert (await api.client.get("/v1/runs")).json()["code"] == "key_missing"
