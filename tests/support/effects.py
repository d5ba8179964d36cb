"""Tools that change something outside, and the ledger of what they did: it outlives every process that writes it.

`send_mail` must never be repeated, `put_record` only under the same key, `look_up` freely. A process can be told to
die, or to hang, at a point in one of them.
"""

import asyncio
import json
import os
import signal
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from app.tools.tool import Arguments, Tool, ToolContext

Point = Literal["before", "after"]


def die() -> None:
    """End this process as a crash would: nothing is flushed, closed or said."""
    os.kill(os.getpid(), signal.SIGKILL)


class Note(Arguments):
    """What to send, keep or look up."""

    text: str


@dataclass(frozen=True, slots=True)
class Effect:
    """One time that a tool took effect."""

    tool: str
    key: str
    text: str


@dataclass(frozen=True, slots=True)
class Ledger:
    """The outside world: a file that every effect adds a line to, in one write."""

    file: Path

    def add(self, effect: Effect) -> None:
        """Take effect."""
        line = json.dumps([effect.tool, effect.key, effect.text]) + "\n"
        descriptor = os.open(self.file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            os.write(descriptor, line.encode())
        finally:
            os.close(descriptor)

    def effects(self, tool: str) -> list[Effect]:
        """Every effect of a tool, in order."""
        lines = self.file.read_text().splitlines() if self.file.exists() else []
        return [effect for effect in (Effect(*json.loads(line)) for line in lines) if effect.tool == tool]

    def times(self, tool: str) -> Counter[str]:
        """How often the tool took effect, by key."""
        return Counter(effect.key for effect in self.effects(tool))


@dataclass(frozen=True, slots=True)
class Switch:
    """A point in a tool at which its process dies, or at which the tool hangs."""

    tool: str = ""
    point: Point = "before"
    hangs: bool = False
    pause_s: float = 0
    """How long every tool takes to come to each of its points."""

    async def pass_by(self, tool: str, point: Point) -> None:
        """Nothing but the pause, unless this is the point."""
        await asyncio.sleep(self.pause_s)  # What a tool does takes time, in which its process may die.
        if (tool, point) != (self.tool, self.point):
            return
        if self.hangs:
            await asyncio.Event().wait()
        die()


OFF = Switch()


def example_tools(ledger: Ledger, switch: Switch = OFF) -> list[Tool]:
    """The tools, with their effects in `ledger`."""

    async def take_effect(tool: str, note: Note, context: ToolContext) -> str:
        await switch.pass_by(tool, "before")
        ledger.add(Effect(tool, context.key, note.text))
        await switch.pass_by(tool, "after")
        return "done"

    async def send_mail(note: Note, context: ToolContext) -> Any:
        return await take_effect("send_mail", note, context)

    async def put_record(note: Note, context: ToolContext) -> Any:
        return await take_effect("put_record", note, context)

    async def look_up(note: Note, context: ToolContext) -> Any:
        await switch.pass_by("look_up", "before")
        ledger.add(Effect("look_up", context.key, note.text))
        return f"nothing about {note.text}"

    return [
        Tool("send_mail", "Sends a mail.", Note, "once", send_mail),
        Tool("put_record", "Keeps a record.", Note, "idempotent", put_record),
        Tool("look_up", "Looks something up.", Note, "read", look_up),
    ]
