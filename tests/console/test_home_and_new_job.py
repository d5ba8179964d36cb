"""From the first page, or a form, to a run; and what becomes of what was typed when that does not go well."""

import asyncio
import json
import re
import shutil
from pathlib import Path
from typing import Any

import httpx2
from playwright.async_api import FilePayload, Page, Route, expect

import app
from app.domain.keys import SCOPES
from app.store.keys import NewKey, create_key
from tests.console.conftest import Desk
from tests.support.api import served_service
from tests.support.browser import Complaints, violations
from tests.support.documents import pdf_of
from tests.support.fixtures import Services
from tests.support.service import plan_of, report, synthesis, task
from tests.support.stub_answers import as_json
from tests.support.stub_provider import StubProvider

A_RUN = re.compile(r"/console/runs/(run_[0-9a-f]+)")
REFUSED = "Failed to load resource"
"""What Chromium says of an answer that is none of 200."""
TEAMS = Path(app.__file__).parent / "teams"


async def run_shown(page: Page) -> str:
    """The id of the run whose page comes up."""
    await page.wait_for_url(A_RUN)
    found = A_RUN.search(page.url)
    assert found is not None
    return found[1]


async def asked(url: str, path: str, **options: Any) -> Any:
    async with httpx2.AsyncClient(base_url=url) as client:
        answer = await client.get(path, **options)
        assert answer.status_code == 200, answer.text
        return answer.json()


async def test_the_three_examples_do_with_the_demo_model_what_they_say(
    services: Services, page: Page, tmp_path: Path
) -> None:
    for name in ("general", "code-review"):
        shutil.copy(TEAMS / f"{name}.yaml", tmp_path)
    service = await services.start(model="demo", built_in=tmp_path)
    ends = {"Five regions side by side": "succeeded", "An answer with a gap": "partial"}
    async with served_service(service) as url:
        await page.goto(f"{url}/console")
        assert await violations(page) == []
        await expect(page.get_by_text("Runs stand here as soon as there are some.")).to_be_visible()

        runs = {}
        for title in [*ends, "A change, reviewed once you say so"]:
            await page.get_by_role("button", name=f"Start: {title}").click()
            runs[title] = await run_shown(page)
            await page.get_by_role("link", name="Chargehand").click()

        row = page.locator(f"[data-run={runs['A change, reviewed once you say so']}]")
        await expect(row.locator(".in-state")).to_have_text("◔\u00a0waits for approval of its plan")
        for title, end in ends.items():
            assert (await service.ended(runs[title]))["status"] == end
            await expect(page.locator(f"[data-run={runs[title]}]")).to_have_attribute("data-state", end)
        await page.goto("about:blank")


async def test_a_job_goes_from_the_form_by_its_quote_to_its_run(desk: Desk, stub: StubProvider) -> None:
    stub.on("plan", as_json(plan_of(task("find", "analyst"), task("tell", "writer", needs=["find"]))))
    stub.on("work", as_json(report("done")))
    stub.on("synthesize", as_json(synthesis("the answer", "tell")))
    page = await desk.open("/new?objective=Compare+the+regions.&team=general")
    await page.locator("#files").set_input_files(
        [
            FilePayload(name="sales.csv", mimeType="text/csv", buffer=b"region,amount\nnorth,1\n"),
            FilePayload(name="terms.pdf", mimeType="application/pdf", buffer=pdf_of("Net 30 days.")),
        ]
    )
    await page.get_by_role("group", name="Inputs").evaluate(DROP)
    await expect(page.get_by_label("Text of input 3")).to_have_value("A note.")
    await page.get_by_role("button", name="Paste a text").click()
    await page.get_by_label("Name of input 4").fill("notes/wish.md")
    await page.get_by_label("Text of input 4").fill("Mind the south.")
    await page.get_by_role("button", name="Remove dropped.txt").click()
    await page.get_by_label("Cost (US dollars)").fill("1.50")
    await page.get_by_text("Further terms").click()
    await page.get_by_role("button", name="Add a label").click()
    await page.get_by_label("Key of label 1").fill("ticket")
    await page.get_by_label("Value of label 1").fill("T-1")

    await page.get_by_role("button", name="Quote first").click()
    quote = page.get_by_role("region", name="Quote")
    await expect(quote.get_by_role("heading", name="2 tasks, up to 1 side by side, 2 in a row")).to_be_visible()
    await expect(quote.get_by_role("row", name=re.compile("^Cost"))).to_contain_text("$1.50")  # The most.
    assert await violations(page) == []
    await page.get_by_label("Have somebody approve the plan").check()
    await expect(quote.get_by_text("The job has changed since")).to_be_visible()
    await page.get_by_role("button", name="Start", exact=True).click()

    run_id = await run_shown(page)
    run = await asked(desk.url, f"/v1/runs/{run_id}")
    assert (run["objective"], run["metadata"]) == ("Compare the regions.", {"ticket": "T-1"})
    assert (run["limits"]["cost_usd"], run["limits"]["approval"]) == ("1.50", "plan")
    inputs = (await asked(desk.url, f"/v1/runs/{run_id}/inputs"))["data"]
    assert [(each["name"], each["media_type"]) for each in inputs] == [
        ("sales.csv", "text/csv"), ("terms.pdf", "application/pdf"), ("notes/wish.md", "text/markdown"),
    ]  # fmt: skip


DROP = """(zone) => {
    const dataTransfer = new DataTransfer();
    dataTransfer.items.add(new File(["A note."], "dropped.txt"));
    zone.dispatchEvent(new DragEvent("drop", { dataTransfer, bubbles: true, cancelable: true }));
}"""


async def test_the_plan_that_was_quoted_can_be_what_is_carried_out(desk: Desk, stub: StubProvider) -> None:
    stub.on("plan", as_json(plan_of(task("tell", "writer"))))
    stub.on("work", as_json(report("done")))
    stub.on("synthesize", as_json(synthesis("the answer", "tell")))
    page = await desk.open("/new?objective=Tell.&planning=model")
    await page.get_by_role("button", name="Quote first").click()
    await page.get_by_role("button", name="Start with this plan").click()

    run_id = await run_shown(page)
    assert (await desk.service.ended(run_id))["status"] == "succeeded"
    made = await asked(desk.url, f"/v1/runs/{run_id}/events?types=plan.created")
    assert [event["data"]["source"] for event in made["data"]] == ["client"]
    runs = (await asked(desk.url, "/v1/runs"))["data"]
    [dry] = [run["id"] for run in runs if run["limits"].get("dry_run")]
    await desk.open(f"/runs/{dry}")
    planned = page.get_by_role("region", name="Only a plan was made")
    await expect(planned.get_by_role("row", name=re.compile("^Tokens"))).to_be_visible()
    await expect(planned.get_by_role("link")).to_have_attribute("href", f"/console/new?from={dry}")
    await expect(page.get_by_role("region", name="The plan as a graph")).to_be_visible()
    assert await violations(page) == []
    await page.get_by_role("link", name="Answer", exact=True).click()
    await expect(page.locator(".answer")).to_contain_text("Nothing of it was carried out.")


async def test_what_is_typed_outlives_a_wrong_field_a_key_that_is_asked_for_a_lost_answer_and_a_reload(
    services: Services, page: Page, complaints: Complaints
) -> None:
    service = await services.start(engine=False, auth="keys")
    key, _ = await create_key(service.runtime.database, NewKey("default", frozenset(SCOPES)))
    start = page.get_by_role("button", name="Start", exact=True)
    dialog = page.get_by_role("dialog")
    async with served_service(service) as url:
        await page.goto(f"{url}/console/new")
        await dialog.get_by_role("button", name="Not now").click()
        await page.get_by_label("Objective").fill("Find out.")
        await page.get_by_label("Cost (US dollars)").fill("-1")

        await start.click()
        assert await violations(page) == []
        await dialog.get_by_label("Key").fill(key.text)
        await dialog.get_by_role("button", name="Use it").click()
        await expect(page.get_by_text("This must be more than 0.")).to_be_visible()
        await expect(page.get_by_label("Cost (US dollars)")).to_have_attribute("aria-invalid", "true")
        await page.reload()
        await expect(page.get_by_label("Objective")).to_have_value("Find out.")
        await expect(page.get_by_label("Cost (US dollars)")).to_have_value("-1")
        assert key.text not in page.url

        await page.get_by_label("Cost (US dollars)").fill("2")
        await page.route("**/v1/jobs", answer_lost, times=1)
        await start.click()
        await expect(page.get_by_text("The service cannot be reached.")).to_be_visible()
        await page.reload()
        await start.click()
        run_id = await run_shown(page)

        headers = {"authorization": f"Bearer {key.text}"}
        assert [run["id"] for run in (await asked(url, "/v1/runs", headers=headers))["data"]] == [run_id]
        await page.goto(f"{url}/console/new")
        await expect(page.get_by_label("Objective")).to_have_value("")
        await page.goto("about:blank")
    complaints.forgive(REFUSED, "ERR_FAILED")


async def answer_lost(route: Route) -> None:
    """The request arrives; its answer does not."""
    await route.fetch()
    await route.abort()


async def test_the_job_of_a_run_can_be_sent_again_by_the_form_or_by_a_terminal(quiet_desk: Desk) -> None:
    job = {
        "objective": "It's about “the south”.", "team": "general", "inputs": [{"name": "a.md", "content": "$HOME 'x'"}],
        "limits": {"tasks": 3, "cost_usd": "2.00"}, "on_question": "default", "rubric": "Short.", "approval": "plan",
        "output_schema": {"type": "object"}, "metadata": {"n": "1"},
    }  # fmt: skip
    async with httpx2.AsyncClient(base_url=quiet_desk.url) as client:
        first = (await client.post("/v1/jobs", json=job)).json()["id"]
    page = await quiet_desk.open(f"/new?from={first}")
    await expect(page.get_by_label("Objective")).to_have_value("It's about “the south”.")
    await expect(page.get_by_label("Tasks", exact=True)).to_have_value("3")

    command = await page.evaluate(CURL, first)
    shell = await asyncio.create_subprocess_shell(command, stdout=asyncio.subprocess.PIPE)
    said, _ = await shell.communicate()
    await page.get_by_role("button", name="Start", exact=True).click()

    told = [await told_by(quiet_desk.url, run_id) for run_id in (first, json.loads(said)["id"], await run_shown(page))]
    assert told[0] == told[1] == told[2]
    assert told[0]["rubric"] == "Short."


CURL = """async (from) => {
    const { draftFor } = await import("/console/job/prefill.js");
    const { curlOf } = await import("/console/job/request.js");
    return curlOf(await draftFor(new URLSearchParams({ from })), location.origin);
}"""


async def told_by(url: str, run_id: str) -> Any:
    """What the first event of a run says of its job, with its metadata and inputs."""
    queued = (await asked(url, f"/v1/runs/{run_id}/events?types=run.queued"))["data"][0]["data"]
    del queued["request_id"], queued["traceparent"]
    run = await asked(url, f"/v1/runs/{run_id}")
    return queued | {"metadata": run["metadata"]}
