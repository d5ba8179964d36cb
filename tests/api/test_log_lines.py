"""The line of each request: from whom it came, which run it was about, and nothing of what it said."""

from typing import Any

import pytest
import structlog
from structlog.testing import capture_logs
from structlog.typing import EventDict

from tests.api.test_keys import ask, key_of
from tests.support.api import JOB, Api, Starts

FIELDS = {"event", "log_level", "method", "path", "status", "duration_ms"}


@pytest.fixture
async def api(start_api: Starts) -> Api:
    return await start_api(auth="keys", poll_seconds=0.2)


def request_lines(lines: list[EventDict]) -> list[Any]:
    return [line for line in lines if line["event"] == "request"]


async def test_the_line_of_a_request_has_its_tenant_its_key_its_run_and_its_trace(api: Api) -> None:
    key, bearer = await key_of(api, "acme")
    with capture_logs() as lines:
        run_id = (await ask(api, "POST", "/v1/jobs", bearer, json=JOB)).json()["id"]
        await ask(api, "GET", f"/v1/runs/{run_id}/tasks", bearer)
        await ask(api, "GET", "/v1/runs", bearer)

    posted, read, listed = request_lines(lines)
    whose = {"tenant": "acme", "key": key}
    about = {"run_id": run_id, "trace_id": run_id.removeprefix("run_")}
    assert [posted | whose | about, read | whose | about, listed | whose] == [posted, read, listed]
    assert (posted.keys(), listed.keys()) == (FIELDS | whose.keys() | about.keys(), FIELDS | whose.keys())
    assert (posted["method"], posted["path"], posted["status"]) == ("POST", "/v1/jobs", 202)


async def test_whoever_has_no_key_is_nobodys_request(api: Api) -> None:
    with capture_logs() as lines:
        await ask(api, "GET", f"/v1/runs/run_{'1' * 32}", None)

    [line] = request_lines(lines)
    assert line.keys() == FIELDS
    assert line["status"] == 401


async def test_lines_in_the_middle_of_a_request_name_the_same(api: Api) -> None:
    _, bearer = await key_of(api, "acme")
    with capture_logs(processors=[structlog.contextvars.merge_contextvars]) as lines:
        run_id = (await ask(api, "POST", "/v1/jobs", bearer, json=JOB)).json()["id"]
        await ask(api, "POST", f"/v1/runs/{run_id}/cancel", bearer, json={"reason": "a secret matter"})
        await ask(api, "GET", "/v1/teams", bearer)

    accepted, ended = [dict(line) for line in lines if line["event"] in ("run accepted", "run ended")]
    whose = {"tenant": "acme", "run_id": run_id, "trace_id": run_id.removeprefix("run_")}
    assert [accepted | whose, ended | whose] == [accepted, ended]
    assert all("request_id" in line for line in lines)
    assert "run_id" not in lines[-1]
    assert "a secret matter" not in str(lines)


async def test_a_nested_run_is_not_given_the_trace_that_its_id_would_make(api: Api) -> None:
    _, bearer = await key_of(api, "acme")
    run_id = "run_041ce39e981a50153e0abaea7f9ed1ac"
    with capture_logs() as lines:
        await ask(api, "GET", f"/v1/runs/{run_id}", bearer)

    [line] = request_lines(lines)
    assert (line["run_id"], "trace_id" in line) == (run_id, False)
