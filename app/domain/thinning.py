"""Logs in short. Of a run that ended long ago the trace still says what was done when, by whom, why, and at what cost,
but no longer in full what models were sent and what they and the tools said.

No event is left out, and none loses what the fold of the run goes by: state, results and figures stay as they are.
Events are taken as JSON values, so that those of later releases pass as well.
"""

import json
from collections.abc import Mapping
from typing import Any

from app.domain.text import shorten

KEPT_CHARACTERS = 500
"""What is kept of a long text: its beginning and its end."""
THINNED = ("llm.completed", "llm.failed", "tool.started", "tool.completed", "tool.failed")
"""The types of the events that get shorter."""
_THOUGHTS = ("thinking", "redacted_thinking")


def thinned(kind: str, data: Mapping[str, Any]) -> dict[str, Any]:
    """The data of an event in short; the same again when they are so already."""
    if kind not in THINNED:
        return dict(data)
    short = dict(data)
    for name in ("opening", "terms"):
        if name in short:
            short[name] = None
    if "content" in short:
        short["content"] = [_block(block) for block in short["content"] if block.get("type") not in _THOUGHTS]
    if "input" in short:
        short["input"] = in_short(short["input"], KEPT_CHARACTERS)
    if "output" in short:
        short["output"], left_out = shorten(short["output"], KEPT_CHARACTERS)
        short["omitted"] = short.get("omitted", 0) + left_out
    return short


def in_short(value: Any, characters: int) -> Any:
    """The value itself when its text is short, else the beginning and the end of the text."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return value if len(text) <= characters else shorten(text, characters)[0]


def _block(block: Mapping[str, Any]) -> dict[str, Any]:
    """A content block of a reply: what kind it is, what it names, and of what it says a part."""
    return {name: in_short(value, KEPT_CHARACTERS) for name, value in block.items()}
