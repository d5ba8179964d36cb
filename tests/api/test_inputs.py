import base64
from typing import Any
from urllib.parse import quote

import pytest

from app.api.schemas.runs import InputPage
from tests.support.api import Api
from tests.support.documents import as_input, docx_of, pdf_of

PARQUET = "application/vnd.apache.parquet"


async def posted(api: Api, **item: Any) -> str:
    """The id of a run with this one input."""
    return await api.post(inputs=[{"name": "a.txt", "content": "hello"} | item])


async def test_an_input_comes_back_as_it_was_sent(api: Api) -> None:
    content = "Zürich \u2028 \U0001f378\r\n" * 6_000
    run_id = await posted(api, content=content, media_type="text/csv; charset=latin-1")
    answer = await api.client.get(f"/v1/runs/{run_id}/inputs/a.txt")

    assert answer.status_code == 200
    assert answer.content.decode() == content
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    assert answer.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize(
    "name", ["dir/file.txt", "/abs", "näme \U0001f378.txt", "a%2Fb", "100%", "a?b#c", "a;b", '"q"']
)
async def test_inputs_are_listed_with_a_link_whatever_their_names(api: Api, name: str) -> None:
    run_id = await posted(api, name=name)
    run = await api.get(f"/v1/runs/{run_id}")
    listed = await api.get(run["links"]["inputs"])
    InputPage.model_validate(listed)
    [item] = listed["data"]

    assert item == {
        "name": name,
        "media_type": "text/plain",
        "characters": 5,
        "url": f"/v1/runs/{run_id}/inputs/{quote(name, safe='')}",
    }
    answer = await api.client.get(item["url"])
    assert (answer.status_code, answer.text) == (200, "hello")
    assert answer.headers["content-disposition"] == f"inline; filename*=UTF-8''{quote(name, safe='')}"


@pytest.mark.parametrize(
    "media_type",
    [
        "text/html",
        "TEXT/HTML; charset=utf-8",
        "image/svg+xml",
        "application/xhtml+xml",
        "text/xml",
        "text/javascript",
        "nonsense",
        "tëxt/plain",
        "text/plain/html",
    ],
)
async def test_what_a_browser_would_run_is_for_it_to_save(api: Api, media_type: str) -> None:
    run_id = await posted(api, media_type=media_type, content="<script>alert(1)</script>")
    answer = await api.client.get(f"/v1/runs/{run_id}/inputs/a.txt")

    assert answer.status_code == 200
    assert answer.headers["content-disposition"].startswith("attachment;")
    assert answer.headers["content-security-policy"] == "default-src 'none'; sandbox"
    assert answer.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize("line", [76, 10**9])
async def test_parquet_comes_back_as_the_file_it_is(api: Api, line: int) -> None:
    file = b"PAR1" + bytes(range(256)) * 400 + b"PAR1"
    written = base64.b64encode(file).decode()
    lines = "\n".join(written[start : start + line] for start in range(0, len(written), line))
    run_id = await posted(api, media_type=PARQUET, content=lines)
    answer = await api.client.get(f"/v1/runs/{run_id}/inputs/a.txt")

    assert answer.headers["content-type"] == PARQUET
    assert answer.content == file


async def test_parquet_that_is_none_comes_back_as_the_text_it_is(api: Api) -> None:
    run_id = await posted(api, media_type=PARQUET, content="not at all")
    answer = await api.client.get(f"/v1/runs/{run_id}/inputs/a.txt")

    assert (answer.headers["content-type"], answer.text) == ("text/plain; charset=utf-8", "not at all")


async def test_an_input_that_is_known_already_is_not_sent_again(api: Api) -> None:
    path = f"/v1/runs/{await posted(api)}/inputs/a.txt"
    first = await api.client.get(path)
    again = await api.client.get(path, headers={"If-None-Match": f'"other", W/{first.headers["etag"]}'})

    assert (again.status_code, again.content) == (304, b"")
    assert again.headers["etag"] == first.headers["etag"]
    head = await api.client.head(path)
    assert (head.status_code, head.content, head.headers["etag"]) == (200, b"", first.headers["etag"])


@pytest.mark.parametrize("name", ["b.txt", "A.txt", "a.txt/", "%00", "", "%ff"])
async def test_an_input_that_is_not_there_is_not_found(api: Api, name: str) -> None:
    answer = await api.client.get(f"/v1/runs/{await posted(api)}/inputs/{name}")

    assert (answer.status_code, answer.json()["code"]) == (404, "input_not_found")


@pytest.mark.parametrize("path", ["inputs", "inputs/a.txt"])
async def test_inputs_of_a_run_that_is_not_there_are_those_of_no_run(api: Api, path: str) -> None:
    answer = await api.client.get(f"/v1/runs/run_none/{path}")

    assert (answer.status_code, answer.json()["code"]) == (404, "run_not_found")


async def test_a_job_without_inputs_has_none_to_read(api: Api) -> None:
    assert (await api.get(f"/v1/runs/{await api.post()}/inputs"))["data"] == []


@pytest.mark.parametrize("name", ["report.pdf", "report.docx"])
async def test_a_document_comes_back_as_the_file_it_is(api: Api, name: str) -> None:
    file = pdf_of("The mill.") if name.endswith("pdf") else docx_of("The mill.")
    item = as_input(file, name)
    run_id = await posted(api, **item.model_dump())
    answer = await api.client.get(f"/v1/runs/{run_id}/inputs/{name}")

    assert (answer.content, answer.headers["content-type"]) == (file, item.media_type)
    assert answer.headers["content-disposition"].startswith("attachment;")


@pytest.mark.parametrize(
    ("content", "detail"),
    [
        ("no base64!", "A PDF is sent as base64, and this is none."),
        (base64.b64encode(b"PK\x03\x04 an archive").decode(), "This does not begin like a PDF."),
        ("", "This does not begin like a PDF."),
    ],
)
async def test_a_document_that_is_plainly_none_is_refused_with_its_place(api: Api, content: str, detail: str) -> None:
    inputs = [{"name": "a.txt", "content": "A"}, {"name": "a.pdf", "media_type": "application/pdf", "content": content}]
    answer = await api.client.post("/v1/jobs", json={"objective": "Find out.", "inputs": inputs})

    assert answer.status_code == 422
    assert answer.json()["errors"] == [{"pointer": "/inputs/1/content", "detail": detail}]


@pytest.mark.parametrize(
    "spell",
    [
        lambda text: f"data:application/pdf;base64,{text}",
        lambda text: text.replace("+", "-").replace("/", "_").rstrip("="),
        lambda text: "\r\n".join(text[start : start + 76] for start in range(0, len(text), 76)),
    ],
    ids=["data URL", "for URLs", "lines"],
)
async def test_a_document_may_be_written_in_any_base64(api: Api, spell: Any) -> None:
    file = pdf_of("The mill.") + bytes(range(256))
    content = spell(base64.b64encode(file).decode())
    run_id = await posted(api, name="a.pdf", media_type="application/pdf", content=content)

    assert (await api.client.get(f"/v1/runs/{run_id}/inputs/a.pdf")).content == file
