"""The event log: words for every type, filters that live in the address, following, and the keyboard."""

import json
import re
from pathlib import Path
from typing import Any

from playwright.async_api import Page, expect

from app.domain.events import FACTS
from tests.console.conftest import Desk
from tests.console.logs import many_logs
from tests.support.browser import violations
from tests.support.long_run import LongRun
from tests.support.play import playing

DOCUMENT = Path(__file__).parents[2] / "openapi" / "openapi.json"
_TYPES = """async () => {
  const { WORDS, GROUPS, groupOf } = await import("/console/run/log_words.js");
  const types = Object.keys(WORDS);
  const parts = new Set(Object.values(GROUPS).flatMap(({ of }) => of));
  return { types, lost: types.filter((type) => !parts.has(type.split(".")[0]) || !GROUPS[groupOf(type)]) };
}"""
_SENTENCES = """async (events) => {
  const { WORDS } = await import("/console/run/log_words.js");
  return events.map((event) => WORDS[event.type](event.data));
}"""


async def test_every_type_of_event_has_words_and_a_group(quiet_desk: Desk) -> None:
    page = await quiet_desk.open("")
    found = await page.evaluate(_TYPES)

    assert sorted(found["types"]) == sorted(FACTS) == sorted(_documented())
    assert found["lost"] == []


def _documented() -> list[str]:
    """The types that the API's document tells."""
    schemas: dict[str, Any] = json.loads(DOCUMENT.read_text())["components"]["schemas"]
    return list(schemas["Event"]["discriminator"]["mapping"])


async def test_what_happens_is_told_in_whole_sentences(quiet_desk: Desk) -> None:
    page = await quiet_desk.open("")
    events = [event for log in many_logs() for event in log]

    for event, sentence in zip(events, await page.evaluate(_SENTENCES, events), strict=True):
        assert sentence, event
        assert "undefined" not in sentence, (event, sentence)
        assert "[object" not in sentence, (event, sentence)


async def test_the_log_follows_filters_and_opens_by_keyboard(quiet_desk: Desk) -> None:
    async with playing(quiet_desk.service.database) as player:
        run_id = await quiet_desk.service.submit()
        long = LongRun(player.play(run_id))
        await long.begin()
        await long.go_on(300)
        page = await quiet_desk.open(f"/runs/{run_id}?view=log")
        grid = page.get_by_role("grid", name="Events")
        rows = grid.locator(".log-row")

        await expect(_row(page, long.written)).to_be_visible()
        assert await rows.count() < 80
        await long.go_on(30)
        await expect(_row(page, long.written)).to_be_visible()
        assert await violations(page) == []

        await grid.evaluate("(element) => element.scrollTo(0, 0)")
        await expect(page.get_by_role("button", name="Follow").last).to_have_attribute("aria-pressed", "false")
        await expect(_row(page, 1)).to_be_visible()
        await long.go_on(3)
        await expect(page.get_by_text(f"{long.written} events")).to_be_visible()
        await expect(_row(page, 1)).to_be_visible()

        await grid.focus()
        await page.keyboard.press("Home")
        await page.keyboard.press("ArrowDown")
        await page.keyboard.press("Enter")
        await expect(page).to_have_url(f"{quiet_desk.url}/console/runs/{run_id}?view=log&event=2")
        await expect(page.get_by_role("complementary", name="Detail")).to_contain_text("run.started")
        await page.keyboard.press("End")
        await expect(_row(page, long.written)).to_be_visible()

        await page.get_by_role("button", name="Tools", exact=True).click()
        await page.get_by_role("searchbox", name="Words in the log").fill("calculate brought")
        await expect(page).to_have_url(re.compile("log_group=tool&log_text=calculate"))
        await page.get_by_role("combobox", name="Task").select_option("t51")
        await expect(page).to_have_url(re.compile("log_task=t51"))
        await expect(rows.first).to_contain_text("tool.completed")
        assert set(await rows.locator(".task").all_inner_texts()) == {"t51 #1"}
        await page.reload()
        await expect(rows.first).to_contain_text("tool.completed")
        await page.get_by_role("button", name="Clear filters").click()
        await expect(_row(page, long.written)).to_be_visible()


def _row(page: Page, seq: int) -> Any:
    return page.locator(f"#event-{seq}")
