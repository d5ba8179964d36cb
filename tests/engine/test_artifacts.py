import base64
from typing import Any

import httpx2
import pytest

from app.domain.team import Supervisor, Team
from app.domain.worker import Worker
from tests.support.api import client_of
from tests.support.fixtures import Services
from tests.support.rows import check_rows
from tests.support.service import Service, plan_of, report, synthesis, task
from tests.support.stub_answers import as_json, held
from tests.support.stub_provider import StubProvider

WRITER = Worker(name="writer", description="Writes.", instructions="Write.", artifacts=True)
FILING = Team(
    name="filing",
    supervisor=Supervisor(artifacts=True),
    workers=(WRITER, Worker(name="clerk", description="Files.", instructions="File.")),
)
FILING_SUMS = Team(
    name="sums",
    workers=(
        Worker(name="sums", description="Works sums out.", instructions="Do.", tools=("calculate",), artifacts=True),
    ),
)
PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n\x00\xff").decode()


def file(name: str, text: str | None = None, media_type: str = "text/markdown", **fields: Any) -> dict[str, Any]:
    return {"name": name, "media_type": media_type, "text": text, "base64": None} | fields


def prepare(stub: StubProvider, *files: dict[str, Any], of_answer: tuple[dict[str, Any], ...] = ()) -> None:
    stub.on("plan", as_json(plan_of(task("t1", "writer"), task("t2", "clerk", ["t1"]), final_instruction="Both.")))
    handing_over = as_json(report("See the files.", artifacts=list(files)))
    stub.on("work", lambda seen: handing_over if "artifacts" in str(seen.body["output_config"]) else as_json(report()))
    stub.on("synthesize", as_json(synthesis("All is told.", "t1", "t2", artifacts=list(of_answer))))


async def listed(client: httpx2.AsyncClient, run_id: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = (await client.get(f"/v1/runs/{run_id}/artifacts")).json()["data"]
    return found


async def test_files_of_tasks_and_of_the_answer_are_downloaded(service: Service, stub: StubProvider) -> None:
    notes = file('Über "uns".md', "# Über uns\n")
    page = file("page.html", "<script>alert(1)</script>", "text/html")
    picture = file("plot.png", None, "image/png", base64=PNG)
    prepare(stub, notes, page, picture, of_answer=(file("PAGE.html", "again", "text/html"),))

    run_id = await service.submit(team=FILING)
    run = await service.ended(run_id)

    assert run["status"] == "succeeded"
    async with client_of(service.runtime) as client:
        resource = (await client.get(f"/v1/runs/{run_id}")).json()
        files = resource["result"]["artifacts"]
        assert [(each["name"], each["task"], each["bytes"]) for each in files] == [
            ("Über \"uns\".md", "t1", 12), ("page.html", "t1", 25), ("plot.png", "t1", 10), ("PAGE-2.html", None, 5),
        ]  # fmt: skip
        assert await listed(client, run_id) == files
        answers = [await client.get(each["url"]) for each in files]
        assert [each.content for each in answers] == [
            "# Über uns\n".encode(), b"<script>alert(1)</script>", base64.b64decode(PNG), b"again",
        ]  # fmt: skip
        assert [each.headers["content-type"] for each in answers] == [
            "text/markdown; charset=utf-8", "text/plain; charset=utf-8", "image/png", "text/plain; charset=utf-8",
        ]  # fmt: skip
        first = answers[0].headers
        assert first["content-disposition"] == (
            "attachment; filename=\"Uber _uns_.md\"; filename*=UTF-8''%C3%9Cber%20%22uns%22.md"
        )
        assert first["content-security-policy"] == "default-src 'none'; sandbox"
        assert first["x-content-type-options"] == "nosniff"
        again = await client.get(files[0]["url"], headers={"if-none-match": first["etag"]})
        assert (again.status_code, again.content) == (304, b"")
        head = await client.head(files[0]["url"])
        assert (head.status_code, head.content, head.headers["etag"]) == (200, b"", first["etag"])
        tasks = (await client.get(f"/v1/runs/{run_id}/tasks")).json()["data"]
        assert tasks[0]["output"]["artifacts"] == files[:3]
        assert tasks[1]["output"]["artifacts"] == []
    await check_rows(service.runtime.database, run_id)


async def test_the_files_of_a_task_are_there_while_the_run_goes_on(service: Service, stub: StubProvider) -> None:
    prepare(stub, file("notes.md", "# Notes"))
    stub.on("synthesize", held(as_json(synthesis("All is told.", "t1", "t2", artifacts=[]))))

    run_id = await service.submit(team=FILING)
    await service.until_logged(run_id, "task.succeeded", 2)
    async with client_of(service.runtime) as client:
        [only] = await listed(client, run_id)
        assert (await client.get(only["url"])).text == "# Notes"
    stub.release("held")
    assert (await service.ended(run_id))["status"] == "succeeded"


@pytest.mark.parametrize("path", ["no.md", "..%2Fnotes.md", "%00", "notes.md%20"])
async def test_an_unknown_file_is_not_found(service: Service, stub: StubProvider, path: str) -> None:
    prepare(stub, file("notes.md", "# Notes"))
    run_id = await service.submit(team=FILING)
    await service.ended(run_id)

    async with client_of(service.runtime) as client:
        missing = await client.get(f"/v1/runs/{run_id}/artifacts/{path}")
        nowhere = await client.get(f"/v1/runs/run_0/artifacts/{path}")
    assert (missing.status_code, nowhere.status_code) == (404, 404)
    assert nowhere.json()["code"] in ("run_not_found", "not_found")


async def test_files_that_misfit_are_sent_back_once_with_what_is_wrong(service: Service, stub: StubProvider) -> None:
    prepare(stub)
    replies = iter([report("Done.", artifacts=[file("../a.md", "a")]), report("Done.", artifacts=[file("a.md", "a")])])
    stub.on("work", lambda seen: as_json(next(replies) if "artifacts" in str(seen.body["output_config"]) else report()))

    run_id = await service.submit(team=FILING)
    run = await service.ended(run_id)

    assert [each["name"] for each in run["result"]["artifacts"]] == ["a.md"]
    [rejected] = [event for event in await service.events(run_id) if event.type == "task.rejected"]
    assert "no path" in rejected.data.errors[0].detail  # type: ignore[union-attr]


async def test_a_nested_run_hands_its_files_to_its_parent(services: Services, stub: StubProvider) -> None:
    office = Team(name="office", workers=(Worker(name="desk", description="Does all of it.", team="filing"),))
    service = await services.start(park_after_s=0.05, poll_seconds=0.1)
    inner = plan_of(task("t1", "writer"), task("t2", "clerk"), final_instruction="Both.")
    prepare(stub, file("notes.md", "# Notes"), of_answer=(file("plot.png", None, "image/png", base64=PNG),))
    stub.on(
        "plan",
        lambda seen: as_json(plan_of(task("all", "desk")) if 'team "office"' in str(seen.body["system"]) else inner),
    )
    await service.stored(FILING)

    run_id = await service.submit(team=office)
    run = await service.ended(run_id)

    assert [(each["name"], each["task"]) for each in run["result"]["artifacts"]] == [
        ("notes.md", "all"), ("plot.png", "all"),
    ]  # fmt: skip
    async with client_of(service.runtime) as client:
        urls = [each["url"] for each in run["result"]["artifacts"]]
        contents = [(await client.get(url)).content for url in urls]
    assert contents == [b"# Notes", base64.b64decode(PNG)]


async def test_the_demo_model_hands_over_a_marked_file(services: Services) -> None:
    service = await services.start(model="demo", anthropic_api_key=None)
    run_id = await service.submit("Work out 6 * 7 and say what it is.", team=FILING_SUMS)
    run = await service.ended(run_id)

    assert run["result"]["artifacts"], run["result"]
    async with client_of(service.runtime) as client:
        content = (await client.get(run["result"]["artifacts"][0]["url"])).text
    assert "Demo model:" in content
