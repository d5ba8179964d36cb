"""Work on long foreign text is done beside the event loop: whatever a job or a reply holds, nobody else waits."""

import asyncio
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import TypeVar

from app.domain.task_state import TaskState

LIGHT_CHARACTERS = 20_000
"""What is worked on at once: a thread costs more than it takes."""

_THREADS = ThreadPoolExecutor(4, thread_name_prefix="aside")
"""Its own: those of the loop may all be held by tools that block, and by names that nobody resolves."""

T = TypeVar("T")


def is_long(material: Iterable[object]) -> bool:
    """Whether texts and JSON values hold more than that. It looks no further than it must."""
    room, waiting = LIGHT_CHARACTERS, list(material)
    while waiting:
        value = waiting.pop()
        if isinstance(value, str | list | tuple | dict):
            room -= len(value)
        if room < 0:
            return True
        if isinstance(value, list | tuple):
            waiting.extend(value)
        elif isinstance(value, dict):
            waiting.extend(value)
            waiting.extend(value.values())
    return False


def outputs_of(tasks: Iterable[TaskState]) -> list[object]:
    """All that tasks delivered, as material."""
    outputs = [task.output for task in tasks if task.output is not None]
    return [part for each in outputs for part in (*each.texts, each.data, each.sources)]


async def done_aside(material: Iterable[object], work: Callable[[], T]) -> T:
    """What `work` returns, which is about `material`; it runs in a thread when that is long."""
    if not is_long(material):
        return work()
    return await asyncio.get_running_loop().run_in_executor(_THREADS, copy_context().run, work)
