import asyncio
import json
import logging
from contextlib import closing
from http.client import HTTPConnection
from typing import Any
from urllib.parse import urlsplit

import pytest
from structlog.testing import capture_logs

from app.api.bodies import depth_of, parsed
from app.api.errors import Refusal
from app.api.json_reader import VALUES_ALLOWED
from tests.support.api import BODY_LIMIT, JOB, Api
from tests.support.waiting import until

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


@pytest.mark.parametrize(("levels", "status"), [(150, 422), (500, 422), (15_000, 400), (20_000, 422)])
async def test_nesting_is_bounded(api: Api, levels: int, status: int) -> None:
    answer = await api.client.post("/v1/jobs", content=nested(levels), headers=JSON)

    assert answer.status_code == status


def test_the_depth_counts_levels_of_arrays_and_objects() -> None:
    values: list[Any] = [1, [], {"a": 1}, [{}], [1, [{"a": [2]}], 3]]

    assert [depth_of(value) for value in values] == [0, 1, 1, 2, 4]


@pytest.mark.parametrize(
    "part",
    [
        {"metadata": {f"{n}": 0 for n in range(VALUES_ALLOWED)}},
        {"plan": {"tasks": [0] * VALUES_ALLOWED}},
        {"plan": {"tasks": [{"depends_on": [0] * 199}] * (VALUES_ALLOWED // 200)}},
    ],
    ids=["members", "items", "items of items"],
)
async def test_very_many_values_are_refused_before_each_is_found_wrong(api: Api, part: dict[str, Any]) -> None:
    answer = await api.client.post("/v1/jobs", json=JOB | part)

    assert (answer.status_code, answer.json()["code"]) == (422, "too_many_values")


def test_as_many_values_as_are_allowed_are_read() -> None:
    allowed = [[0] * (VALUES_ALLOWED - 1)]

    assert parsed(json.dumps(allowed).encode()) == allowed
    with pytest.raises(Refusal) as refused:
        parsed(json.dumps([*allowed, 0]).encode())
    assert refused.value.code == "too_many_values"


async def test_of_many_faults_some_are_told(api: Api) -> None:
    answer = await api.client.post("/v1/jobs", json=JOB | {"inputs": [0] * (VALUES_ALLOWED - 2)})

    assert (answer.status_code, len(answer.json()["errors"])) == (422, 50)
    assert len(answer.content) < 20_000


@pytest.mark.parametrize(
    "number",
    ["9" * 5000, "1e999", "-1E+999", "1e-999", "0.001e-330", str(2**63), "-99999999999999999999", "0." + "1" * 500],
    ids=lambda number: number[:10],
)
@pytest.mark.parametrize("place", ["/priority", "/limits/cost_usd", "/metadata/n", "/plan/tasks/0/budget/tokens"])
async def test_a_number_that_cannot_be_kept_is_refused_with_its_place(api: Api, number: str, place: str) -> None:
    body: Any = number
    for name in reversed(place.split("/")[1:]):
        body = f"[{body}]" if name == "0" else f'{{"{name}": {body}}}'
    answer = await api.client.post("/v1/jobs", content=body.encode(), headers=JSON)

    problem = answer.json()
    assert (answer.status_code, problem["code"]) == (422, "number_out_of_range")
    assert [each["pointer"] for each in problem["errors"]] == [place]


@pytest.mark.parametrize("body", [b'{"\\ud800": 1e999}', b'{"objective": "Find out.", "metadata": {"\\udfff": []}}'])
async def test_what_cannot_be_sent_back_is_refused_all_the_same(api: Api, body: bytes) -> None:
    answer = await api.client.post("/v1/jobs", content=body, headers={"content-type": "application/json"})

    assert answer.status_code == 422
    assert "\ufffd" in answer.json()["errors"][0]["pointer"]


async def test_zero_and_the_last_numbers_of_each_range_are_kept(api: Api) -> None:
    numbers = [0, -0.0, 0e5, 5e-324, 1.7976931348623157e308, 2**63 - 1, -(2**63)]
    run_id = await api.post(metadata={f"{index}": number for index, number in enumerate(numbers)})

    assert list((await api.get(f"/v1/runs/{run_id}"))["metadata"].values()) == numbers


async def test_a_body_of_the_allowed_size_is_taken(api: Api) -> None:
    body = json.dumps(JOB).encode().ljust(BODY_LIMIT)

    assert (await api.client.post("/v1/jobs", content=body, headers=JSON)).status_code == 202


TOO_MUCH = f"Content-Length: {100 * BODY_LIMIT}\r\n\r\n".encode()
GROWING = b"Transfer-Encoding: chunked\r\n\r\n%x\r\n%b\r\n" % (BODY_LIMIT + 1, b" " * (BODY_LIMIT + 1))


@pytest.mark.parametrize("body", [TOO_MUCH, GROWING], ids=["declares too much", "grows too large"])
async def test_a_body_that_is_too_large_is_refused_before_it_has_come(address: str, body: bytes) -> None:
    server = urlsplit(address)
    reader, writer = await asyncio.open_connection(server.hostname, server.port)
    writer.write(b"POST /v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n" + body)
    head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 5)
    writer.close()

    assert head.startswith(b"HTTP/1.1 413 ")
    assert b"application/problem+json" in head
    assert b"connection: close" in head.lower()


@pytest.mark.parametrize("chunked", [False, True])
async def test_a_client_that_sends_all_before_it_reads_gets_its_refusal(address: str, chunked: bool) -> None:
    def send() -> tuple[int, dict[str, Any]]:
        client = HTTPConnection(urlsplit(address).netloc, timeout=20)
        pieces = [b" " * BODY_LIMIT] * 80  # More than the sockets hold.
        headers = JSON | {"Connection": "close"} | ({"Transfer-Encoding": "chunked"} if chunked else {})
        with closing(client):
            body = iter(pieces) if chunked else b"".join(pieces)
            client.request("POST", "/v1/jobs", body, headers, encode_chunked=chunked)
            answer = client.getresponse()
            return answer.status, json.loads(answer.read())

    status, problem = await asyncio.to_thread(send)

    assert (status, problem["code"]) == (413, "body_too_large")
    assert problem["request_id"]


async def test_a_client_that_hangs_up_while_it_sends_is_no_fault_of_ours(
    address: str, caplog: pytest.LogCaptureFixture
) -> None:
    server = urlsplit(address)
    head = "POST /v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 17\r\n\r\n"
    with capture_logs() as lines:
        _, writer = await asyncio.open_connection(server.hostname, server.port)
        writer.write(f'{head}{{"obj'.encode())
        writer.close()
        await writer.wait_closed()
        await until(lambda: "request" in [line["event"] for line in lines])

    assert [(line["event"], line["log_level"], line["status"]) for line in lines] == [("request", "info", 499)]
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


async def test_no_text_of_a_cancellation_is_lost_on_the_way(api: Api) -> None:
    run_id = await api.post()
    answer = await api.client.post(
        f"/v1/runs/{run_id}/cancel", content=rb'{"reason": "too \ud83c\udf78\u0000"}', headers=JSON
    )

    assert answer.status_code == 202
    assert answer.json()["cancellation"]["reason"] == "too \U0001f378\ufffd"
