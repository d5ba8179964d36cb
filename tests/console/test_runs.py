"""The list of runs: live without moving what is read, filtered by its address, and cancelled together."""

import re
from typing import Any

import httpx2
import psycopg
from playwright.async_api import Page, expect

from tests.console.conftest import Desk
from tests.support.browser import violations
from tests.support.play import Player, playing
from tests.support.run_rows import fill

PHONE = {"width": 360, "height": 740}


async def post(desk: Desk, objective: str, **job: Any) -> str:
    async with httpx2.AsyncClient(base_url=desk.url) as client:
        answer = await client.post("/v1/jobs", json={"objective": objective} | job)
        run_id: str = answer.json()["id"]
        return run_id


async def objectives(page: Page) -> list[str]:
    return await page.locator(".to-run").all_inner_texts()


async def plan_and_start(player: Player, run_id: str) -> None:
    play = player.play(run_id)
    await play.start()
    await play.plan("t1", "t2", "t3")
    await play.start_task("t1")


async def test_rows_go_on_by_themselves_and_stay_where_they_are_while_somebody_reads(quiet_desk: Desk) -> None:
    first = await post(quiet_desk, "The first.", metadata={"ticket": "T-1"})
    page = await quiet_desk.open("/runs")
    row = page.locator(f"[data-run={first}]")
    await expect(row).to_have_attribute("data-state", "queued")
    await expect(row.get_by_text("ticket: T-1")).to_be_visible()

    async with playing(quiet_desk.service.database) as player:
        await plan_and_start(player, first)
    await expect(row.locator(".in-state")).to_have_text("◐\u00a0running: executing")
    await expect(row.get_by_role("img", name="3 tasks: 1 running, 2 pending")).to_be_visible()
    await expect(row.locator(".in-elapsed")).to_have_text(re.compile("^[2-9] s$"))  # Its clock ticks.

    await row.get_by_role("link", name="The first.").focus()
    await post(quiet_desk, "The second.")
    await page.get_by_role("button", name="Show 1 new run").wait_for()
    assert await objectives(page) == ["The first."]
    assert await violations(page) == []
    await page.get_by_role("button", name="Show 1 new run").click()
    assert await objectives(page) == ["The second.", "The first."]

    await post(quiet_desk, "The third.")
    await expect(page.locator(".to-run").first).to_have_text("The third.")
    await page.locator(".to-run").first.focus()
    for key, expected in (("ArrowDown", "The second."), ("j", "The first."), ("k", "The second.")):
        await page.keyboard.press(key)
        assert await page.evaluate("document.activeElement.textContent") == expected
    await page.keyboard.press("Enter")
    await page.wait_for_url("**/console/runs/run_*")


async def test_filters_orders_and_pages_live_in_the_address(quiet_desk: Desk) -> None:
    with psycopg.connect(quiet_desk.service.url, autocommit=True) as connection:
        fill(connection, "default", 120, apart_s=3600)
        connection.execute("UPDATE runs SET team_name = 'general'")
        connection.execute("DELETE FROM teams WHERE name = 'rare'")
    page = await quiet_desk.open("/runs?metadata=env:prod")
    await expect(page.locator(".to-run")).to_have_count(25)
    newest = await objectives(page)

    await page.get_by_role("button", name="Next page").click()
    await expect(page.locator(".to-run").first).not_to_have_text(newest[0])
    assert "after=" in page.url
    assert not {*newest} & {*await objectives(page)}
    await page.go_back()
    await expect(page.locator(".to-run").first).to_have_text(newest[0])

    await page.get_by_role("group", name="State").get_by_role("button", name="failed").click()
    await page.get_by_label("Metadata").fill("customer=c57")
    await page.keyboard.press("Enter")
    await expect(page.locator(".to-run")).to_have_count(1)
    assert page.url.endswith("/console/runs?status=failed&metadata=env%3Aprod&metadata=customer%3Ac57")
    await page.reload()
    await expect(page.locator(".in-state")).to_contain_text(["failed: provider auth"])
    await expect(page.get_by_role("button", name="failed")).to_have_attribute("aria-pressed", "true")

    await page.get_by_role("button", name="Clear").click()
    await page.get_by_label("Sorted").select_option("Dearest first")
    await expect(page.locator(".in-cost").first).to_have_text("$0.0120")
    await page.get_by_label("Cost up to ($)").fill("0.005")
    await page.keyboard.press("Enter")
    await expect(page.locator(".in-cost").first).to_have_text("$0.0050")
    assert await page.get_by_role("button", name="Cancel these …").is_disabled()

    await page.goto(f"{quiet_desk.url}/console/runs?state=failed")
    await expect(page.get_by_role("alert")).to_contain_text("state")
    assert await page.get_by_role("button", name="Cancel these …").is_disabled()

    await page.set_viewport_size(PHONE)  # type: ignore[arg-type]
    await page.emulate_media(color_scheme="dark")
    assert await violations(page) == []
    assert not await page.evaluate("document.documentElement.scrollWidth > innerWidth")

    await quiet_desk.open("/runs?cost_usd_min=much")
    await expect(page.get_by_role("alert")).to_contain_text("cost_usd_min")
    quiet_desk.complaints.forgive("Failed to load resource")
    with psycopg.connect(quiet_desk.service.url, autocommit=True) as connection:
        connection.execute("DELETE FROM runs")  # They are rows without a log.


async def test_the_runs_of_a_filter_are_cancelled_once_that_is_confirmed(quiet_desk: Desk) -> None:
    meant = [await post(quiet_desk, "Do it.", metadata={"batch": "a:b"}) for _ in range(2)]
    other = await post(quiet_desk, "Do that.")
    page = await quiet_desk.open("/runs?metadata=batch:a:b")

    await page.get_by_role("button", name="Cancel these …").click()
    dialog = page.get_by_role("dialog", name="Cancel the runs of this filter?")
    await expect(dialog.get_by_text("2 runs that go on:")).to_be_visible()
    assert await violations(page) == []
    await page.keyboard.press("Escape")
    await expect(dialog).to_have_count(0)
    await page.get_by_role("button", name="Cancel these …").click()
    await dialog.get_by_label("Reason").fill("The wrong batch.")
    await dialog.get_by_role("button", name="Cancel 2 runs").click()
    await expect(page.get_by_text("2 runs cancelled.")).to_be_visible()

    async with httpx2.AsyncClient(base_url=quiet_desk.url) as client:
        told = {run_id: (await client.get(f"/v1/runs/{run_id}")).json()["cancellation"] for run_id in (*meant, other)}
    assert [bool(told[run_id]) for run_id in (*meant, other)] == [True, True, False]
    assert told[meant[0]]["reason"] == "The wrong batch."


async def test_a_service_that_is_away_is_said_and_looked_for_again(quiet_desk: Desk) -> None:
    await post(quiet_desk, "Do it.")
    page = await quiet_desk.open("/runs")
    await expect(page.get_by_text("Live · 1 run of this page under way")).to_be_visible()

    await page.route("**/v1/runs?*", lambda route: route.abort())
    await expect(page.get_by_role("alert")).to_contain_text("The service cannot be reached.")
    assert await objectives(page) == ["Do it."]
    await page.unroute("**/v1/runs?*")
    await page.get_by_role("button", name="Look now").click()
    await expect(page.get_by_role("alert")).to_have_count(0)
    await expect(page.get_by_text("Live · 1 run of this page under way")).to_be_visible()
    quiet_desk.complaints.forgive("ERR_FAILED")


CASES = """async () => {
    const { bulkFilter, labelOf, localMoment, momentOf, partsOf, pathOf } = await import("/console/list/query.js");
    const { ParkedList } = await import("/console/list/parked.js");
    const { inWords } = await import("/console/list/picture.js");
    const { mediaTypeOf, inputOf } = await import("/console/job/contents.js");
    const query = (text) => new URLSearchParams(text);
    const run = (id) => ({ id });
    const parked = (before, now) => {
        const list = new ParkedList();
        list.take([...before].map(run), false);
        list.take([...now].map(run), true);
        return [list.shown.map(({ id }) => id).join(""), [...list.left].join(""), list.waiting];
    };
    const kind = async (bytes, name) => Object.keys(await inputOf(new Blob([new Uint8Array(bytes)]), name)).at(-1);
    return [
        [partsOf(labelOf("a:b\\\\c", "d:e")), ["a:b\\\\c", "d:e"]],
        [partsOf("none"), null],
        [momentOf(localMoment("2026-11-29T10:30:00Z")), "2026-11-29T10:30:00Z"],
        [[localMoment(""), localMoment("soon"), momentOf("")], ["", "", null]],
        [pathOf(query("status=failed&status=queued&view=x&team=")),
         "/v1/runs?limit=25&include=levels&status=failed&status=queued&view=x"],
        [bulkFilter(query("status=queued&team=t&metadata=a:b")),
         { filter: { status: ["queued"], team: "t", metadata: { a: "b" } }, beyond: [] }],
        [bulkFilter(query("cost_usd_min=1&sort=cost_usd")), { filter: {}, beyond: ["cost_usd_min"] }],
        [parked("cba", "cba"), ["cba", "", 0]],
        [parked("cba", "dcb"), ["cba", "", 1]],
        [parked("cba", "ca"), ["cba", "b", 0]],
        [parked("", "ba"), ["ba", "", 0]],
        [inWords({ total: 0 }), "No tasks yet"],
        [inWords({ total: 3, failed: 1, succeeded: 2 }), "3 tasks: 2 succeeded, 1 failed"],
        [["A.CSV", "x/y.patch", "Makefile"].map(mediaTypeOf), ["text/csv", "text/x-diff", "text/plain"]],
        [await kind([0x61], "a.md"), "text"], [await kind([0xff], "a.md"), "bytes"], [await kind([0], "a"), "bytes"],
        [await kind([0x25], "a.pdf"), "bytes"],
    ].filter(([is, expected]) => JSON.stringify(is) !== JSON.stringify(expected));
}"""


async def test_what_addresses_lists_and_inputs_mean(quiet_desk: Desk) -> None:
    page = await quiet_desk.open("/runs")

    assert await page.evaluate(CASES) == []
