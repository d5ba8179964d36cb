"""The pages beside the runs: teams with their versions and tools, breakers, and usage as charts."""

import json
import re
from typing import Any

import yaml
from playwright.async_api import Page, expect

from tests.console.conftest import Desk
from tests.support.browser import violations
from tests.support.play import playing
from tests.support.service import CREW

_YAML = """async (values) => {
  const { yamlOf } = await import("/console/yaml.js");
  return values.map(yamlOf);
}"""
_PURE = """async () => {
  const { ticksTo, labelsEvery } = await import("/console/charts.js");
  const { periodOf } = await import("/console/pages/usage.js");
  const { changesOf, linesOf } = await import("/console/pages/team_difference.js");
  const { cellsOf } = await import("/console/run/preview.js");
  const now = Date.parse("2026-11-29T17:30:00Z");
  return {
    ticks: [[0], [0.0123], [7], [980], [3, { whole: true }], [0, { whole: true }], [51, { whole: true }]]
      .map((asked) => ticksTo(...asked)),
    labels: [[7, 1000], [366, 1000], [30, 10]].map((asked) => labelsEvery(...asked)),
    periods: ["", "days=7", "from=2026-11-01&to=2026-11-30", "to=2026-11-02", "from=nonsense"]
      .map((query) => periodOf(new URLSearchParams(query), now)),
    changes: changesOf(
      { name: "a", limits: { tasks: 3, cost_usd: null }, workers: [{ name: "x", tools: ["a"] }, { name: "w" }] },
      { name: "a", limits: { tasks: 4, cost_usd: "2" }, workers: [{ name: "z" }, { name: "x", tools: ["a", "b"] }] },
    ),
    lines: linesOf("a\\nb\\nc\\nd", "a\\nx\\nc\\nd\\ne").map((line) => line.join("")),
    cells: cellsOf('a,"b ""c"", d"\\r\\n"e\\nf",\\n'),
  };
}"""
VALUES: list[Any] = [
    {"a": "yes", "b": "1.0", "c": "x: y", "d": " z", "e": "", "f": None, "g": 2.5, "h": True, "i": [], "j": {}},
    {"list": [{"a": 1, "b": ["x", ["y", "z"]]}, "two\nlines", "ends\n\n", "\nbegins", "tab\there", "- dash", "it's"]},
    {"no": "a", "with space": {"deep": {"deeper": "a\n  b\n\nc"}}, "odd": "\u2028 \u0085 \ufeff é 😀 \\ \"q\""},
    ["plain words, and (more)", "null", "2026-11-29", "0x1f", "a #b", "a: b", "&a", "*a", "!a", "%a", "@a", "`a`"],
]  # fmt: skip


async def test_what_charts_differences_and_files_are_reckoned_by(quiet_desk: Desk) -> None:
    page = await quiet_desk.open("/nowhere")
    teams = (await (await page.request.get(f"{quiet_desk.url}/v1/teams")).json())["data"]

    written = await page.evaluate(_YAML, VALUES + teams)
    found = await page.evaluate(_PURE)

    assert [yaml.safe_load(text) for text in written] == VALUES + teams
    assert found == {
        "ticks": [
            [0, 0.25, 0.5, 0.75, 1], [0, 0.005, 0.01, 0.015], [0, 2, 4, 6, 8], [0, 250, 500, 750, 1000],
            [0, 1, 2, 3], [0, 1, 2, 3, 4], [0, 20, 40, 60],
        ],
        "labels": [1, 24, 30],
        "periods": [
            {"from": "2026-10-31T00:00:00.000Z", "to": None},
            {"from": "2026-11-23T00:00:00.000Z", "to": None},
            {"from": "2026-11-01T00:00:00.000Z", "to": "2026-12-01T00:00:00.000Z"},
            {"from": None, "to": "2026-11-03T00:00:00.000Z"},
            {"from": None, "to": None},
        ],
        "changes": [
            {"path": "limits · tasks", "before": "3", "after": "4"},
            {"path": "limits · cost_usd", "before": None, "after": "2"},
            {"path": "workers x · tools", "before": "- a", "after": "- a\n- b"},
            {"path": "workers w", "before": "name: w", "after": None},
            {"path": "workers z", "before": None, "after": "name: z"},
        ],
        "lines": [" a", "-b", "+x", " c", " d", "+e"],
        "cells": [["a", 'b "c", d'], ["e\nf", ""]],
    }  # fmt: skip


async def test_teams_their_versions_and_tools(quiet_desk: Desk) -> None:
    first = CREW.model_dump(mode="json") | {"description": "A crew."}
    workers = [first["workers"][0] | {"timeout_s": 60}, *first["workers"][1:]]
    second = first | {"description": "A better crew.", "workers": workers}
    page = await quiet_desk.open("/teams")
    for team in (first, second):
        assert (await page.request.put(f"{quiet_desk.url}/v1/teams/crew", data=team)).status == 201
    await page.reload()

    await expect(page.get_by_role("heading", name="research-report")).to_be_visible()
    await _holds(page)
    await page.get_by_role("link", name="crew", exact=True).click()
    await expect(page.get_by_role("heading", name="3 workers")).to_be_visible()
    await expect(page.get_by_role("link", name="New job with this team")).to_have_attribute(
        "href", "/console/new?team=crew"
    )
    await page.get_by_role("link", name="to version 1").click()
    difference = page.locator(".version-difference")
    await expect(difference.get_by_role("heading", name="workers researcher · timeout_s")).to_be_visible()
    await expect(difference.locator(".line[data-sign='+']").first).to_contain_text("A better crew.")
    await _holds(page, dark=True)
    await page.get_by_label("Compared with").select_option("")
    await expect(difference).to_have_count(0)
    await page.get_by_role("link", name="JSON").click()
    shown = json.loads(await page.get_by_role("group", name="Definition of the team").inner_text())
    assert (await page.request.put(f"{quiet_desk.url}/v1/teams/crew", data=shown)).status == 200

    await page.get_by_role("link", name="calculate").click()
    await expect(page.locator("[data-tool=calculate][data-chosen]")).to_be_in_viewport()
    await _holds(page)
    await quiet_desk.open("/teams/nobody")
    await expect(page.get_by_role("alert")).to_contain_text("There is no such team.")
    quiet_desk.complaints.forgive("404")


async def test_breakers_are_opened_and_reset(quiet_desk: Desk) -> None:
    page = await quiet_desk.open("/breakers")
    await expect(page.get_by_text("No breaker has counted a failure")).to_be_visible()
    await _holds(page)

    await page.get_by_label("Name of a breaker").fill("tool:calculate")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("dialog", name="Open this breaker?")).to_be_visible()
    await page.keyboard.press("Escape")
    await expect(page.get_by_role("dialog")).to_have_count(0)
    await expect(page.get_by_text("No breaker has counted a failure")).to_be_visible()

    await page.get_by_label("Name of a breaker").fill("tool:calculate")
    await page.get_by_role("button", name="Open", exact=True).click()
    await page.get_by_role("button", name="Open it").click()
    card = page.locator("[data-breaker='tool:calculate']")
    await expect(card).to_contain_text("Somebody opened it by hand.")
    await _holds(page, dark=True)
    await card.get_by_role("button", name="Reset tool:calculate").click()
    await page.get_by_role("button", name="Reset it").click()
    await expect(card).to_contain_text("closed")


async def test_usage_is_charted(quiet_desk: Desk) -> None:
    page = await quiet_desk.open("/usage")
    await expect(page.get_by_text("No run was posted in this period.")).to_be_visible()
    await _holds(page)

    async with playing(quiet_desk.service.database) as player:
        for _ in range(2):
            play = player.play(await quiet_desk.service.submit())
            await play.start()
            await play.plan("t1")
            await play.start_task("t1")
            await play.finish_task("t1")
    await page.reload()
    await page.get_by_role("link", name="Tokens", exact=True).click()
    await expect(page).to_have_url(re.compile(r"measure=tokens"))
    chart = page.get_by_role("slider", name="Tokens by day")
    await expect(chart).to_have_attribute("aria-valuetext", re.compile(r"· 440 · read anew 400"))
    await expect(page.locator(".pile")).to_have_count(30)
    await chart.focus()
    await page.keyboard.press("ArrowLeft")
    await expect(chart).to_have_attribute("aria-valuetext", re.compile(r"· 0 ·"))
    await expect(page.get_by_role("region", name="Usage by team").get_by_role("row").nth(1)).to_contain_text("440")
    await expect(page.get_by_role("region", name="Usage by model").get_by_role("rowheader")).to_have_text("stub")
    await page.get_by_text("As a table").click()
    await expect(page.get_by_role("region", name="Usage by day").get_by_role("row").last).to_contain_text("All24040040")
    await page.get_by_role("link", name="7 days").click()
    await expect(page.locator(".pile")).to_have_count(7)
    await _holds(page, dark=True)
    await quiet_desk.open("/usage?from=2026-11-03&to=2026-11-01")
    await expect(page.get_by_role("alert")).to_contain_text("There is no such period.")
    quiet_desk.complaints.forgive("422")


async def _holds(page: Page, *, dark: bool = False) -> None:
    """Nothing is wrong for those who cannot see well, and on a phone nothing is too wide."""
    await page.emulate_media(color_scheme="dark" if dark else "light")
    assert await violations(page) == []
    await page.set_viewport_size({"width": 360, "height": 780})
    await page.wait_for_function("document.documentElement.scrollWidth <= innerWidth")
    await page.set_viewport_size({"width": 1280, "height": 900})
