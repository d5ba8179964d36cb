"""A server that is a process of ours: one line of JSON a message, on its standard input and output.

The SDK has the like, but takes lines of any length and leaves the process alive when ours is killed. Here a line that
is too long ends the process, what it writes to its standard error goes nowhere, and it goes with us: by a signal of the
kernel's on Linux, and everywhere by the end of its input.
"""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress

import anyio
import structlog

from app.tools.mcp.sdk import Message, Streams, message_of, written

log = structlog.get_logger(__name__)

INHERITED = ("HOME", "LANG", "LC_ALL", "PATH", "TZ")
GOODBYE_S = 1.0
"""For a process to end by itself once its input has ended."""
_CHUNK = 1 << 16
_UNDER_US = """\
import ctypes, os, signal, sys
parent = int(sys.argv[1])
if sys.platform == "linux":
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)
if os.getppid() == parent:
    os.execvp(sys.argv[2], sys.argv[2:])
"""
"""Becomes the server, which then dies with its parent."""

Process = asyncio.subprocess.Process
Sender = anyio.abc.ObjectSendStream[Message | Exception]


@asynccontextmanager
async def process_streams(
    command: Sequence[str], env: Mapping[str, str], limit: int, trouble: Callable[[], None]
) -> AsyncIterator[Streams]:
    """The two streams of a new process, which ends with the block. `trouble` is told when it ends before."""
    process = await _started(command, env)
    try:
        incoming, received = anyio.create_memory_object_stream[Message | Exception](0)
        sent, outgoing = anyio.create_memory_object_stream[Message](0)
        tasks = (
            asyncio.create_task(_read(process, incoming, limit, trouble), name="MCP process speaks"),
            asyncio.create_task(_write(process, outgoing), name="MCP process listens"),
        )
        try:
            yield received, sent
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
            for stream in (incoming, received, sent, outgoing):
                stream.close()
    finally:
        await _end(process)


async def _started(command: Sequence[str], env: Mapping[str, str]) -> Process:
    inherited = {name: os.environ[name] for name in INHERITED if name in os.environ}
    return await asyncio.create_subprocess_exec(
        sys.executable, "-I", "-S", "-c", _UNDER_US, str(os.getpid()), *command,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env=inherited | dict(env),
        start_new_session=True,
    )  # fmt: skip


async def _read(process: Process, incoming: Sender, limit: int, trouble: Callable[[], None]) -> None:
    """Hand over what the process says, until it ends or says too much at once."""
    assert process.stdout is not None
    line = bytearray()
    try:
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
            while chunk := await process.stdout.read(_CHUNK):
                *ended, rest = chunk.split(b"\n")
                for end in ended:
                    await _hand_over(line + end, incoming)
                    line.clear()
                line += rest
                if len(line) > limit:
                    log.warning("an MCP process sent a line that is too long, and is ended", bytes=len(line))
                    break
    finally:
        await incoming.aclose()
        trouble()


async def _hand_over(line: bytes | bytearray, incoming: Sender) -> None:
    if line.strip():
        with suppress(ValueError):  # Some servers print what is no message; the protocol has no answer to it.
            await incoming.send(message_of(bytes(line)))


async def _write(process: Process, outgoing: anyio.abc.ObjectReceiveStream[Message]) -> None:
    assert process.stdin is not None
    with suppress(OSError):  # Whoever reads tells of the end.
        async for message in outgoing:
            process.stdin.write(written(message))
            await process.stdin.drain()


async def _end(process: Process) -> None:
    """End the input, and after a while the whole group."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.close()
    draining = asyncio.create_task(_drain(process), name="MCP process ends")
    try:
        await asyncio.wait({draining}, timeout=GOODBYE_S)
    finally:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    await asyncio.wait({draining}, timeout=GOODBYE_S)
    draining.cancel()
    with suppress(OSError):  # It died with its pipe full.
        await process.stdin.wait_closed()


async def _drain(process: Process) -> None:
    """Wait for the end of the process, whose pipe must be read for that."""
    assert process.stdout is not None
    while await process.stdout.read(_CHUNK):
        pass
    await process.wait()
