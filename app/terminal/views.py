"""The ways in which a run is shown while it goes on: drawn, as lines, or as its events."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta
from typing import Protocol

import typer
from rich.console import Console
from rich.live import Live
from rich.text import Text

from app.client import Event, ServiceError
from app.terminal.keyboard import unechoed
from app.terminal.lines import lines_of
from app.terminal.output import say
from app.terminal.progress import Progress
from app.terminal.screen import screen
from app.terminal.text import one_line

FRAME_S = 0.125
"""Between two frames: events and text may come much faster than anybody reads."""
_FOR_PEOPLE = ("plan.approval_requested", "question.asked")


class View(Protocol):
    """Shows a run."""

    wants_text: bool
    """Whether it shows text while it is written."""

    def told(self, event: Event) -> None:
        """An event has come, which the run as it is shown has taken in."""

    def away(self, problem: ServiceError | None) -> None:
        """The stream is away; or back, where there is no problem."""

    @asynccontextmanager
    def shown(self) -> AsyncIterator[None]:
        """The run is shown for as long as the block."""
        ...


class EventsView:
    """Prints events as they are: one JSON object a line."""

    wants_text = False

    def __init__(self, run: Progress) -> None:
        self._run = run

    def told(self, event: Event) -> None:
        sys.stdout.write(json.dumps(event) + "\n")
        sys.stdout.flush()
        for line in lines_of(event, self._run) if event["type"] in _FOR_PEOPLE else ():
            say(line)

    def away(self, problem: ServiceError | None) -> None:
        say(away_line(problem))

    @asynccontextmanager
    async def shown(self) -> AsyncIterator[None]:
        yield


class LinesView:
    """Prints a line for each event that people care for."""

    wants_text = False

    def __init__(self, run: Progress) -> None:
        self._run = run

    def told(self, event: Event) -> None:
        for line in lines_of(event, self._run):
            typer.echo(line)

    def away(self, problem: ServiceError | None) -> None:
        typer.echo(away_line(problem))

    @asynccontextmanager
    async def shown(self) -> AsyncIterator[None]:
        yield


class LiveView:
    """Draws the run, again and again in its place."""

    wants_text = True

    def __init__(self, run: Progress, console: Console, ahead: timedelta, terminal: int | None) -> None:
        self._run, self._console, self._terminal = run, console, terminal
        self._ahead = ahead
        """How far the service's clock is ahead of ours."""
        self._is_drawn = False

    def told(self, event: Event) -> None:
        """The next frame shows it."""

    def away(self, problem: ServiceError | None) -> None:
        before, self._run.away = self._run.away, one_line(str(problem)) if problem else ""
        if not self._is_drawn and bool(before) != bool(problem):  # Something is asked: there is no next frame yet.
            self._console.print(Text(f"\n! {away_line(problem)}", "red" if problem else ""))

    @asynccontextmanager
    async def shown(self) -> AsyncIterator[None]:
        with (
            unechoed(self._terminal),
            Live(console=self._console, auto_refresh=False, vertical_overflow="crop") as live,
        ):
            drawing = asyncio.create_task(self._draw(live))
            self._is_drawn = True
            try:
                yield
            finally:
                self._is_drawn = False
                drawing.cancel()
                with suppress(asyncio.CancelledError):
                    await drawing
                live.update(self._frame(whole=True))

    async def _draw(self, live: Live) -> None:
        while True:
            live.update(self._frame(), refresh=True)
            await asyncio.sleep(FRAME_S)

    def _frame(self, *, whole: bool = False) -> Text:
        width, height = self._console.size
        return screen(self._run, datetime.now(UTC) + self._ahead, width, sys.maxsize if whole else height - 1)


def away_line(problem: ServiceError | None) -> str:
    """What is said of a stream that is away, or back."""
    if problem is None:
        return "the stream is back, and goes on where it was"
    return f"the stream is away, and is taken up again: {one_line(str(problem))}"
