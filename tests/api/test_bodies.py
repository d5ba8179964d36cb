import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from app.api.bodies import depth_of
from tests.api.serving import BODY_LIMIT, JOB, Api

JSON = {"Content-Type": "application/json"}


def nested(levels: int) -> bytes:
    return b'{"objective": "x", "metadata": {"a": ' + b"[" * levels + b"]" * levels + b"}}"


@pytest.mark.parametrize(
    "body",
    [b"{", b"objective=x", b'{"objective": NaN}', b'{"objective": Infinity}', b'\xff\xfe\xfa{"a"', b"[" * 20_000],
    ids=["cut", "form", "nan", "infinity", "not text", "open brackets"],
)
async def test_what_is_not_json_is_malformed(api: Api, body: bytes) -> None:
    answer = await api.client.post("/v1/jobs", content=body, headers=JSON)

    assert (answer.status_code, answer.json()["code"]) == (400, "json_invalid")


@pytest.mark.parametrize("content_type", [None, "text/plain", "application/x-www-form-urlencoded", "jsonish"])
async def test_a_body_must_be_declared_as_json(api: Api, content_type: str | None) -> None:
    headers = {"Content-Type": content_type} if content_type else {}
    answer = await api.client.post("/v1/jobs", content=json.dumps(JOB).encode(), headers=headers)

    assert (answer.status_code, answer.json()["code"]) == (415, "media_type_unsupported")


@pytest.mark.parametrize("content_type", ["application/json; charset=utf-8", "APPLICATION/JSON", "application/a+json"])
async def test_json_may_be_declared_in_every_form(api: Api, content_type: str) -> None:
    headers = {"Content-Type": content_type}
    answer = await api.client.post("/v1/jobs", content=json.dumps(JOB).encode(), headers=headers)

    assert answer.status_code == 202


@pytest.mark.parametrize("body", [b"", b"[]", b'"text"', b"7", b"null"])
async def test_a_job_is_an_object(api: Api, body: bytes) -> None:
    answer = await api.client.post("/v1/jobs", content=body, headers=JSON)

    assert (answer.status_code, answer.json()["code"]) == (422, "request_invalid")


@pytest.mark.parametrize(("levels", "status"), [(150, 422), (500, 422), (20_000, 400)])
async def test_nesting_is_bounded(api: Api, levels: int, status: int) -> None:
    answer = await api.client.post("/v1/jobs", content=nested(levels), headers=JSON)

    assert answer.status_code == status


def test_depth_counts_the_levels_of_arrays_and_objects() -> None:
    values: list[Any] = [1, [], {"a": 1}, [{}], [1, [{"a": [2]}], 3]]

    assert [depth_of(value) for value in values] == [0, 1, 1, 2, 4]


async def test_a_hundred_thousand_keys_are_refused(api: Api) -> None:
    metadata = {f"{n}": 0 for n in range(20_000)}
    answer = await api.client.post("/v1/jobs", json=JOB | {"metadata": metadata})

    assert answer.status_code == 422
    assert len(answer.content) < 20_000


async def test_a_number_that_is_too_large_is_malformed(api: Api) -> None:
    answer = await api.client.post("/v1/jobs", content=b'{"priority": ' + b"9" * 5000 + b"}", headers=JSON)

    assert answer.status_code == 400


async def test_a_body_of_the_allowed_size_is_taken(api: Api) -> None:
    body = json.dumps(JOB).encode().ljust(BODY_LIMIT)

    assert (await api.client.post("/v1/jobs", content=body, headers=JSON)).status_code == 202


async def test_a_body_that_declares_too_much_is_not_read(api: Api) -> None:
    asked_for = 0

    async def pieces() -> AsyncIterator[bytes]:
        nonlocal asked_for
        for _ in range(100):
            asked_for += 1
            yield b" " * BODY_LIMIT

    headers = JSON | {"Content-Length": str(100 * BODY_LIMIT)}
    answer = await api.client.post("/v1/jobs", content=pieces(), headers=headers)

    assert (answer.status_code, answer.json()["code"]) == (413, "body_too_large")
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["request_id"] == answer.headers["x-request-id"]
    assert asked_for <= 1


async def test_a_body_that_grows_too_large_is_read_no_further(api: Api) -> None:
    asked_for = 0

    async def pieces() -> AsyncIterator[bytes]:
        nonlocal asked_for
        for _ in range(100):
            asked_for += 1
            yield b" " * (BODY_LIMIT // 2)

    answer = await api.client.post("/v1/jobs", content=pieces(), headers=JSON)

    assert (answer.status_code, answer.json()["code"]) == (413, "body_too_large")
    assert answer.headers["content-type"] == "application/problem+json"
    assert asked_for <= 4


async def test_no_text_of_a_cancellation_is_lost_on_the_way(api: Api) -> None:
    run_id = await api.post()
    answer = await api.client.post(
        f"/v1/runs/{run_id}/cancel", content=rb'{"reason": "too \ud83c\udf78\u0000"}', headers=JSON
    )

    assert answer.status_code == 202
    assert answer.json()["cancellation"]["reason"] == "too \U0001f378\ufffd"
