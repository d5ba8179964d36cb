"""`make pictures`: the pictures of docs/console.md, taken of a service with the demo model."""

import asyncio
import re
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from playwright.async_api import Page, ViewportSize, expect

from app.store.embedded import embedded_postgres
from app.store.schema import migrate
from tests.support.browser import Complaints, running_chromium, window
from tests.support.processes import Replica, run_at_end, start_replica

NOWHERE = "http://127.0.0.1:9"
"""No model is asked: the demo model is part of the service."""
DESK: ViewportSize = {"width": 1440, "height": 900}
TALL: ViewportSize = {"width": 1440, "height": 1320}
PHONE: ViewportSize = {"width": 360, "height": 780}
EXAMPLES = ("compare", "review", "gap")


async def take(database_url: str, browser: str, folder: Path) -> list[str]:
    """Take all pictures; what the pages complained of meanwhile."""
    complaints = Complaints()
    async with _served(database_url) as replica:
        async with window(browser, complaints, viewport=DESK) as page:
            runs = await _started(page, replica)
            await _shot(page, f"{replica.url}/console", folder / "home.png")
            await _shot(page, f"{replica.url}/console/runs", folder / "runs.png")
            await page.goto(f"{replica.url}/console/new?example=compare")
            await page.get_by_role("button", name=re.compile("quote", re.IGNORECASE)).first.click()
            await expect(page.get_by_text("likely").first).to_be_visible()
            await _picture(page, folder / "new_job.png")
            run = f"{replica.url}/console/runs/{runs['compare']}"
            await _shot(page, f"{run}?view=log&event=12", folder / "log.png")
            await _shot(page, f"{run}?view=files&artifact=sales.csv", folder / "files.png")
            await _shot(page, f"{replica.url}/console/runs/{runs['gap']}?view=answer", folder / "answer.png")
            await _shot(page, f"{replica.url}/console/runs/{runs['review']}", folder / "approval.png")
            await _shot(page, f"{replica.url}/console/runs/{runs['review']}?edit=plan", folder / "edit.png")
            await _shot(page, f"{replica.url}/console/teams/code-review", folder / "team.png")
            await _shot(page, f"{replica.url}/console/usage?measure=tokens&days=7", folder / "usage.png")
            await page.set_viewport_size(TALL)
            await _shot(page, f"{run}?view=work&task=t1", folder / "work.png")
        async with window(browser, complaints, viewport=DESK, color_scheme="dark") as page:
            await _shot(page, f"{replica.url}/console/runs/{runs['compare']}?view=work&task=t6", folder / "dark.png")
        async with window(browser, complaints, viewport=PHONE) as page:
            await _shot(page, f"{replica.url}/console/runs/{runs['compare']}?view=work", folder / "phone.png")
    return complaints


@asynccontextmanager
async def _served(database_url: str) -> AsyncIterator[Replica]:
    replica = await start_replica(database_url, NOWHERE, model="demo")
    try:
        yield replica
    finally:
        await replica.end()


async def _started(page: Page, replica: Replica) -> dict[str, str]:
    """The runs of the three examples, by name: two at their end, one that waits for approval."""
    runs = {}
    for name in EXAMPLES:
        await page.goto(f"{replica.url}/console")
        await page.locator(f"[data-example={name}]").get_by_role("button").click()
        await page.wait_for_url(re.compile(r"/console/runs/run_"))
        runs[name] = page.url.rpartition("/")[2].partition("?")[0]
        if name != "review":
            await run_at_end(replica, runs[name])
    await expect(page.locator(".page.run")).to_have_attribute("data-streaming", "ended")
    return runs


async def _shot(page: Page, address: str, file: Path) -> None:
    await page.goto(address)
    await _picture(page, file)


async def _picture(page: Page, file: Path) -> None:
    if "/runs/run_" in page.url:
        await expect(page.locator(".page.run")).to_have_attribute("data-caught-up", "true")
    else:
        await page.wait_for_load_state("networkidle")
    await page.screenshot(path=file, animations="disabled")


def main(folder: Path) -> None:
    """Take all pictures into a folder. Ends with an error when a page complained of something."""
    folder.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory() as home, embedded_postgres(Path(home), erase=True) as url, running_chromium() as browser:
        migrate(url)
        complaints = asyncio.run(take(url, browser, folder))
    if complaints:
        sys.exit("\n".join(complaints))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
