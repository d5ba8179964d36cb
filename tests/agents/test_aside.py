import asyncio
import threading

from app.agents.aside import LIGHT_CHARACTERS, done_aside

LONG = ["x" * (LIGHT_CHARACTERS + 1)]


async def test_long_work_is_done_in_a_thread_and_light_work_at_once() -> None:
    assert await done_aside(LONG, threading.get_ident) != threading.get_ident()
    assert await done_aside(["x"], threading.get_ident) == threading.get_ident()


async def test_tools_that_hold_every_thread_of_the_loop_keep_nobody_from_reading() -> None:
    release = threading.Event()
    loop = asyncio.get_running_loop()
    blocking = [loop.run_in_executor(None, release.wait) for _ in range(40)]
    try:
        async with asyncio.timeout(5):
            assert await done_aside(LONG, lambda: "read") == "read"
    finally:
        release.set()
        await asyncio.gather(*blocking)
