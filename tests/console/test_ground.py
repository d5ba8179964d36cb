"""What holds on every page of the console."""

from tests.console.conftest import Desk
from tests.support.browser import violations


async def test_an_address_without_a_page_says_so(desk: Desk) -> None:
    page = await desk.open("/nowhere")

    await page.get_by_role("alert").wait_for()

    assert "no page at this address" in await page.get_by_role("alert").inner_text()
    assert await violations(page) == []
