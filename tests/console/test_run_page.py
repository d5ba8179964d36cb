"""The page of a run: its head, and the plan as a graph that fills."""

import json
import re
from collections.abc import Sequence
from typing import Any

import httpx2
from playwright.async_api import Route, expect

from app.domain import events as ev
from app.domain.events import Entry, Event
from app.domain.plan import Plan, Task, validated
from app.domain.team import TeamRef
from tests.console.conftest import Desk
from tests.support.browser import violations
from tests.support.play import Play, playing
from tests.support.service import plan_of, report, synthesis, task
from tests.support.story import as_json as event_json
from tests.support.stub_answers import as_json, fault, held
from tests.support.stub_provider import StubProvider

THREE = plan_of(task("north"), task("south"), task("sum", "analyst", ["north", "south"]))
_REFLOWS = "document.documentElement.scrollWidth <= document.documentElement.clientWidth"


async def test_a_graph_fills_is_walked_by_keys_and_its_run_is_answered(desk: Desk, stub: StubProvider) -> None:
    stub.on("work:writer", held(as_json(report("done"))))
    stub.on("work:analyst", as_json(report("done")))
    stub.on("synthesize", as_json(synthesis("All told.", "north", "sum")))
    run_id = await desk.service.submit("Compare the north and the south.", plan=THREE)
    page = await desk.open(f"/runs/{run_id}")
    graph = page.get_by_role("region", name="The plan as a graph")
    north, total = graph.locator("[data-node=north]"), graph.locator("[data-node=sum]")

    await expect(page.get_by_role("heading", level=1)).to_have_text("Compare the north and the south.")
    await expect(north).to_have_accessible_name("Task north: running, writer")
    await expect(total).to_have_accessible_name("Task sum: pending, analyst, after north, south")
    await expect(page.locator(".state.large")).to_contain_text("running: executing")

    await north.click()
    await expect(page).to_have_url(f"{desk.url}/console/runs/{run_id}?task=north")
    await expect(north).to_have_attribute("aria-current", "true")
    await page.keyboard.press("ArrowRight")
    await expect(total).to_be_focused()
    await page.keyboard.press("ArrowLeft")
    await page.keyboard.press("ArrowDown")
    await page.keyboard.press("Enter")
    await expect(page).to_have_url(f"{desk.url}/console/runs/{run_id}?task=south")
    await page.go_back()
    await expect(north).to_have_attribute("aria-current", "true")

    stub.release()
    await expect(page.locator(".state.large")).to_have_text("● succeeded")
    await expect(page.locator(".run-head")).to_contain_text("3 of 3 done")
    await expect(total).to_have_accessible_name(re.compile("Task sum: succeeded, analyst"))


async def test_a_run_is_cancelled_with_a_reason_and_done_again(desk: Desk, stub: StubProvider) -> None:
    stub.on("work", held(as_json(report("done"))))
    run_id = await desk.service.submit(plan=THREE)
    page = await desk.open(f"/runs/{run_id}")

    await page.get_by_role("button", name="Cancel…").click()
    await page.get_by_label("Reason").fill("We know it already.")
    await page.route("**/cancel", lambda route: route.abort(), times=1)
    await page.get_by_role("button", name="Cancel the run").click()
    await page.get_by_role("button", name="Cancel…").click()
    await expect(page.get_by_label("Reason")).to_have_value("We know it already.")
    await page.get_by_role("button", name="Cancel the run").click()

    await expect(page.locator(".state.large")).to_have_text("⊘ cancelled")
    await page.get_by_text("Cancelled at").click()
    await expect(page.locator(".receipt")).to_contain_text("We know it already.")
    await expect(page.locator(".receipt li")).to_have_count(3)
    stub.release()
    await page.route("**/retry", lost, times=1)
    await page.get_by_role("button", name="Retry what failed").click()
    await expect(page.get_by_role("alert")).to_contain_text("The service cannot be reached.")
    await page.get_by_role("button", name="Retry what failed").click()
    await page.wait_for_url(lambda url: run_id not in url)
    await expect(page.locator(".run-head")).to_contain_text(f"Retry of {run_id}")
    async with httpx2.AsyncClient(base_url=desk.url) as client:
        assert len((await client.get("/v1/runs")).json()["data"]) == 2
    desk.complaints.forgive("ERR_FAILED")


async def test_a_stream_that_breaks_says_so_and_loses_nothing(quiet_desk: Desk) -> None:
    page = quiet_desk.page
    async with playing(quiet_desk.service.database) as player:
        play = player.play(await quiet_desk.service.submit())
        await play.start()
        await play.plan("t1")
        await play.start_task("t1")
        await play.finish_task("t1")
        log = await quiet_desk.service.events(play.run_id)
        stream = Broken(log[:3])
        await page.route("**/events*", stream.answer)
        await quiet_desk.open(f"/runs/{play.run_id}?view=work")

        await expect(page.get_by_text("The stream of events is away since")).to_be_visible()
        await expect(page.locator(".page.run")).to_have_attribute("data-seq", "3")
        stream.mended = True
        await expect(page.get_by_text("The stream is back, and nothing is missing.")).to_be_visible()
        await expect(page.locator(".page.run")).to_have_attribute("data-seq", "7")
        await expect(page.locator("[data-node=t1]")).to_have_accessible_name(re.compile("t1: succeeded, writer"))
    quiet_desk.complaints.forgive("ERR_FAILED")


async def test_revisions_are_compared_and_runs_inside_the_run_are_shown(quiet_desk: Desk) -> None:
    async with playing(quiet_desk.service.database) as player:
        play = player.play(await quiet_desk.service.submit("Look everywhere. " * 40))
        await revised(play)
        page = await quiet_desk.open(f"/runs/{play.run_id}?view=work")

        await expect(page.locator("[data-node='c/run']")).to_have_accessible_name("Open the run of crew: running")
        await expect(page.get_by_role("list", name="Runs inside this run")).to_contain_text("crew@1")
        await expect(page.locator("[data-node=a]")).to_have_count(0)
        await page.get_by_role("navigation", name="Revisions of the plan").get_by_role("link", name="2").click()
        await expect(page).to_have_url(f"{quiet_desk.url}/console/runs/{play.run_id}?view=work&revision=2")
        await expect(page.locator(".revisions")).to_contain_text("Too much for one.")
        marks = {"a": "removed", "b": "changed", "c": "new"}
        for name, mark in marks.items():
            place = page.locator(".place", has=page.locator(f"[data-node={name}]"))
            await expect(place).to_have_attribute("data-change", mark)

        await page.locator(".run-head").get_by_role("button", name="Show all of it").click()
        for scheme in ("light", "dark"):
            await page.emulate_media(color_scheme=scheme)
            assert await violations(page) == []
        await page.set_viewport_size({"width": 360, "height": 700})
        assert await page.evaluate(_REFLOWS)


async def test_what_failed_is_told_in_words_and_the_job_is_copied_as_a_command(desk: Desk, stub: StubProvider) -> None:
    stub.on("*", fault(401, "authentication_error", "no"))
    run_id = await desk.service.submit("What's it worth?", inputs=[{"name": "a b.csv", "content": "x"}])
    page = await desk.open(f"/runs/{run_id}")
    await page.context.grant_permissions(["clipboard-read", "clipboard-write"])

    await expect(page.locator(".run-head .failure")).to_contain_text("provider_auth")
    await page.evaluate("sessionStorage.setItem('chargehand.key', 'chk_secret')")
    await page.reload()
    await page.get_by_role("button", name="Copy as curl").click()
    await expect(page.locator("#said")).to_contain_text("Copied.")
    command = await page.evaluate("navigator.clipboard.readText()")

    assert command.startswith(f"curl -sS '{desk.url}/v1/jobs'")
    assert "What'\\''s it worth?" in command
    assert """-F 'inputs=@"a b.csv";type=text/plain'""" in command
    assert "Bearer $CHARGEHAND_API_KEY" in command
    assert "chk_secret" not in command


async def lost(route: Route) -> None:
    """The request arrives, and its answer does not."""
    await route.fetch()
    await route.abort()


class Broken:
    """A stream whose first answer ends in the middle, behind these events, and whose next ones do not come until it is
    mended."""

    def __init__(self, events: Sequence[Event]) -> None:
        frames = "".join(f"id: {event.seq}\ndata: {json.dumps(event_json(event))}\n\n" for event in events)
        self._parts = [f"{frames}id: {len(events) + 1}\ndata: {{"]
        self.mended = False

    async def answer(self, route: Route) -> None:
        if self._parts:
            await route.fulfill(body=self._parts.pop(), content_type="text/event-stream")
        elif self.mended:
            await route.continue_()
        else:
            await route.abort()


async def revised(play: Play) -> None:
    """A run whose plan has been revised; a team does a task of the new one."""
    await play.start()
    one, other = (Task(id=name, instruction=f"Do {name}.", worker="writer") for name in "ab")
    first = planned(one, other)
    await play.record(play.reply("plan", text="{}"), Entry(ev.PlanCreated.of(first)))
    await play.start_task("a")
    await play.fail_task("a", retry=False)
    better = other.model_copy(update={"instruction": "Do b well.", "depends_on": ("c",)})
    second = planned(better, Task(id="c", instruction="Do c.", worker="writer"), revision=2)
    await play.record(Entry(ev.PlanRevised.from_to(first, second, "Too much for one.")))
    await play.start_task("c")
    child = ev.ChildStarted(run=f"run_{'0' * 32}", team=TeamRef(name="crew", version=1))
    await play.record(Entry(child, "c", 1))


def planned(*tasks: Task, **fields: Any) -> Plan:
    return validated(Plan(goal="the goal", tasks=tasks, **fields), ["writer"], 100)
