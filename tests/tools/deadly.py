"""Work that goes wrong, for a sandbox to survive."""

import os
import signal
import time
from collections.abc import Iterator
from typing import Any


def answer(request: dict[str, Any], contents: Iterator[bytes]) -> dict[str, Any]:
    """Do what the request names."""
    match request["do"]:
        case "die":
            os.kill(os.getpid(), request["signal"])
        case "grow":
            return {"size": len(bytearray(1 << 40))}
        case "break":
            raise RuntimeError("a fault of ours")
        case "hang":
            signal.pause()
        case "flood":
            return {"text": "x" * 30_000_000}
        case "print":
            print("a line that no frame is", flush=True)
            os.write(1, b"\x00\x00\x00\x00")
        case "look":
            return {"environment": dict(os.environ), "files": len(os.listdir("/proc/self/fd")), "started": time.time()}
        case "count":
            return {"lengths": [len(content) for content in contents]}
        case "leave":
            return {"left": "unread"}
    return {"did": request["do"]}
