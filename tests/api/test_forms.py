import base64
import json
from typing import Any

import httpx2
import pytest

from tests.support.api import BODY_LIMIT, JOB, Api

PDF = b"%PDF-1.7\n\xff\xfe"
Parts = list[tuple[str, tuple[str | None, bytes | str, str] | tuple[str | None, bytes | str]]]


def job_part(**job: Any) -> tuple[None, str, str]:
    return (None, json.dumps(JOB | job), "application/json")


async def send(api: Api, *parts: Any, headers: dict[str, str] | None = None, query: str = "") -> httpx2.Response:
    return await api.client.post(f"/v1/jobs{query}", files=list(parts), headers=headers)


def places(answer: httpx2.Response) -> list[tuple[str, str]]:
    assert answer.headers["content-type"] == "application/problem+json"
    return [(each["pointer"], each["detail"]) for each in answer.json()["errors"]]


async def test_a_form_is_the_job_with_its_files_as_inputs(api: Api) -> None:
    answer = await send(
        api,
        ("job", ("job.json", json.dumps(JOB | {"inputs": [{"name": "a.txt", "content": "A"}]}), "application/json")),
        ("inputs", ("sales.csv", "region\nnörd\n", "text/csv")),
        ("inputs", ("change.diff", b"+x\n", "application/octet-stream")),
        ("inputs", ("report.pdf", PDF, "application/pdf")),
        ("inputs", ("alt.txt", "Größe".encode("latin-1"), "text/plain; charset=iso-8859-1")),
        ("inputs", ("mark.txt", "\ufeffmarked".encode(), "text/plain")),
        ("inputs", ("wide.txt", "weit".encode("utf-16"), "text/plain; charset=UTF-16")),
    )

    assert answer.status_code == 202, answer.text
    run_id = answer.json()["id"]
    listed = (await api.get(f"/v1/runs/{run_id}/inputs"))["data"]
    assert [(each["name"], each["media_type"]) for each in listed] == [
        ("a.txt", "text/plain"), ("sales.csv", "text/csv"), ("change.diff", "text/x-diff"),
        ("report.pdf", "application/pdf"), ("alt.txt", "text/plain; charset=iso-8859-1"), ("mark.txt", "text/plain"),
        ("wide.txt", "text/plain; charset=UTF-16"),
    ]  # fmt: skip
    contents = [(await api.client.get(each["url"])).content for each in listed]
    assert contents == [b"A", "region\nnörd\n".encode(), b"+x\n", PDF, "Größe".encode(), b"marked", b"weit"]


async def test_the_same_job_is_the_same_under_its_key_however_it_is_sent(api: Api) -> None:
    headers = {"idempotency-key": "form-1"}
    first = await send(api, ("job", job_part()), ("inputs", ("r.pdf", PDF, "application/pdf")), headers=headers)
    again = await send(api, ("inputs", ("r.pdf", PDF, "application/pdf")), ("job", job_part()), headers=headers)
    content = base64.b64encode(PDF).decode()
    plain = await api.client.post(
        "/v1/jobs",
        json=JOB | {"inputs": [{"name": "r.pdf", "media_type": "application/pdf", "content": content}]},
        headers=headers,
    )
    other = await send(api, ("job", job_part()), ("inputs", ("r.pdf", PDF + b"!", "application/pdf")), headers=headers)

    assert first.headers["content-type"] == "application/json"
    assert {first.json()["id"], again.json()["id"], plain.json()["id"]} == {first.json()["id"]}
    assert again.headers["idempotent-replayed"] == "true"
    assert (other.status_code, other.json()["code"]) == (422, "idempotency_key_reused")


@pytest.mark.parametrize(
    ("parts", "pointer", "detail"),
    [
        ([("inputs", ("a.txt", "A"))], "/job", "This part is required."),
        ([("job", job_part()), ("job", job_part())], "/job", "This part may be there only once."),
        ([("job", job_part()), ("extra", (None, "x"))], "/extra", "Unknown part: extra"),
        ([("job", job_part()), ("file", ("a.txt", "x"))], "/file", "Unknown part: file"),
        ([("job", job_part()), ("inputs", (None, "x"))], "/inputs/0/name", "This part needs a file name"),
        ([("job", job_part()), ("inputs", ("a.txt", b"\xff\xfe\x00"))], "/inputs/0/content", "This is no text in the"),
        *[
            (
                [("job", job_part()), ("inputs", ("a.txt", "a-", f"text/plain; charset={codec}"))],
                "/inputs/0/content",
                "This is no text in",
            )
            for codec in ("hex", "punycode", "unicode_escape")
        ],
        ([("job", job_part(nonsense=1))], "/nonsense", "Unknown field: nonsense"),
        ([("job", (None, "[]"))], "", "A JSON object is expected."),
        (
            [("job", job_part(inputs=[{"name": "a.txt", "content": "A"}])), ("inputs", ("a.txt", "B"))],
            "/inputs/1/name",
            "Inputs must have different names.",
        ),
        ([("job", job_part(inputs=7)), ("inputs", ("a.txt", "B"))], "/inputs", "This must be a list."),
        ([("job", job_part()), *[("inputs", (f"{n}.txt", "x")) for n in range(51)]], "/inputs", "at most 50 items"),
    ],
)
async def test_what_is_wrong_with_a_form_is_told_with_its_place(
    api: Api, parts: Parts, pointer: str, detail: str
) -> None:
    answer = await send(api, *parts)

    assert answer.status_code == 422, answer.text
    [(place, said)] = places(answer)
    assert place == pointer
    assert detail in said


@pytest.mark.parametrize(
    ("body", "content_type", "code"),
    [
        (b"x", "multipart/form-data", "form_invalid"),
        (b"nothing of a form", "multipart/form-data; boundary=b", "form_invalid"),
        (
            b'--b\r\nContent-Disposition: form-data; name="job"\r\n\r\n{}',
            "multipart/form-data; boundary=b",
            "form_invalid",
        ),
        (b"--b\r\nContent-Type: text/plain\r\n\r\n{}\r\n--b--\r\n", "multipart/form-data; boundary=b", "form_invalid"),
        (
            b'--b\r\nContent-Disposition: form-data; name="job"\r\n\r\n{\r\n--b--\r\n',
            "multipart/form-data; boundary=b",
            "json_invalid",
        ),
        (b"", "multipart/form-data; boundary=b", "form_invalid"),
    ],
)
async def test_what_is_no_form_is_refused(api: Api, body: bytes, content_type: str, code: str) -> None:
    answer = await api.client.post("/v1/jobs", content=body, headers={"content-type": content_type})

    assert (answer.status_code, answer.json()["code"]) == (400, code)


async def test_a_form_is_bounded_like_any_body(api: Api) -> None:
    answer = await send(api, ("job", job_part()), ("inputs", ("a.txt", "x" * BODY_LIMIT)))
    compressed = await send(api, ("job", job_part()), headers={"content-encoding": "gzip"})
    elsewhere = await api.client.post("/v1/runs/run_0/cancel", files={"job": "x"})

    assert (answer.status_code, answer.json()["code"]) == (413, "body_too_large")
    assert (compressed.status_code, compressed.json()["code"]) == (415, "content_encoding_unsupported")
    assert (elsewhere.status_code, elsewhere.json()["code"]) == (415, "media_type_unsupported")
