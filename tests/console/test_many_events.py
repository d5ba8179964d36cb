"""A run of a hundred tasks and five thousand events, that goes on while somebody looks at it."""

from playwright.async_api import Page, expect

from tests.console.conftest import Desk
from tests.support.long_run import LongRun
from tests.support.play import playing

EVENTS = 5_000
ELEMENTS = 8_000
"""More than all views of such a run are made of: what is long is drawn as far as it is seen."""


async def test_a_long_run_is_read_whole_and_followed(quiet_desk: Desk) -> None:
    async with playing(quiet_desk.service.database) as player:
        run_id = await quiet_desk.service.submit()
        long = LongRun(player.play(run_id))
        await long.begin()
        await long.go_on(EVENTS - long.written)

        page = await quiet_desk.open(f"/runs/{run_id}")
        await _has_read(page, EVENTS)
        await long.go_on(250)
        await _has_read(page, EVENTS + 250)

        for view in ("work", "log"):
            await page.goto(f"{quiet_desk.url}/console/runs/{run_id}?view={view}")
            await _has_read(page, EVENTS + 250)
            assert await page.locator("*").count() < ELEMENTS


async def _has_read(page: Page, events: int) -> None:
    await expect(page.locator(".page.run")).to_have_attribute("data-seq", str(events))
