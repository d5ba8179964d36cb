"""Chromium for tests of the console: one browser process for all tests of a process, one private window for each."""

import os
import shutil
import subprocess
import tempfile
import threading
from collections import deque
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import Any

from axe_playwright_python.async_playwright import Axe
from playwright.async_api import ConsoleMessage, Page, Request, async_playwright

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage", "--mute-audio",
    "--remote-debugging-port=0", "--remote-allow-origins=*", "about:blank",
)  # fmt: skip
_SAYS_WHERE = "DevTools listening on "
_RULES = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice")


def chromium() -> str:
    """The program; tests/install_programs installs it. CHROMIUM names another one."""
    for name in (os.environ.get("CHROMIUM", _NAMES[0]), *_NAMES):
        if (found := shutil.which(name)) is not None:
            return found
    raise RuntimeError("there is no Chromium: tests/install_programs installs it, or CHROMIUM names another")


@contextmanager
def running_chromium() -> Iterator[str]:
    """A browser that waits to be driven, and the address to drive it at."""
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile,
        subprocess.Popen(
            [chromium(), f"--user-data-dir={profile}", *_FLAGS],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        ) as process,
    ):
        try:
            assert process.stderr is not None
            said = next((line for line in process.stderr if line.startswith(_SAYS_WHERE)), None)
            assert said is not None, "Chromium ended before it could be driven"
            # A browser that nobody listens to stands still once the pipe is full.
            threading.Thread(target=deque, args=(process.stderr, 0), daemon=True).start()
            yield said.removeprefix(_SAYS_WHERE).strip()
        finally:
            process.kill()


class Complaints(list[str]):
    """What a page said that it should not have said: errors, warnings, what its policy kept it from."""

    def hear(self, page: Page) -> None:
        page.on("pageerror", lambda error: self.append(f"{error.name}: {error.message}"))
        page.on("console", self._said)
        page.on("requestfailed", self._failed)

    def _said(self, said: ConsoleMessage) -> None:
        if said.type in ("error", "warning"):
            self.append(f"{said.type}: {said.text}")

    def _failed(self, request: Request) -> None:
        if request.failure != "net::ERR_ABORTED":  # Ours: a page that is left, or a list that is asked for anew.
            self.append(f"{request.failure}: {request.url}")

    def forgive(self, *parts: str) -> None:
        """Leave out what has one of these in it: a test that cuts the network hears of it."""
        self[:] = [each for each in self if not any(part in each for part in parts)]


@asynccontextmanager
async def window(browser: str, complaints: Complaints, **options: Any) -> AsyncIterator[Page]:
    """A private window of the browser; `options` are those of Playwright's contexts."""
    async with async_playwright() as playwright:
        connected = await playwright.chromium.connect_over_cdp(browser)
        context = await connected.new_context(**({"viewport": {"width": 1280, "height": 900}} | options))
        context.set_default_timeout(10_000)
        page = await context.new_page()
        complaints.hear(page)
        try:
            yield page
        finally:
            await context.close()
            await connected.close()


async def violations(page: Page, rules: Sequence[str] = _RULES) -> list[str]:
    """What axe finds on the page as it is now, each as a line with the elements concerned. `rules`, or tags of them."""
    found = await Axe().run(page, options={"runOnly": list(rules)})
    return [
        f"{each['id']}: {each['help']}: {', '.join(str(node['target']) for node in each['nodes'][:5])}"
        for each in found.response["violations"]
    ]
