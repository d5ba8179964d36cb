"""Bodies and parameters as the API takes them."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from app.client.job_shapes import Job

_UNSAID = "application/octet-stream"
"""The media type of a file that comes without one: the service goes by its name."""


class File(NamedTuple):
    """A file that becomes an input of a job. The service tells its media type by its name unless it is given."""

    name: str
    content: bytes
    media_type: str | None = None


def body_of(job: Job, files: Sequence[File]) -> Mapping[str, Any]:
    """A job as JSON, or with files as a form."""
    if not files:
        return {"json": job}
    parts = [("inputs", (name, content, media_type or _UNSAID)) for name, content, media_type in files]
    return {"data": {"job": json.dumps(job)}, "files": parts}


def label(key: str, value: Any) -> str:
    """A label as a filter of runs has it."""
    escaped = key.replace("\\", "\\\\").replace(":", "\\:")
    return f"{escaped}:{value if isinstance(value, str) else json.dumps(value)}"


def has(found: Any, wanted: Any) -> bool:
    """Whether what was found has all that was wanted, whatever else it has."""
    if isinstance(wanted, Mapping):
        return isinstance(found, Mapping) and all(
            name == "reason" or (name in found and has(found[name], value)) for name, value in wanted.items()
        )
    if isinstance(wanted, list | tuple):
        return isinstance(found, list) and len(found) == len(wanted) and all(map(has, found, wanted))
    return bool(found == wanted)
