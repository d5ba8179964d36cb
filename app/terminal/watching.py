"""A run, watched to its end: its events are shown, and what it asks of people is asked of whoever sits there."""

import asyncio
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import aclosing, contextmanager, suppress
from dataclasses import dataclass, field

from rich.console import Console
from rich.text import Text

from app.client import Client, Run, ServiceError, is_delta
from app.terminal import asking
from app.terminal.errors import CommandRefused
from app.terminal.keyboard import typed_line
from app.terminal.output import say
from app.terminal.progress import Progress
from app.terminal.text import inert, one_line
from app.terminal.views import View

PATIENCE_S = 300.0
"""How long a stream may be away before it is given up; the run goes on in any case."""
_INTERRUPTED = "Cancel the run, leave it running, or go on watching? [c/l/g] "
_LEAVING = 2
"""Interrupts that say: leave it."""
_PLAN = "plan"


@dataclass(slots=True)
class Watch:
    """Somebody who watches a run."""

    client: Client
    run: Progress
    known: int
    """Number of its last event when this began: what stands before it is no news, and nothing to be asked about."""
    view: View
    console: Console
    terminal: int | None
    """Where lines are typed; None where nobody can be asked."""
    service: Mapping[str, str]
    """Variables by which another command finds the service."""
    seen: int = 0
    asked: set[str] = field(default_factory=set)
    """What was put to them already: the plan, questions by their ids."""
    interrupts: int = 0
    news: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when something has happened that may be waited for."""
    prompt: str = ""
    """What is asked now, on the last line of the screen."""
    is_lost: bool = False
    """Whether the stream has ended, with the run or without it."""
    is_edited: bool = False
    """Whether the plan is with an editor, whose Ctrl-C it is."""

    async def to_the_end(self) -> Run | None:
        """The run at its end; None when it was left running. Raises `CommandRefused` when the service is lost."""
        reading = asyncio.create_task(self._read())
        reading.add_done_callback(self._has_ended)
        try:
            with self._heeding_interrupts():
                while True:
                    async with self.view.shown():
                        await self._until(lambda: self.is_lost or self.interrupts or self._to_ask())
                    if self.is_lost:
                        break
                    if self.interrupts and await self._leaves():
                        return None
                    if (what := self._to_ask()) is not None:
                        await self._ask(what)
            await reading
            return await self.client.patient(PATIENCE_S, self._away).run(self.run.run_id)
        except ServiceError as error:
            raise CommandRefused(f"{one_line(str(error))}; {self._way_back}") from None
        except BrokenPipeError:
            raise  # Whoever has read what was printed does not want more.
        except OSError as error:
            raise CommandRefused(f"cannot print: {error.strerror}; {self._way_back}") from None
        finally:
            reading.cancel()

    def _has_ended(self, _: object) -> None:
        self.is_lost = True
        self.news.set()

    async def _read(self) -> None:
        stream = self.client.events(
            self.run.run_id, deltas=self.view.wants_text, patience_s=PATIENCE_S, on_away=self._away
        )
        async with aclosing(stream):
            async for told in stream:
                if is_delta(told):
                    self.run.hear(told)
                    continue
                self.seen = told["seq"]
                self.run.take(told)
                self.view.told(told)
                self.news.set()

    def _away(self, problem: ServiceError | None) -> None:
        self.run.forget_text()
        before = bool(self.run.away)
        self.view.away(problem)
        if self.prompt and before != bool(self.run.away):
            self.console.print(Text(inert(self.prompt)), end="")

    async def _until(self, holds: Callable[[], object]) -> None:
        while not holds():
            self.news.clear()
            await self.news.wait()

    def _open(self) -> list[str]:
        """What people may decide on now: the plan, and questions by their ids."""
        return [*([_PLAN] if self.run.approval is not None else []), *self.run.questions]

    def _to_ask(self) -> str | None:
        """What is to be put to whoever sits here; None when there is nothing, or nobody."""
        if self.terminal is None or self.seen < self.known:
            return None
        return next((each for each in self._open() if each not in self.asked), None)

    async def _ask(self, what: str) -> None:
        """Put something to whoever sits here, however long the service is away meanwhile."""
        self.asked.add(what)
        asked = asyncio.create_task(self._put(what))
        asked.add_done_callback(lambda _: self.news.set())
        await self._until(lambda: asked.done() or (self.interrupts and not self.prompt))
        if not asked.done():  # It waits for the service.
            asked.cancel()
            with suppress(asyncio.CancelledError):
                await asked
        if self.interrupts:
            self.asked.discard(what)  # It was broken off: whoever goes on watching is asked again.
        if not asked.cancelled():
            asked.result()

    async def _put(self, what: str) -> None:
        async def typed(prompt: str) -> str | None:
            return await self._typed(prompt, lambda: what not in self._open())

        client = self.client.patient(PATIENCE_S, self._away)
        if what in self.run.questions:
            await asking.answer(client, self.run.run_id, self.run.questions[what], self.console, typed)
        elif self.run.approval is not None:
            await asking.decide_on_plan(client, self.run.run_id, self.run.approval, self.console, typed, self._edit)

    async def _typed(self, prompt: str, is_settled: Callable[[], bool], interrupts: int = 0) -> str | None:
        """The line that is typed at a prompt; None once it is settled without one, or interrupted so often."""
        assert self.terminal is not None
        self.console.print(Text(inert(prompt)), end="")
        self.prompt = prompt
        line = asyncio.create_task(typed_line(self.terminal))
        line.add_done_callback(lambda _: self.news.set())
        try:
            await self._until(
                lambda: line.done() or is_settled() or self.is_lost or self.interrupts > interrupts  # Or given up.
            )
        finally:
            self.prompt = ""
        if line.done():
            return line.result()
        line.cancel()
        self.console.print("" if self.interrupts > interrupts or self.run.away else "(settled meanwhile)")
        return None

    async def _leaves(self) -> bool:
        """Whether the run is left running by whoever interrupts; that is so where nobody can be asked."""
        while self.terminal is not None and self.interrupts < _LEAVING and not self.run.is_over:
            said = await self._typed(_INTERRUPTED, lambda: self.run.is_over, interrupts=1)
            if said is None:
                break
            choice = said.strip().lower()
            if choice in ("c", "cancel"):
                await self._cancel()
            if choice in ("c", "cancel", "g", "go"):
                self.interrupts = 0
                return False
            if choice in ("l", "leave"):
                break
        if self.run.is_over:
            self.interrupts = 0
            return False
        say(self._way_back)
        return True

    async def _edit(self) -> None:
        """Have the plan edited, by the command for that."""
        command = [sys.executable, "-m", "app", "edit", self.run.run_id]
        self.is_edited = True
        try:
            await (await asyncio.create_subprocess_exec(*command, env=os.environ | self.service)).wait()
        finally:
            self.is_edited = False

    async def _cancel(self) -> None:
        try:
            await self.client.cancel(self.run.run_id, reason="cancelled at the terminal")
        except ServiceError as error:
            say(str(error))

    @property
    def _way_back(self) -> str:
        return f"the run goes on; come back with: chargehand watch {self.run.run_id}"

    @contextmanager
    def _heeding_interrupts(self) -> Iterator[None]:
        """Have Ctrl-C counted, and break nothing off: whoever is told to end leaves the terminal as it was."""

        def count(interrupts: int) -> None:
            if self.is_edited and interrupts < _LEAVING:
                return
            self.interrupts += interrupts
            self.news.set()

        if threading.current_thread() is not threading.main_thread():
            yield  # Signals are the main thread's.
            return
        loop, weights = (
            asyncio.get_running_loop(),
            {signal.SIGINT: 1, signal.SIGTERM: _LEAVING, signal.SIGHUP: _LEAVING},
        )
        for number, weight in weights.items():
            loop.add_signal_handler(number, count, weight)
        try:
            yield
        finally:
            for number in weights:
                loop.remove_signal_handler(number)
