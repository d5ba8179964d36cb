import asyncio
from contextlib import AsyncExitStack

from app.llm.window import FIRST_CALLS, Window


class Calls:
    """Calls that ask for a place, and what became of each."""

    def __init__(self, window: Window) -> None:
        self.open = 0
        self._window = window
        self._over = asyncio.Event()

    async def one(self) -> None:
        async with self._window.place():
            self.open += 1
            await self._over.wait()
            self.open -= 1

    def start(self, count: int) -> list[asyncio.Task[None]]:
        return [asyncio.create_task(self.one()) for _ in range(count)]

    def end(self) -> None:
        self._over.set()


async def settled() -> None:
    """Everything that can go on has done so."""
    for _ in range(10):
        await asyncio.sleep(0)


async def test_of_many_calls_the_first_few_are_let_go_and_each_answer_lets_one_more() -> None:
    window = Window()
    calls = Calls(window)
    tasks = calls.start(50)
    await settled()
    assert calls.open == FIRST_CALLS

    for _ in range(FIRST_CALLS):
        window.widen()
    await settled()

    assert calls.open == 2 * FIRST_CALLS
    calls.end()
    await asyncio.gather(*tasks)


async def test_failures_let_nobody_in_for_those_that_leave() -> None:
    window = Window()
    async with AsyncExitStack() as places:
        for _ in range(FIRST_CALLS):
            await places.enter_async_context(window.place())
        calls = Calls(window)
        tasks = calls.start(5)
        for _ in range(FIRST_CALLS):
            window.narrow()
        await settled()
        assert calls.open == 0
    await settled()
    assert calls.open == 1  # The last one has left, and one may try.
    window.widen()
    await settled()
    assert calls.open == 2
    calls.end()
    await asyncio.gather(*tasks)


async def test_a_provider_that_says_nothing_is_sent_another_call_after_a_while() -> None:
    calls = Calls(Window())
    tasks = calls.start(FIRST_CALLS + 1)
    await settled()
    assert calls.open == FIRST_CALLS

    calls_open = asyncio.create_task(until_open(calls, FIRST_CALLS + 1))
    await asyncio.wait_for(calls_open, 5)

    calls.end()
    await asyncio.gather(*tasks)


async def until_open(calls: Calls, count: int) -> None:
    while calls.open < count:  # noqa: ASYNC110
        await asyncio.sleep(0.01)  # a timer, of which nothing tells us


async def test_what_was_never_used_does_not_widen_it() -> None:
    window = Window()
    for _ in range(100):
        async with window.place():
            window.widen()
    calls = Calls(window)
    tasks = calls.start(50)
    await settled()

    assert calls.open == FIRST_CALLS
    calls.end()
    await asyncio.gather(*tasks)


async def test_one_that_is_stopped_in_line_takes_nobodys_place() -> None:
    window = Window()
    calls = Calls(window)
    tasks = calls.start(FIRST_CALLS + 2)
    await settled()
    stopped = tasks.pop(FIRST_CALLS)
    stopped.cancel()
    await settled()
    window.widen()
    await settled()

    assert calls.open == FIRST_CALLS + 1
    calls.end()
    await asyncio.gather(*tasks)


async def test_one_that_is_stopped_just_when_its_turn_has_come_gives_it_on() -> None:
    window = Window()
    calls = Calls(window)
    tasks = calls.start(FIRST_CALLS + 2)
    await settled()
    window.widen()
    stopped = tasks.pop(FIRST_CALLS)
    stopped.cancel()
    await settled()

    assert calls.open == FIRST_CALLS + 1
    calls.end()
    await asyncio.gather(*tasks)
