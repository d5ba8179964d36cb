"""A terminal to type commands in, and to look at: tmux, on a socket of the test's own."""

import asyncio
import shlex
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from shutil import which
from uuid import uuid4

from tests.support.processes import ROOT

EXIT = "exit status"


@dataclass(frozen=True, slots=True)
class Pane:
    """The screen of one command."""

    socket: str

    async def type(self, *keys: str) -> None:
        """Press keys, by tmux's names: `C-c`, `Enter`, or what is to be written."""
        await _tmux(self.socket, "send-keys", *keys)

    async def shown(self) -> str:
        """All that stands there, and what has run out at its top."""
        return await _tmux(self.socket, "capture-pane", "-p", "-S", "-")

    async def screen(self) -> str:
        """What stands there now."""
        return await _tmux(self.socket, "capture-pane", "-p")

    async def title(self) -> str:
        """The title, which escape sequences can change."""
        return (await _tmux(self.socket, "display-message", "-p", "#{pane_title}")).strip()

    async def until(self, *texts: str, times: int = 1, within_s: float = 30) -> str:
        """What stands there once all of these do, so many times."""
        shown = ""
        try:
            async with asyncio.timeout(within_s):
                while True:
                    shown = await self.shown()
                    if all(shown.count(text) >= times for text in texts):
                        return shown
                    await asyncio.sleep(0.05)  # A terminal tells nobody that it has changed.
        except TimeoutError:
            raise AssertionError(f"there is no {texts} in:\n{shown}") from None

    async def exit_status(self) -> int:
        """That of the command, once it has ended."""
        shown = await self.until(EXIT)
        return int(shown.rpartition(EXIT)[2].split()[0])


@asynccontextmanager
async def typed(
    *arguments: str, environment: Mapping[str, str], columns: int = 80, lines: int = 30
) -> AsyncIterator[Pane]:
    """`chargehand` with these arguments, in a terminal of that size."""
    assert which("tmux"), "these tests need tmux"
    pane = Pane(f"chargehand-{uuid4().hex[:12]}")
    command = shlex.join(["env", "-u", "COLUMNS", "-u", "LINES", sys.executable, "-m", "app", *arguments])
    variables = [f"{name}={value}" for name, value in environment.items()]
    size = ["-x", str(columns), "-y", str(lines)]
    options = [each for variable in variables for each in ("-e", variable)]
    after = f"trap : INT; {command}; echo {EXIT} $?; cat"
    try:
        await _tmux(
            pane.socket, "-f", "/dev/null", "new-session", "-d", *size, "-c", str(ROOT), *options, "sh", "-c", after
        )
        yield pane
    finally:
        await _tmux(pane.socket, "kill-server")


async def _tmux(socket: str, *arguments: str) -> str:
    process = await asyncio.create_subprocess_exec(
        "tmux", "-L", socket, *arguments, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    out, err = await process.communicate()
    assert process.returncode == 0, err.decode()
    return out.decode()
