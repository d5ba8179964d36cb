import asyncio
import json
from pathlib import Path
from typing import Any

import httpx2
import jsonschema_rs
import pytest
import yaml

from app.domain.keys import DEFAULT_TENANT
from app.store.teams import put_team
from app.team_files import BUILT_IN_TEAMS
from tests.support.api import JOB, Api, Starts
from tests.support.fixtures import Services
from tests.support.postgres import ROOT
from tests.support.service import CREW, Service, plan_of, report, synthesis, task
from tests.support.stub_answers import Answer, as_json
from tests.support.stub_provider import StubProvider
from tests.support.stub_script import SeenRequest

WRITER = {"name": "writer", "description": "Writes.", "instructions": "Write."}
LETTERS: dict[str, Any] = {"description": "Writes letters.", "workers": [WRITER]}
OTHER = LETTERS | {"description": "Writes better letters."}


@pytest.fixture
async def service(services: Services) -> Service:
    return await services.start()


async def put(api: Api, body: Any, name: str = "letters") -> httpx2.Response:
    return await api.client.put(f"/v1/teams/{name}", json=body)


async def faults(api: Api, body: Any, name: str = "letters") -> dict[str, str]:
    answer = await put(api, body, name)
    assert (answer.status_code, answer.json()["code"]) == (422, "request_invalid")
    return {each["pointer"]: each["detail"] for each in answer.json()["errors"]}


async def test_a_team_is_stored_once_for_each_change(api: Api) -> None:
    answers = [await put(api, body) for body in (LETTERS, LETTERS | {"name": "letters"}, OTHER, OTHER, LETTERS)]

    assert [(each.status_code, each.json()["version"]) for each in answers] == [
        (201, 1), (200, 1), (201, 2), (200, 2), (201, 3),
    ]  # fmt: skip
    assert [each.headers.get("location") for each in answers[:3]] == [
        "/v1/teams/letters@1",
        None,
        "/v1/teams/letters@2",
    ]
    assert {each.json()["origin"] for each in answers} == {"client"}
    assert await api.get("/v1/teams/letters") == answers[4].json()
    assert (await api.get("/v1/teams/letters@2"))["description"] == "Writes better letters."


async def test_many_clients_that_put_at_once_lose_nothing_and_make_no_version_twice(api: Api) -> None:
    bodies = [LETTERS | {"description": f"Writes letters, {number}."} for number in range(4)]

    answers = await asyncio.gather(*(put(api, body) for body in bodies * 3))

    page = await api.get("/v1/teams/letters/versions", params={"limit": 100})
    made = [each for each in answers if each.status_code == 201]
    assert {each.status_code for each in answers} <= {200, 201}
    assert sorted(each.json()["version"] for each in made) == [*range(1, len(made) + 1)]
    assert len(page["data"]) == len(made) >= len(bodies)
    assert {each.json()["description"] for each in answers} == {body["description"] for body in bodies}


async def test_versions_are_listed_newest_first_page_by_page(api: Api) -> None:
    for body in (LETTERS, OTHER, LETTERS):
        await put(api, body)

    first = await api.get("/v1/teams/letters/versions", params={"limit": 2})
    rest = await api.get("/v1/teams/letters/versions", params={"limit": 2, "after": first["next_cursor"]})

    assert [each["version"] for each in first["data"] + rest["data"]] == [3, 2, 1]
    assert (first["has_more"], rest["has_more"], rest["next_cursor"]) == (True, False, None)
    assert first["data"][0]["digest"] == rest["data"][0]["digest"] != first["data"][1]["digest"]
    assert (await api.get(first["data"][1]["url"]))["version"] == 2
    assert (await api.client.get("/v1/teams/nobody/versions")).json()["code"] == "team_not_found"


async def test_what_is_wrong_with_a_team_is_told_at_its_place(api: Api) -> None:
    checker = {"name": "checker", "description": "Checks.", "instructions": "Check.", "tools": ["drill", "calculate"]}
    counsel = {"name": "counsel", "description": "Advises.", "team": "nobody"}
    late = {"name": "late", "description": "Advises.", "team": "general@9"}

    installed = await faults(api, {"workers": [checker, counsel, late, WRITER | {"output_schema": {"type": "strng"}}]})

    assert [*installed] == ["/workers/0/tools/0", "/workers/3/output_schema/type", "/workers/1/team", "/workers/2/team"]
    assert "no tool drill; known are: calculate, fetch_page" in installed["/workers/0/tools/0"]
    assert "no team nobody; known are: " in installed["/workers/1/team"]
    assert " general, letters, " in installed["/workers/1/team"]
    assert "versions 1 to 1" in installed["/workers/2/team"]
    assert await faults(api, LETTERS | {"colour": "red"}) == {"/colour": "Unknown field: colour"}
    assert [*await faults(api, {})] == ["/workers"]
    shared = [checker | {"tools": ["calculate"]}, WRITER | {"tools": ["calculate"]}]
    inside = await faults(api, {"workers": shared, "routing": [{"when": {"contains": ["x"]}, "worker": "nobody"}]})
    assert [*inside] == ["/routing/0/worker", "/workers/1/tools/0"]
    assert [*await faults(api, LETTERS | {"name": "numbers"})] == ["/name"]
    assert (await put(api, LETTERS, "Letters")).json()["errors"][0]["parameter"] == "name"


async def test_an_archived_team_takes_no_new_job_and_can_still_be_read(api: Api) -> None:
    await put(api, LETTERS)
    sent: dict[str, Any] = {"json": JOB | {"team": "letters"}, "headers": {"Idempotency-Key": "once"}}
    run_id = (await api.client.post("/v1/jobs", **sent)).json()["id"]

    gone = await api.client.delete("/v1/teams/letters")

    assert (gone.status_code, gone.content) == (204, b"")
    for reference in ("letters", "letters@1"):
        refused = await api.client.post("/v1/jobs", json=JOB | {"team": reference})
        assert (refused.status_code, refused.json()["code"]) == (422, "team_unknown")
    unknown = [await api.client.get("/v1/teams/letters"), await api.client.delete("/v1/teams/letters")]
    assert [(each.status_code, each.json()["code"]) for each in unknown] == [(404, "team_not_found")] * 2
    assert "letters" not in [each["name"] for each in (await api.get("/v1/teams"))["data"]]
    office = {"workers": [{"name": "writer", "description": "Writes.", "team": "letters"}]}
    assert [*await faults(api, office, "office")] == ["/workers/0/team"]
    assert (await api.client.post("/v1/jobs", **sent)).json()["id"] == run_id
    kept = (await api.get(f"/v1/runs/{run_id}"))["team"]
    assert (await api.get(f"/v1/teams/{kept['name']}@{kept['version']}"))["archived_at"]
    assert all(each["archived_at"] for each in (await api.get("/v1/teams/letters/versions"))["data"])


@pytest.mark.parametrize(("body", "expected"), [(LETTERS, (200, 1)), (OTHER, (201, 2))])
async def test_putting_an_archived_team_brings_it_back(api: Api, body: Any, expected: tuple[int, int]) -> None:
    await put(api, LETTERS)
    await api.client.delete("/v1/teams/letters")

    back = await put(api, body)

    assert (back.status_code, back.json()["version"]) == expected
    assert back.json()["archived_at"] is None
    for reference in ("letters", "letters@1"):
        await api.post(team=reference)


async def test_what_a_client_makes_of_a_built_in_team_outlasts_restarts_and_releases(start_api: Starts) -> None:
    first = await start_api()
    general = await first.get("/v1/teams/general")
    ours = {name: general[name] for name in ("supervisor", "workers", "limits")}
    assert (await put(first, ours | {"description": "Ours."}, "general")).json()["version"] == 2
    await first.client.delete("/v1/teams/support-desk")

    second = await start_api()
    await put_team(
        second.runtime.database, DEFAULT_TENANT, CREW.model_copy(update={"name": "general"}), origin="built_in"
    )
    await put_team(
        second.runtime.database, DEFAULT_TENANT, CREW.model_copy(update={"name": "support-desk"}), origin="built_in"
    )

    assert (await second.get("/v1/teams/general"))["description"] == "Ours."
    names = {each["name"] for each in (await second.get("/v1/teams"))["data"]}
    assert names & {"general", "research-report", "support-desk"} == {"general", "research-report"}
    assert len((await second.get("/v1/teams/general/versions"))["data"]) == 2
    assert len((await second.get("/v1/teams/support-desk/versions"))["data"]) == 1


async def test_a_team_from_a_file_is_the_files_and_the_clients_once_the_file_is_gone(
    start_api: Starts, tmp_path: Path
) -> None:
    before = await start_api()
    await put(before, LETTERS)
    (tmp_path / "letters.yaml").write_text("name: letters\nworkers: [{name: a, description: A., instructions: A.}]")
    api = await start_api(teams_dir=tmp_path)

    refused = [await put(api, LETTERS), await api.client.delete("/v1/teams/letters")]

    assert [(each.status_code, each.json()["code"]) for each in refused] == [(409, "team_from_file")] * 2
    stored = await api.get("/v1/teams/letters")
    assert (stored["version"], stored["origin"]) == (2, "operator")
    assert (await put(before, LETTERS)).json()["version"] == 3


async def test_a_task_of_a_team_that_is_archived_meanwhile_fails_and_its_run_keeps_its_own(
    service: Service, stub: StubProvider, client: httpx2.AsyncClient
) -> None:
    lead = {"name": "lead", "description": "Leads.", "team": "letters"}
    await client.put("/v1/teams/letters", json=LETTERS)
    await client.put("/v1/teams/office", json={"workers": [lead, WRITER], "ladder": ["give_up"]})
    stub.on("plan", as_json(plan_of(task("a"), task("b", "lead", needs=["a"], required=False))))
    reached, go_on = asyncio.Event(), asyncio.Event()

    async def held(_: SeenRequest) -> Answer:
        reached.set()
        await go_on.wait()
        return as_json(report())

    stub.on("work", held)
    stub.on("synthesize", as_json(synthesis("the answer", "a", without=["b"])))
    run_id = (await client.post("/v1/jobs", json=JOB | {"team": "office"})).json()["id"]
    await asyncio.wait_for(reached.wait(), 10)
    for name in ("letters", "office"):
        assert (await client.delete(f"/v1/teams/{name}")).status_code == 204
    go_on.set()

    ended = await service.ended(run_id)

    outputs = {each["task"]: each for each in ended["result"]["outputs"]}
    assert (ended["status"], ended["team_version"]) == ("succeeded", 1)
    assert outputs["a"]["status"] == "succeeded"
    assert "letters, which is not known" in str(outputs["b"]["error"])


async def test_the_schema_of_team_files_takes_what_the_service_takes(api: Api) -> None:
    answer = await api.client.get("/v1/schemas/team")

    assert answer.headers["content-type"] == "application/schema+json"
    assert answer.json() == json.loads((ROOT / "openapi" / "team.schema.json").read_text())
    schema = jsonschema_rs.validator_for(answer.json())
    for file in BUILT_IN_TEAMS.glob("*.yaml"):
        assert schema.is_valid(yaml.safe_load(file.read_text()))
    assert schema.is_valid(LETTERS | {"name": "letters"})
    assert not schema.is_valid(LETTERS | {"name": "letters", "colour": "red"})
    parts = [answer.json(), *answer.json()["$defs"].values()]
    assert all("description" in field or "$ref" in field for part in parts for field in part["properties"].values())
