"""The files that the demo model hands over where it may hand over any: what it wrote, marked as its own."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from app.domain.artifacts import FILES_AT_MOST, name_fault
from app.llm.demo_prompts import SIGNED, lists_in, opening_of, sections
from app.llm.model import Request

_ASKED = re.compile(r"\bas the file ([a-z0-9][a-z0-9-]{0,60}\.(?:md|txt))\b")


def with_file(request: Request, written: Mapping[str, Any], *, name: str, text: str) -> dict[str, Any]:
    """The reply with its text as a file, where the schema of the request has a place for files.

    Where its data name the `file` of each record, these are the files; else the task may say what the file is called.
    """
    if "artifacts" not in ((request.output_schema or {}).get("properties") or {}):
        return dict(written)
    named = [_file(record["file"], _told(record)) for record in _naming(written.get("data"))]
    asked = _ASKED.search("\n".join(sections(opening_of(request)).get("task", [])))
    files = named[:FILES_AT_MOST] or [_file(asked[1] if asked else name, text)]
    return {**written, "artifacts": [] if written.get("escalation") else files}


def _naming(data: Any) -> Sequence[Mapping[str, Any]]:
    """The records in the lists of data that name a file, each file once."""
    records = (record for held in lists_in(data).values() for record in held)
    files = {str(record["file"]): record for record in records if record.get("file")}
    return [record for name, record in files.items() if name_fault(name) is None]


def _told(record: Mapping[str, Any]) -> str:
    lines = [f"- {name.replace('_', ' ')}: {value}" for name, value in record.items() if value not in (None, "")]
    title = record.get("title") or record["file"]
    return "\n".join([f"# {title}", "", f"> {SIGNED} what belongs here takes a language model.", "", *lines])


def _file(name: str, text: str) -> dict[str, Any]:
    return {"name": name, "media_type": "text/markdown", "text": f"{text}\n", "base64": None}
