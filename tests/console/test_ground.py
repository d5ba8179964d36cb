"""What holds on every page of the console, for everybody: both themes, all widths, without a mouse, with a reader."""

from urllib.parse import urlsplit

from playwright.async_api import Page, expect

from tests.console.conftest import Desk
from tests.support.browser import Complaints, violations
from tests.support.processes import Replicas, post_job, run_at_end
from tests.support.service import plan_of, report, task
from tests.support.stub_answers import as_json, held
from tests.support.stub_provider import StubProvider

PLAN = plan_of(task("a", "researcher"), task("b", "analyst"), task("c", needs=["a", "b"]))
PLACES = ("", "/new", "/runs", "/teams", "/teams/crew", "/tools", "/breakers", "/usage", "/nowhere")
VIEWS = ("work", "answer", "log", "files")
WIDE = """
    [...document.querySelectorAll("body *")].filter((each) => each.getBoundingClientRect().right > innerWidth + 1)
        .filter((each) => !each.closest("[tabindex], .table, pre, dialog, #said")).slice(0, 5)
        .map((each) => `${each.tagName}.${each.getAttribute("class")}`)
"""


async def run_of(desk: Desk, stub: StubProvider) -> str:
    stub.on("plan", as_json(PLAN))
    stub.on("work", as_json(report("What there is to know.")))
    run_id = await desk.service.submit()
    await desk.service.ended(run_id)
    return run_id


async def all_places(desk: Desk, stub: StubProvider) -> list[str]:
    run_id = await run_of(desk, stub)
    return [*PLACES, *(f"/runs/{run_id}?view={view}" for view in VIEWS), f"/runs/{run_id}?view=work&task=c"]


async def opened(desk: Desk, place: str) -> Page:
    page = await desk.open(place)
    await expect(page.locator("main .page h1").first).to_be_visible()
    if "/runs/run_" in place:
        await expect(page.locator(".page.run")).to_have_attribute("data-caught-up", "true")
    return page


async def test_no_page_keeps_anybody_out(desk: Desk, stub: StubProvider) -> None:
    found = {}
    await desk.page.emulate_media(reduced_motion="reduce")
    for place in await all_places(desk, stub):
        await desk.page.emulate_media(color_scheme="light")
        page = await opened(desk, place)
        found[place, "light"] = await violations(page)
        await page.emulate_media(color_scheme="dark")
        found[place, "dark"] = await violations(page, rules=["color-contrast"])

    assert {at: wrong for at, wrong in found.items() if wrong} == {}


async def test_every_page_fits_a_phone_and_a_wall(desk: Desk, stub: StubProvider) -> None:
    found = {}
    for width in (360, 3840):
        await desk.page.set_viewport_size({"width": width, "height": 800})
        for place in await all_places(desk, stub) if width == 360 else PLACES:
            page = await opened(desk, place)
            too_wide = await page.evaluate("document.documentElement.scrollWidth > innerWidth")
            found[place, width] = await page.evaluate(WIDE) if too_wide else []

    assert {at: wrong for at, wrong in found.items() if wrong} == {}


async def test_from_the_form_to_the_answer_without_a_mouse(desk: Desk, stub: StubProvider) -> None:
    stub.on("plan", as_json(PLAN))
    stub.on("work", as_json(report("What there is to know.")))
    page = await opened(desk, "")
    await page.keyboard.press("Tab")
    await expect(page.locator(":focus")).to_have_text("Skip to the page")
    await _tab_to(page, "New job")
    await page.keyboard.press("Enter")

    await page.wait_for_url("**/console/new")
    await _tab_to(page, "Objective")
    await page.keyboard.type("Find out.")
    await _tab_to(page, "Start")
    await page.keyboard.press("Enter")

    await page.wait_for_url("**/runs/run_*")
    await expect(page.locator(".page.run")).to_have_attribute("data-streaming", "ended")
    await expect(page.get_by_role("button", name="Retry", exact=True)).to_be_visible()
    await _tab_to(page, "Log")
    await page.keyboard.press("Enter")
    await page.wait_for_url("**view=log**")


async def _tab_to(page: Page, name: str) -> None:
    """Go on with the tab key until something of that name has the focus."""
    for _ in range(60):
        await page.keyboard.press("Tab")
        if await page.evaluate(
            """(name) => {
                const at = document.activeElement;
                const said = at.labels?.[0]?.textContent ?? at.getAttribute("aria-label") ?? at.textContent;
                return said.trim() === name;
            }""",
            name,
        ):
            return
    raise AssertionError(f"nothing that is called {name} can be reached with the tab key")


async def test_a_page_whose_replica_is_killed_says_so_and_goes_on_without_a_gap(
    replicas: Replicas, page: Page, complaints: Complaints, stub: StubProvider
) -> None:
    stub.on("plan", as_json(PLAN))
    stub.on("work", held(as_json(report("What there is to know."))))
    first = await replicas.start()
    run_id = await post_job(first)
    await stub.seen(2, role="work")
    await page.goto(f"{first.url}/console/runs/{run_id}?view=log")
    shown = page.locator(".page.run")
    await expect(shown).to_have_attribute("data-streaming", "live")

    await first.kill()
    await expect(shown).to_have_attribute("data-streaming", "away")
    stub.release()
    again = await replicas.start(port=str(urlsplit(first.url).port))
    run = await run_at_end(again, run_id)
    await expect(shown).to_have_attribute("data-streaming", "ended")

    await expect(shown).to_have_attribute("data-seq", str(run["last_seq"]))
    complaints.forgive("ERR_CONNECTION_REFUSED", "ERR_INCOMPLETE_CHUNKED_ENCODING")
