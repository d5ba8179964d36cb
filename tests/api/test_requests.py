"""What surrounds a body: query parameters, headers, what messages say, and how a request is joined to its run."""

import asyncio
import gzip
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from structlog.testing import capture_logs

from app.api import border
from app.api.border import BODIES_AT_ONCE
from tests.support.api import BODY_LIMIT, JOB, Api

JSON = {"Content-Type": "application/json"}
TRACE = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


RUN_LIST = "finished_before, include, limit, metadata, order, parent, sort, status, stop_reason, team"


@pytest.mark.parametrize(
    ("path", "parameter", "known"),
    [
        (
            "/v1/runs?state=failed",
            "state",
            RUN_LIST,
        ),
        (
            "/v1/runs?metadata.ticket=1",
            "metadata.ticket",
            RUN_LIST,
        ),
        ("/v1/runs/{run}?wait=1", "wait", "none"),
        ("/v1/runs/{run}/events?type=run.queued", "type", "after, deltas, limit, types"),
        ("/v1/runs/{run}/plan?rev=1", "rev", "revision"),
        ("/v1/runs/{run}/tasks?limit=1", "limit", "none"),
        ("/v1/teams?x", "x", "none"),
    ],
)
async def test_an_unknown_parameter_is_refused_with_those_that_are_known(
    api: Api, path: str, parameter: str, known: str
) -> None:
    answer = await api.client.get(path.format(run=await api.post()))

    assert (answer.status_code, answer.json()["code"]) == (422, "parameter_unknown")
    (error,) = answer.json()["errors"]
    assert error["parameter"] == parameter
    assert known in error["detail"]


async def test_a_mistyped_dry_run_executes_nothing(api: Api) -> None:
    answer = await api.client.post("/v1/jobs?dryrun=true", json=JOB)

    assert (answer.status_code, answer.json()["code"]) == (422, "parameter_unknown")
    assert "dry_run" in answer.json()["errors"][0]["detail"]
    assert (await api.get("/v1/runs"))["data"] == []


async def test_a_parameter_counts_once(api: Api) -> None:
    twice = await api.client.post("/v1/jobs?dry_run=true&dry_run=false", json=JOB)
    run_id = await api.post()
    listed = await api.get(f"/v1/runs/{run_id}/events?types=run.queued&types=run.started,run.failed")

    assert (twice.status_code, twice.json()["errors"][0]["parameter"]) == (422, "dry_run")
    assert [event["type"] for event in listed["data"]] == ["run.queued"]


@pytest.mark.parametrize(("types", "word"), [("run.finished", "run.succeeded"), ("text.delta", "deltas=true")])
async def test_a_type_that_no_event_has_is_refused(api: Api, types: str, word: str) -> None:
    answer = await api.client.get(f"/v1/runs/{await api.post()}/events?types=run.queued,{types}")

    (error,) = answer.json()["errors"]
    assert (answer.status_code, error["parameter"]) == (422, "types")
    assert word in error["detail"]


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b'{"objective": "x",}', "line 1, column 19"),
        (b"{\n  'objective': 'x'\n}", "line 2, column 3"),
        (b'{"a": "' + b"x" * 9_000 + b'\\"\\u00e4", "b" 1}', "line 1, column 9023"),
    ],
)
async def test_what_is_no_json_is_told_with_its_place(api: Api, body: bytes, said: str) -> None:
    answer = await api.client.post("/v1/jobs", content=body, headers=JSON)

    assert (answer.status_code, answer.json()["code"]) == (400, "json_invalid")
    assert said in answer.json()["detail"]


async def test_messages_speak_of_json_and_of_what_to_do(api: Api) -> None:
    job: dict[str, Any] = {
        "objective": 1, "team": "General", "inputs": {}, "limits": [], "metadata": {"a": []}, "plan": {"tasks": 3},
        "priority": "high",
    }  # fmt: skip
    answer = await api.client.post("/v1/jobs", json=job)
    details = {each["pointer"]: each["detail"] for each in answer.json()["errors"]}

    assert details["/inputs"] == details["/plan/tasks"] == "This must be a list."
    assert details["/limits"] == "This must be an object."
    assert details["/objective"] == "This must be a text."
    assert details["/metadata/a"] == "A value of metadata is a text, a number, true, false or null."
    assert "name@version" in details["/team"]
    said = answer.text.lower()
    assert not any(word in said for word in ("tuple", "dictionary", "instance", "pattern", "^[", "input should"))


async def test_a_request_without_a_body_is_told_what_is_missing(api: Api) -> None:
    answer = await api.client.post("/v1/jobs")

    assert answer.json()["errors"] == [{"pointer": "", "detail": "The request has no body; a JSON object is expected."}]


@pytest.mark.parametrize(
    ("team", "word"), [("genral", "general"), ("zzz", "support-desk"), ("general@9", "versions 1 to 1")]
)
async def test_an_unknown_team_is_told_with_those_that_are_known(api: Api, team: str, word: str) -> None:
    (error,) = (await api.client.post("/v1/jobs", json=JOB | {"team": team})).json()["errors"]

    assert word in error["detail"]


@pytest.mark.parametrize("path", ["", "/plan", "/tasks", "/events", "/trace"])
async def test_nothing_of_a_run_is_kept_on_the_way(api: Api, path: str) -> None:
    answer = await api.client.get(f"/v1/runs/{await api.post()}{path}")

    assert answer.headers["cache-control"] == "no-store"


async def test_a_body_that_is_encoded_is_refused_as_such(api: Api) -> None:
    body = gzip.compress(json.dumps(JOB).encode())
    answer = await api.client.post("/v1/jobs", content=body, headers=JSON | {"Content-Encoding": "gzip"})

    assert (answer.status_code, answer.json()["code"]) == (415, "content_encoding_unsupported")
    assert answer.headers["accept-encoding"] == "identity"


@pytest.mark.parametrize(
    ("method", "path", "headers"),
    [
        ("POST", "/v1/jobs", [("Idempotency-Key", "a"), ("Idempotency-Key", "b")]),
        ("POST", "/v1/jobs", [("Prefer", "wait=1," + "x" * 1000)]),
        ("GET", "/v1/runs/{run}", [("If-None-Match", "x" * 4001)]),
        ("GET", "/v1/runs/{run}/events", [("Last-Event-ID", "1"), ("Last-Event-ID", "2")]),
        ("GET", "/v1/runs/{run}/events", [("Last-Event-ID", "1" * 1001)]),
    ],
)
async def test_headers_are_short_and_said_once(api: Api, method: str, path: str, headers: list[Any]) -> None:
    url = path.format(run=await api.post())
    answer = await api.client.request(method, url, headers=headers, json=JOB if method == "POST" else None)

    assert (answer.status_code, answer.json()["code"]) == (400, "header_invalid")


async def test_a_request_is_found_in_its_run_and_the_run_in_the_line_of_the_request(api: Api) -> None:
    with capture_logs() as lines:
        headers = {"X-Request-Id": "mine-1", "Traceparent": TRACE}
        run_id = (await api.client.post("/v1/jobs", json=JOB, headers=headers)).json()["id"]
    (queued,) = (await api.get(f"/v1/runs/{run_id}/events"))["data"]

    assert (queued["data"]["request_id"], queued["data"]["traceparent"]) == ("mine-1", TRACE)
    [line] = [dict(line) for line in lines if line["event"] == "request"]
    names = {"run_id": run_id, "trace_id": run_id.removeprefix("run_"), "tenant": "default"}
    assert line | names == line


@pytest.mark.parametrize(
    "offered", ["", "x", "ff" + TRACE[2:], TRACE.upper(), TRACE.replace("00f067aa0ba902b7", "0" * 16)]
)
async def test_a_place_in_a_trace_that_cannot_be_one_is_ignored(api: Api, offered: str) -> None:
    answer = await api.client.post("/v1/jobs", json=JOB, headers={"Traceparent": offered})
    (queued,) = (await api.get(f"/v1/runs/{answer.json()['id']}/events"))["data"]

    assert queued["data"]["traceparent"] is None


async def test_bodies_that_do_not_end_take_a_bounded_room_and_small_ones_pass(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(border, "READ_OUT_SECONDS", 0.1)
    waiting, begun = asyncio.Event(), 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal begun
        yield b'{"objective": "' + b"x" * (BODY_LIMIT - 100)
        begun += 1
        await waiting.wait()

    posts = [
        asyncio.create_task(api.client.post("/v1/jobs", content=endless(), headers=JSON))
        for _ in range(2 * BODIES_AT_ONCE)
    ]
    refused, _ = await asyncio.wait(posts, timeout=10, return_when=asyncio.FIRST_COMPLETED)
    answer = refused.pop().result()
    small = await api.client.post("/v1/jobs", json=JOB)
    waiting.set()
    await asyncio.gather(*posts)
    large = await api.client.post("/v1/jobs", json=JOB | {"inputs": [{"name": "a", "content": "x" * 200_000}]})

    assert (answer.status_code, answer.json()["code"]) == (503, "bodies_too_many")
    assert answer.headers["retry-after"]
    assert (small.status_code, large.status_code) == (202, 202)
