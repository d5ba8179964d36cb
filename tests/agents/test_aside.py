import asyncio
import threading

import pytest

from app.agents.aside import LIGHT_CHARACTERS, done_aside

LONG = "x" * (LIGHT_CHARACTERS + 1)


@pytest.mark.parametrize(
    "material",
    [[LONG], ["", {"a": [{"b": LONG}]}], [{LONG: 1}], [[0] * len(LONG)], ["x" * LIGHT_CHARACTERS, ("x",)]],
    ids=["a text", "within", "a name", "many", "together"],
)
async def test_long_work_is_done_in_a_thread(material: list[object]) -> None:
    assert await done_aside(material, threading.get_ident) != threading.get_ident()


@pytest.mark.parametrize("material", [[], ["x" * LIGHT_CHARACTERS], [{"a": None, "b": [1, 2.5, True]}, ("c",)]])
async def test_light_work_is_done_at_once(material: list[object]) -> None:
    assert await done_aside(material, threading.get_ident) == threading.get_ident()


async def test_tools_that_hold_every_thread_of_the_loop_keep_nobody_from_reading() -> None:
    release = threading.Event()
    loop = asyncio.get_running_loop()
    blocking = [loop.run_in_executor(None, release.wait) for _ in range(40)]
    try:
        async with asyncio.timeout(5):
            assert await done_aside([LONG], lambda: "read") == "read"
    finally:
        release.set()
        await asyncio.gather(*blocking)
