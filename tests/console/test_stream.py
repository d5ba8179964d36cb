"""How a page holds on to what it shows: its stream, answers that do not come, keys, and where one was on it."""

import json

from playwright.async_api import Page, Route, expect

from app.domain import events as ev
from app.domain.events import Entry
from app.domain.keys import SCOPES
from app.store.keys import NewKey, create_key
from tests.console.conftest import Desk, Services
from tests.support.api import served_service
from tests.support.browser import Complaints
from tests.support.play import playing

_HIDE = """(hidden) => {
    Object.defineProperty(document, "hidden", { value: hidden, configurable: true });
    document.dispatchEvent(new Event("visibilitychange"));
}"""
_UNANSWERED = """async () => {
    const { post } = await import("/console/api.js");
    return post("/v1/unanswered", {}, { limit: 50 }).catch((error) => `${error.code}: ${error.message}`);
}"""
_TO_TEAMS = "document.querySelector('.bar a[href=\"/console/teams\"]').click()"


async def test_a_page_that_nobody_sees_gives_its_stream_up_and_one_that_is_left_is_found_as_it_was(
    quiet_desk: Desk,
) -> None:
    page = quiet_desk.page
    await page.set_viewport_size({"width": 1280, "height": 300})
    await page.clock.install()
    async with playing(quiet_desk.service.database) as player:
        play = player.play(await quiet_desk.service.submit())
        await play.start()
        await quiet_desk.open(f"/runs/{play.run_id}?view=constructor")
        shown, heading = page.locator(".page.run"), page.get_by_role("heading", level=1)
        await expect(shown).to_have_attribute("data-seq", "2")

        async with page.expect_event("requestfailed", lambda request: "/events?" in request.url):
            await page.evaluate(_HIDE, True)
            await page.clock.fast_forward(11_000)
        await play.plan("t1")
        await expect(shown).to_have_attribute("data-streaming", "live")
        await expect(shown).to_have_attribute("data-seq", "2")
        await page.evaluate(_HIDE, False)
        await expect(shown).to_have_attribute("data-seq", "4")
        async with page.expect_event("requestfailed", lambda request: "/events?" in request.url):
            await page.evaluate("dispatchEvent(new Event('pagehide'))")
        await play.start_task("t1")
        await page.evaluate("dispatchEvent(new Event('pageshow'))")
        await expect(shown).to_have_attribute("data-seq", "5")

        await page.evaluate("scrollTo(0, 200)")
        await page.evaluate(_TO_TEAMS)
        await expect(heading).to_have_text("Teams")
        await expect(heading).to_be_focused()
        assert await page.evaluate("scrollY") == 0
        await page.go_back()
        await expect(heading).to_be_focused()
        await page.wait_for_function("scrollY === 200")
        await page.locator("[data-node=t1]").click()
        await page.reload()
        await expect(page.locator(".detail").get_by_role("heading", name="t1")).to_be_visible()
        await page.keyboard.press("Escape")
        await expect(page.locator(".view")).to_be_focused()

        await page.route("**/v1/unanswered", lambda _: None)
        assert await page.evaluate(_UNANSWERED) == (
            "unanswered: No answer has come within 0.05 seconds. "
            "It may have been carried out all the same: look before you send it again."
        )
        await page.route(f"**/v1/runs/{play.run_id}", busy)
        await play.finish_task("t1")
        await play.record(Entry(ev.SynthesisCompleted(answer="the answer", confidence=0.9)))
        await play.succeed()
        await expect(shown).to_have_attribute("data-streaming", "ended")
        await expect(page.locator(".connection .failure")).to_have_count(0)
        await page.unroute(f"**/v1/runs/{play.run_id}")
        await expect(page.get_by_role("button", name="Retry", exact=True)).to_be_visible()
    quiet_desk.complaints.forgive("503")


async def test_a_page_that_was_refused_goes_on_with_another_key(
    services: Services, page: Page, complaints: Complaints
) -> None:
    service = await services.start(engine=False, auth="keys")
    key, _ = await create_key(service.runtime.database, NewKey("default", frozenset(SCOPES)))
    dialog, again = page.get_by_role("dialog"), page.get_by_role("button", name="Try again")
    shown, forget = page.locator(".page.run"), page.get_by_role("button", name="Forget the key")
    run_id = await service.submit()
    async with served_service(service) as url:
        await page.goto(f"{url}/console/runs/{run_id}")
        await dialog.get_by_role("button", name="Not now").click()
        await expect(forget).to_be_hidden()
        await again.click()
        await dialog.get_by_label("Key").fill("chk_ключ")
        await dialog.get_by_role("button", name="Use it").click()
        said = await dialog.get_by_label("Key").evaluate("(input) => input.validationMessage")
        assert said == "There is “к” in this key, which no key has. Copy it once more."
        await dialog.get_by_label("Key").fill(key.text)
        await dialog.get_by_role("button", name="Use it").click()
        await expect(shown).to_have_attribute("data-streaming", "live")
        await expect(forget).to_be_visible()

        await page.evaluate("sessionStorage.setItem('chargehand.key', 'chk_ключ')")
        await page.reload()
        await dialog.get_by_label("Key").fill(key.text)
        await page.route("**/events?*", revoked)
        await dialog.get_by_role("button", name="Use it").click()
        await dialog.get_by_role("button", name="Not now").click()
        await expect(shown).to_have_attribute("data-streaming", "refused")
        await expect(again).to_be_visible()
        await page.unroute("**/events?*")
        await page.evaluate("(key) => import('/console/api.js').then(({ setKey }) => setKey(key))", key.text)
        await expect(shown).to_have_attribute("data-streaming", "live")
        await expect(again).to_have_count(0)
        await page.goto("about:blank")
    complaints.forgive("Failed to load resource")


async def busy(route: Route) -> None:
    await route.fulfill(status=503, body="{}", content_type="application/problem+json")


async def revoked(route: Route) -> None:
    body = json.dumps({"code": "key_invalid", "detail": "The key is revoked."})
    await route.fulfill(status=401, body=body, content_type="application/problem+json")
