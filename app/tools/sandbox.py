"""Work on foreign data by native code, in processes that may die of it: bounded in memory, computing time and time.

A parser that crashes, hangs or grows ends its own process and none of our runs. Each job is done in a fork of a keeper
(`keeper.py`), which has imported what the job needs, so that it begins within milliseconds. What dies or is given up is
killed with its keeper; the next job finds another one. All jobs of the process together have `JOBS_AT_ONCE` places.
"""

import asyncio
import json
import os
import signal
import sys
from collections import defaultdict
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, Self

import structlog

from app.domain.errors import ToolError
from app.tools.keeper import CPU_SECONDS, FRAME, FRAME_BYTES, MEMORY_BYTES, MEMORY_SPENT

log = structlog.get_logger(__name__)

JOBS_AT_ONCE = 3
PATIENCE_S = 90
"""How long a job waits for a place."""
WALL_SECONDS = 25
ANSWER_BYTES = 16_000_000
_ROOT = str(Path(__file__).parents[2])
_KEEP = "import sys; sys.path.insert(0, sys.argv[1]); from app.tools.keeper import main; main(sys.argv[2])"

Keeper = asyncio.subprocess.Process
Content = str | bytes


class Sandbox:
    """Runs jobs in processes of their own. It holds idle ones: `close` it, or use it as a context manager."""

    def __init__(self, *, jobs_at_once: int = JOBS_AT_ONCE, wall_s: float = WALL_SECONDS) -> None:
        self._places = asyncio.Semaphore(jobs_at_once)
        self._wall_s = wall_s
        self._idle: dict[str, list[Keeper]] = defaultdict(list)
        self._ending: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.close()

    async def close(self) -> None:
        """End every process. No job may be running."""
        for keepers in self._idle.values():
            while keepers:
                self._end(keepers.pop())
        await asyncio.gather(*self._ending)

    async def answer(
        self,
        module: str,
        request: Mapping[str, Any],
        contents: Sequence[Content] = (),
        *,
        patience_s: float = PATIENCE_S,
    ) -> dict[str, Any]:
        """What the function `answer` of `module` makes of the request and the contents; texts reach it as UTF-8.

        Raises `ToolError` when it got no place in time, passed its limits or died. A call that is cancelled takes its
        process with it.
        """
        async with self._place(patience_s):
            keeper = await self._keeper(module)
            reusable = False
            try:
                async with asyncio.timeout(self._wall_s):
                    written, status = await _asked(keeper, request, contents)
                reusable = status == 0
            except TimeoutError:
                raise _spent(f"{self._wall_s:g} s") from None
            except (OSError, asyncio.IncompleteReadError):
                raise ToolError("the work broke off; its process has ended", "tool_crashed") from None
            finally:
                if reusable:
                    self._idle[module].append(keeper)
                else:
                    self._end(keeper)
        if status != 0:
            log.warning("work in the sandbox died", module=module, status=status)
            raise _death(status)
        answer: dict[str, Any] = await asyncio.to_thread(json.loads, written)
        return answer

    @asynccontextmanager
    async def _place(self, patience_s: float) -> AsyncIterator[None]:
        try:
            async with asyncio.timeout(patience_s):
                await self._places.acquire()
        except TimeoutError:
            said = "other work took all places, so that nothing was looked at; the call itself is fine: try it again"
            raise ToolError(said, "tool_busy") from None
        try:
            yield
        finally:
            self._places.release()

    async def _keeper(self, module: str) -> Keeper:
        """An idle keeper that lives, or a new one."""
        idle = self._idle[module]
        while idle:
            keeper = idle.pop()
            if keeper.returncode is None:
                return keeper
        # Of the environment nothing is passed on: it holds our secrets.
        return await asyncio.create_subprocess_exec(
            sys.executable, "-I", "-B", "-X", "utf8", "-c", _KEEP, _ROOT, module,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            env={},
            start_new_session=True,
        )  # fmt: skip

    def _end(self, keeper: Keeper) -> None:
        """Kill the keeper and its child, and see to it that their remains are cleared away."""
        if keeper.returncode is None:
            with suppress(ProcessLookupError):
                os.killpg(keeper.pid, signal.SIGKILL)
        ending = asyncio.create_task(_gone(keeper), name="sandbox process ends")
        self._ending.add(ending)
        ending.add_done_callback(self._ending.discard)


async def _gone(keeper: Keeper) -> None:
    assert keeper.stdin is not None
    assert keeper.stdout is not None
    keeper.stdin.close()
    while await keeper.stdout.read(FRAME_BYTES):  # a pipe that nobody empties would never be seen to end
        pass
    await keeper.wait()
    with suppress(OSError):  # It died with its pipe full. Python logs that, at some later time, unless somebody asks.
        await keeper.stdin.wait_closed()


async def _asked(keeper: Keeper, request: Mapping[str, Any], contents: Sequence[Content]) -> tuple[bytes, int]:
    """Send the job and read the answer side by side, so that neither waits for a full pipe; and its exit status."""
    sending = asyncio.create_task(_send(keeper, request, contents))
    try:
        answered = await _read(keeper)
        if answered[1] == 0:
            await sending
        return answered
    finally:
        sending.cancel()
        sending.add_done_callback(lambda done: done.cancelled() or done.exception())
        await asyncio.wait([sending])


async def _send(keeper: Keeper, request: Mapping[str, Any], contents: Sequence[Content]) -> None:
    pipe = keeper.stdin
    assert pipe is not None
    head = json.dumps({**request, "contents": len(contents)}).encode()
    pipe.write(FRAME.pack(len(head)) + head)
    for content in contents:
        for start in range(0, len(content), FRAME_BYTES):
            piece = content[start : start + FRAME_BYTES]
            written = piece.encode("utf-8", "replace") if isinstance(piece, str) else piece
            pipe.write(FRAME.pack(len(written)) + written)
            await pipe.drain()
        pipe.write(FRAME.pack(0))
    await pipe.drain()


async def _read(keeper: Keeper) -> tuple[bytes, int]:
    pipe = keeper.stdout
    assert pipe is not None
    answer = bytearray()
    while length := FRAME.unpack(await pipe.readexactly(FRAME.size))[0]:
        if len(answer) + length > ANSWER_BYTES:
            raise ToolError("the answer is too large; ask for less", "output_too_large")
        answer += await pipe.readexactly(length)
    return bytes(answer), FRAME.unpack(await pipe.readexactly(FRAME.size))[0]


def _spent(time: str) -> ToolError:
    return ToolError(f"the work took more than {time} and was stopped; ask for less at once", "tool_timeout")


def _death(status: int) -> ToolError:
    """The error for a child that ended without an answer, by its status as `waitpid` says it."""
    died_of = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
    if died_of == signal.SIGXCPU:
        return _spent(f"{CPU_SECONDS} s of computing")
    if died_of == signal.SIGABRT or (os.WIFEXITED(status) and os.WEXITSTATUS(status) == MEMORY_SPENT):
        memory = f"{MEMORY_BYTES / (1 << 30):g} GB"
        return ToolError(f"the work needed more than {memory} of memory; ask for less at once", "tool_out_of_memory")
    reason = f" (signal {died_of})" if died_of else ""
    return ToolError(f"the work broke off: its process died of what it was given{reason}", "tool_crashed")
