from typing import Any

from httpx2 import AsyncClient
from sqlalchemy import text

from app.domain.keys import DEFAULT_TENANT
from app.domain.thinning import KEPT_CHARACTERS
from app.store.retention import Retention, thin_one
from app.store.teams import put_team
from app.tools.tool import ToolContext
from tests.support.api import client_of
from tests.support.fixtures import Services
from tests.support.service import Service, plan_of, report, task
from tests.support.stub_answers import as_json, call, tool_calls
from tests.support.stub_provider import StubProvider
from tests.support.toolbox import Note, team_with, tool

PAGE = "word " * 4_000
AGE = "UPDATE runs SET finished_at = finished_at - make_interval(days => :days)"


async def read(note: Note, _: ToolContext) -> str:
    return f"{note.path} {PAGE}"


READS = tool("reads", read, arguments=Note, output_limit=2 * len(PAGE))
TEAM = team_with(READS)
JOB = {"objective": "Read the page.", "team": TEAM.name, "plan": plan_of(task("t1", "keeper"))}


async def age(service: Service, days: int) -> None:
    async with service.database.transaction() as connection:
        await connection.execute(text(AGE), {"days": days})


async def thinned_run(service: Service, stub: StubProvider, client: AsyncClient) -> tuple[str, dict[str, Any]]:
    """A run whose log is cut, and its trace before that."""
    stub.on("work", call=1, reply=tool_calls(call("reads", {"path": "a page"})))
    stub.on("work", as_json(report("read it")))
    await put_team(service.database, DEFAULT_TENANT, TEAM)
    run_id = (await client.post("/v1/jobs", json=JOB)).json()["id"]
    await service.ended(run_id)
    whole = (await client.get(f"/v1/runs/{run_id}/trace")).json()
    await age(service, 40)
    assert not await thin_one(service.database, Retention(thin_after_days=41))
    assert await thin_one(service.database, Retention(thin_after_days=39))
    assert not await thin_one(service.database, Retention(thin_after_days=39))
    await age(service, -40)
    return run_id, whole


async def test_a_trace_that_is_cut_says_the_same_in_less_words(services: Services, stub: StubProvider) -> None:
    service = await services.start(tools=[READS])
    async with client_of(service.runtime) as client:
        run_id, whole = await thinned_run(service, stub, client)

        cut = (await client.get(f"/v1/runs/{run_id}/trace")).json()
        with_content = await client.get(f"/v1/runs/{run_id}/trace?include=content")

    assert whole["thinned_at"] is None
    assert cut["thinned_at"] is not None
    for part in ("run", "plan_revisions", "tasks", "report"):
        assert cut[part] == whole[part]
    assert [span["id"] for span in cut["spans"]] == [span["id"] for span in whole["spans"]]
    assert [event["type"] for event in cut["events"]] == [event["type"] for event in whole["events"]]
    [ended] = [event["data"] for event in cut["events"] if event["type"] == "tool.completed"]
    assert ended["output"].startswith("a page word")
    assert len(ended["output"]) <= KEPT_CHARACTERS < ended["omitted"]
    calls = [event["data"] for event in cut["events"] if event["type"] == "llm.completed"]
    assert [(each["opening"], each["terms"]) for each in calls] == [(None, None)] * len(calls)
    assert with_content.status_code == 200


async def test_a_run_whose_log_is_cut_can_be_replayed_and_gone_on_from(services: Services, stub: StubProvider) -> None:
    service = await services.start(tools=[READS])
    async with client_of(service.runtime) as client:
        run_id, whole = await thinned_run(service, stub, client)

        replay = (await client.post(f"/v1/runs/{run_id}/replay")).json()
        again = await client.post(f"/v1/runs/{run_id}/resynthesize")
        answer = await service.ended(again.json()["id"])

    assert (replay["same"], replay["replies"], replay["events"]) == (True, 0, len(whole["events"]))
    assert answer["result"] == whole["run"]["result"]
