"""The file that the demo model hands over where it may hand over any: what it wrote, marked as its own."""

from collections.abc import Mapping
from typing import Any

from app.llm.model import Request


def with_file(request: Request, written: Mapping[str, Any], *, name: str, text: str) -> dict[str, Any]:
    """The reply with its text as a file, where the schema of the request has a place for files."""
    if "artifacts" not in ((request.output_schema or {}).get("properties") or {}):
        return dict(written)
    files = [{"name": name, "media_type": "text/markdown", "text": f"{text}\n", "base64": None}]
    return {**written, "artifacts": [] if written.get("escalation") else files}
