"""A line from whoever sits at the terminal, awaited like anything else: what is asked may be settled meanwhile."""

import asyncio
import os
import sys
import termios
from collections.abc import Iterator
from contextlib import contextmanager, suppress

_LINE_BYTES = 65_536
_LOCAL_FLAGS = 3
"""Where they stand among the attributes of a terminal."""


def is_typed_at() -> bool:
    """Whether standard input is a terminal. Where it was closed there is none at all."""
    return sys.stdin is not None and sys.stdin.isatty()


@contextmanager
def keyboard(*, is_wanted: bool) -> Iterator[int | None]:
    """Where lines are typed: standard input, or the terminal itself where that is a file; None where there is none."""
    if not is_wanted:
        yield None
        return
    if is_typed_at():
        yield sys.stdin.fileno()
        return
    try:
        terminal = os.open("/dev/tty", os.O_RDONLY)
    except OSError:
        yield None
        return
    try:
        yield terminal
    finally:
        os.close(terminal)


@contextmanager
def unechoed(terminal: int | None) -> Iterator[None]:
    """What is typed does not show meanwhile: it would stand in the midst of what is drawn."""
    try:
        before = termios.tcgetattr(terminal) if terminal is not None else None
    except termios.error:
        before = None
    if terminal is None or before is None:
        yield
        return
    quiet = [*before]
    quiet[_LOCAL_FLAGS] &= ~termios.ECHO
    termios.tcsetattr(terminal, termios.TCSADRAIN, quiet)
    try:
        yield
    finally:
        termios.tcsetattr(terminal, termios.TCSADRAIN, before)


async def typed_line(terminal: int) -> str | None:
    """The next line that is typed, from here on; None for the end of input."""
    with suppress(termios.error):
        termios.tcflush(terminal, termios.TCIFLUSH)  # What was typed before the question is no answer to it.
    loop = asyncio.get_running_loop()
    line: asyncio.Future[str | None] = loop.create_future()

    def read() -> None:
        typed = os.read(terminal, _LINE_BYTES)
        if not line.done():
            line.set_result(typed.decode(errors="replace").rstrip("\n") if typed else None)

    loop.add_reader(terminal, read)
    try:
        return await line
    finally:
        loop.remove_reader(terminal)
