"""The process that does work on foreign data: it imports once, and forks a child of its own for every job.

The child reads the job from our standard input, sets its own limits, answers on our standard output and ends, and all
its memory with it. `sandbox.py` is the other end of both pipes. On Linux a child dies with its keeper and a keeper with
the service; elsewhere a keeper notices the end of its input.

What is sent is a line of frames: four bytes of length, then as many bytes. A request is one frame of JSON, then each
content in frames that an empty one ends. An answer is frames of JSON, an empty one, and four bytes of exit status.
"""

import ctypes
import importlib
import json
import os
import resource
import select
import signal
import struct
import sys
from collections.abc import Callable, Iterator
from typing import Any

FRAME = struct.Struct(">I")
FRAME_BYTES = 1 << 16
MEMORY_BYTES = 3 << 29
"""Address space of one child: some of it is never touched, and 0.1 GB is taken before the work begins."""
CPU_SECONDS = 20
OPEN_FILES = 64
FILES_AT_MOST = 1 << 16

_answers = [1]
"""Where the answers go."""

BROKE, MEMORY_SPENT = 1, 3
"""Exit statuses of a child that could not answer."""

Job = Callable[[dict[str, Any], Iterator[bytes]], dict[str, Any]]
"""Takes a request and its contents, each read when it is asked for; returns the answer, a JSON object."""


def main(module: str) -> None:
    """Serve the function `answer` of `module` until the input ends."""
    os.closerange(3, FILES_AT_MOST)  # whatever the loop or the shell of the service has let through
    _die_with_parent()
    _keep_output_to_ourselves()
    job: Job = importlib.import_module(module).answer
    while _is_asked():
        status = _in_child(job)
        _write(FRAME.pack(0) + FRAME.pack(status & 0xFFFF))


def _is_asked() -> bool:
    """Wait for a request; False once whoever sends them has gone."""
    poll = select.poll()
    poll.register(0, select.POLLIN)
    [(_, events)] = poll.poll()
    return not events & select.POLLHUP


def _in_child(job: Job) -> int:
    """Fork, have the child do one job, and return how it ended as `waitpid` says it."""
    ended, held = os.pipe()
    keeper = os.getpid()
    child = os.fork()
    if child == 0:
        try:
            os.close(ended)
            _die_with_parent()
            if os.getppid() == keeper:
                _limit_ourselves()
                _serve(job)
        finally:
            os._exit(BROKE)
    os.close(held)
    watch = select.poll()
    watch.register(ended, select.POLLIN)
    watch.register(0, 0)  # nothing but the end of the input
    if ended not in dict(watch.poll()):
        os.kill(child, signal.SIGKILL)
    os.close(ended)
    return os.waitpid(child, 0)[1]


def _serve(job: Job) -> None:
    """Do the one job that is next in the input, and end. Exit status 0 says that all of the input was read."""
    request = json.loads(_exactly(FRAME.unpack(_exactly(FRAME.size))[0]))
    contents = _contents(request["contents"])
    try:
        written = json.dumps(job(request, contents), ensure_ascii=False).encode("utf-8", "replace")
        for _ in contents:
            pass
    except MemoryError:
        os._exit(MEMORY_SPENT)
    for start in range(0, len(written), FRAME_BYTES):
        piece = written[start : start + FRAME_BYTES]
        _write(FRAME.pack(len(piece)) + piece)
    os._exit(0)


def _contents(count: int) -> Iterator[bytes]:
    for _ in range(count):
        content = bytearray()
        while length := FRAME.unpack(_exactly(FRAME.size))[0]:
            content += _exactly(length)
        yield bytes(content)


def _exactly(length: int) -> bytes:
    read = bytearray()
    while len(read) < length:
        if not (piece := os.read(0, length - len(read))):
            os._exit(BROKE)
        read += piece
    return bytes(read)


def _write(written: bytes) -> None:
    while written:
        written = written[os.write(_answers[0], written) :]


def _keep_output_to_ourselves() -> None:
    """Whatever a library prints goes nowhere: a line of progress among the frames would be taken for one."""
    _answers[0] = os.dup(1)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.close(nowhere)


def _limit_ourselves() -> None:
    for what, limit in (
        (resource.RLIMIT_AS, MEMORY_BYTES),
        (resource.RLIMIT_NOFILE, OPEN_FILES),
        (resource.RLIMIT_CORE, 0),
    ):
        resource.setrlimit(what, (limit, limit))
    # At the soft limit comes a signal of its own, so that the reason of the death is known.
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS + 1))


def _die_with_parent() -> None:
    if sys.platform == "linux":
        set_parent_death_signal = 1
        ctypes.CDLL(None).prctl(set_parent_death_signal, signal.SIGKILL)
