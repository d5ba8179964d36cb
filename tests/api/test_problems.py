import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx2
import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection
from structlog.testing import capture_logs

from app.api.schemas.service import ProblemDocument
from app.api.shared_looks import SharedLooks
from app.store.database import Database
from tests.support.api import JOB, Api

NO_RUN = "/v1/runs/run_00000000000000000000000000000000"


class BrokenDatabase(Database):
    """A database in which every statement meets a bug of ours, or an outage."""

    fault: Exception = RuntimeError("secret of the house")

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[AsyncConnection]:
        raise self.fault
        yield

    statement = transaction

    async def ping(self) -> None:
        raise self.fault


def check(answer: httpx2.Response, status: int, code: str) -> None:
    problem = ProblemDocument.model_validate(answer.json())
    assert (answer.status_code, problem.status, problem.code) == (status, status, code)
    assert answer.headers["content-type"] == "application/problem+json"
    assert problem.type == "about:blank"
    assert problem.request_id == answer.headers["x-request-id"]


@pytest.fixture
async def broken(api: Api) -> AsyncIterator[BrokenDatabase]:
    """What the API finds instead of its database."""
    sound, broken = api.runtime.database, BrokenDatabase(api.runtime.database.url, pool=1)
    api.runtime.database = broken
    yield broken
    api.runtime.database = sound
    await broken.close()


async def test_what_is_not_there_is_a_problem(api: Api) -> None:
    check(await api.client.get("/v1/nothing"), 404, "not_found")
    check(await api.client.get("/v1/runs/"), 404, "not_found")


@pytest.mark.parametrize("path", ["", "/plan", "/plan/revisions", "/tasks", "/tasks/t1", "/events", "/trace"])
async def test_no_part_of_a_run_that_is_not_there_can_be_read(api: Api, path: str) -> None:
    check(await api.client.get(f"{NO_RUN}{path}"), 404, "run_not_found")


@pytest.mark.parametrize("run_id", ["run_%00", "x", "run_A", "run_" + "0" * 400, "..%2f"])
async def test_an_id_that_cannot_be_one_is_not_there(api: Api, run_id: str) -> None:
    assert (await api.client.get(f"/v1/runs/{run_id}")).status_code == 404


async def test_a_method_that_is_not_offered_is_refused_with_those_that_are(api: Api) -> None:
    answer = await api.client.delete(NO_RUN)

    check(answer, 405, "method_not_allowed")
    assert "GET" in answer.headers["allow"]


@pytest.mark.parametrize("path", ["/plan/revisions", "/questions"])
async def test_what_is_not_built_is_not_there(api: Api, path: str) -> None:
    assert (await api.client.get(f"{NO_RUN}{path}")).status_code == 404


async def test_a_fault_of_ours_says_nothing_of_itself(api: Api, broken: BrokenDatabase) -> None:
    answer = await api.client.get("/v1/runs")

    check(answer, 500, "internal_error")
    assert answer.headers["connection"] == "close"
    assert "secret" not in answer.text
    assert "Traceback" not in answer.text


async def test_an_outage_of_the_database_is_told_as_one(api: Api, broken: BrokenDatabase) -> None:
    broken.fault = OSError("gone")

    answer = await api.client.post("/v1/jobs", json=JOB)
    check(answer, 503, "database_unavailable")
    assert answer.headers["retry-after"]
    check(await api.client.get("/readyz"), 503, "database_unavailable")
    assert (await api.client.get("/livez")).status_code == 200


@pytest.mark.parametrize("wait", ["wait=0", "wait=1"])
async def test_a_job_that_was_accepted_before_the_outage_is_told_as_accepted(
    api: Api, broken: BrokenDatabase, wait: str
) -> None:
    api.runtime.database = Database(broken.url, pool=2)
    broken.fault = OSError("gone")
    api.app.state.looks = SharedLooks(broken)

    answer = await api.client.post("/v1/jobs", json=JOB, headers={"Prefer": wait})

    assert (answer.status_code, answer.json()["status"]) == (202, "queued")
    await api.runtime.database.close()


async def test_a_process_that_stops_is_not_ready(api: Api) -> None:
    assert (await api.client.get("/readyz")).status_code == 200

    api.runtime.draining.set()

    check(await api.client.get("/readyz"), 503, "draining")
    assert (await api.client.get("/livez")).status_code == 200


@pytest.mark.parametrize(
    ("change", "detail"),
    [
        ("UPDATE chargehand_version SET version_num = '0003'", "at revision 0003, older than"),
        ("COMMENT ON TABLE chargehand_version IS 'needs 0999'", "run a newer release"),
        ("ALTER TABLE chargehand_version RENAME TO elsewhere", "has no schema yet"),
    ],
)
async def test_a_process_under_which_the_schema_was_changed_is_not_ready_and_says_why(
    api: Api, change: str, detail: str
) -> None:
    async with api.runtime.database.transaction() as connection:
        await connection.execute(text(change))

    answer = await api.client.get("/readyz")

    check(answer, 503, "schema_unfit")
    assert detail in answer.json()["detail"]
    assert (await api.client.get("/livez")).status_code == 200


async def test_a_process_that_does_not_hear_of_runs_is_not_ready(api: Api) -> None:
    async def look(_: str) -> None: ...

    queue, wakeups = api.runtime.queue, api.runtime.wakeups
    delivery = asyncio.create_task(queue.deliver(look, at_once=1, poll_s=10))
    await asyncio.wait_for(queue.listening.wait(), 10)
    assert (await api.client.get("/readyz")).status_code == 200

    for hears in (queue.listening, wakeups.connected):
        hears.clear()
        check(await api.client.get("/readyz"), 503, "not_listening")
        hears.set()

    assert (await api.client.get("/readyz")).status_code == 200
    delivery.cancel()
    await asyncio.wait({delivery})


@pytest.mark.parametrize(("offered", "kept"), [("abc-1._X", True), ("a b", False), ("", False), ("x" * 129, False)])
async def test_a_request_keeps_its_own_id_when_that_is_sound(api: Api, offered: str, kept: bool) -> None:
    answer = await api.client.get("/livez", headers={"X-Request-Id": offered})

    assert (answer.headers["x-request-id"] == offered) is kept
    assert answer.headers["x-request-id"]


async def test_every_answer_has_an_id_of_its_own(api: Api) -> None:
    answers = [await api.client.get(path) for path in ("/livez", "/livez", "/v1/teams", "/nothing")]

    assert len({answer.headers["x-request-id"] for answer in answers}) == 4


async def test_a_log_line_of_a_request_holds_neither_query_nor_body(api: Api) -> None:
    with capture_logs() as lines:
        await api.client.post("/v1/jobs", json={"objective": "hush"})
        await api.client.post("/v1/jobs?hush=1", json={"objective": "hush"})
        await api.client.get("/livez")
        await api.client.get("/metrics")

    requests = [(line["method"], line["path"], line["status"]) for line in lines if line["event"] == "request"]
    assert requests == [("POST", "/v1/jobs", 202), ("POST", "/v1/jobs", 422)]
    assert "hush" not in str(lines)


@pytest.mark.parametrize("path", ["/livez", "/v1/teams", "/openapi.json", "/nothing"])
async def test_head_answers_like_get_without_the_body(api: Api, path: str) -> None:
    got, head = await api.client.get(path), await api.client.head(path)

    assert (head.status_code, head.content) == (got.status_code, b"")
    assert head.headers["content-type"] == got.headers["content-type"]
    if got.status_code == 200:
        assert head.headers["content-length"] == got.headers["content-length"]


async def test_teams_and_tools_can_be_read(api: Api) -> None:
    teams, tools = await api.get("/v1/teams"), await api.get("/v1/tools")
    general = await api.get("/v1/teams/general@1")

    assert (teams["has_more"], teams["next_cursor"]) == (False, None)
    assert general in teams["data"]
    assert general == await api.get("/v1/teams/general")
    assert (general["name"], general["version"]) == ("general", 1)
    used = {tool for worker in general["workers"] for tool in worker["tools"]}
    assert used <= {tool["name"] for tool in tools["data"]}
    assert all(tool["input_schema"] and tool["effect"] in ("read", "idempotent", "once") for tool in tools["data"])


@pytest.mark.parametrize("name", ["nobody", "general@2", "general@0", "general@x", "GENERAL", "a%00"])
async def test_a_team_that_is_not_there_cannot_be_read(api: Api, name: str) -> None:
    check(await api.client.get(f"/v1/teams/{name}"), 404, "team_not_found")
