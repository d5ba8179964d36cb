import re

import pytest

from tests.support.api import Api

BROWSER = {"accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
ELSEWHERE = re.compile(r"(?:https?:)?//(?!api\.test)[a-z]", re.IGNORECASE)
WRITTEN_IN = re.compile(r"<script(?![^>]*\bsrc=)|\bstyle=|\bon[a-z]+=", re.IGNORECASE)


async def test_the_root_says_what_answers_and_where_to_go_on(api: Api) -> None:
    said = await api.get("/")

    assert said["name"] == "Chargehand"
    assert re.fullmatch(r"\d+\.\d+\.\d+", said["version"])
    assert said["version"] == (await api.get("/openapi.json"))["info"]["version"]
    assert said["console"] == "/console"
    for link in (said["docs"], said["openapi"], said["teams"], said["ready"]):
        assert (await api.client.get(link)).status_code == 200


async def test_a_browser_gets_a_page_whose_links_lead_somewhere(api: Api) -> None:
    answer = await api.client.get("/", headers=BROWSER)

    assert answer.headers["content-type"].startswith("text/html")
    assert answer.headers["vary"] == "Accept"
    links = re.findall(r'(?:href|src)="([^"]+)"', answer.text)
    assert {"console", "docs", "openapi.json"} <= set(links)
    for link in links:
        assert (await api.client.get(f"/{link}", headers=BROWSER)).status_code == 200


async def test_the_page_shows_the_address_it_was_asked_at_and_nothing_else_a_client_says(api: Api) -> None:
    answer = await api.client.get("/", headers=BROWSER | {"host": 'x"><script>alert(1)</script>'})

    assert "<script>" not in answer.text
    assert "http://api.test/v1/jobs" in (await api.client.get("/", headers=BROWSER)).text


@pytest.mark.parametrize("path", ["/", "/docs", "/docs/docs.js", "/docs/page.css"])
async def test_pages_come_from_here_alone(api: Api, path: str) -> None:
    answer = await api.client.get(path, headers=BROWSER)

    assert answer.status_code == 200
    assert answer.headers["content-security-policy"].startswith("default-src 'self';")
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert ELSEWHERE.findall(answer.text) == []
    assert path.endswith((".js", ".css")) or WRITTEN_IN.findall(answer.text) == []


async def test_the_page_of_the_api_names_the_files_it_is_made_of(api: Api) -> None:
    page = (await api.client.get("/docs")).text

    for name in re.findall(r'(?:href|src)="(docs/[^"]+)"', page):
        assert (await api.client.get(f"/{name}")).status_code == 200
    assert (await api.client.get("/docs/other.js")).json()["code"] == "not_found"
