"""What the demo model makes of documents, and of pages, that hold no text: it says so, and reports nothing on them."""

import re
from collections.abc import Sequence
from typing import Any

from app.llm.demo_material import lines_read
from app.llm.demo_prompts import SIGNED, ToolResults
from app.llm.demo_texts import Line

_NOTICE = re.compile(r"^\[this (?:page|document) (?:holds no text|cannot be read)[^\]]*\]$")
_MARK = re.compile(r"^\[[^\]]*\]$")


def escalated_blank(answers: ToolResults, inputs: Sequence[str]) -> dict[str, Any] | None:
    """The report of a worker that has read nothing but documents without text; None for any other."""
    lines = list(lines_read(answers, inputs))
    if (
        not lines
        or not _is_blank(lines)
        or any(call["name"] != "read_input" for call, _, failed in answers if not failed)
    ):
        return None
    names = ", ".join(dict.fromkeys(line.source for line in lines))
    said = f"{SIGNED} no text can be read in {names}: it may be a scan. Send it as text, or with its text recognised."
    escalation = {"reason": "ambiguous_input", "message": said}
    return {"summary": said, "text": said, "data": None, "confidence": 0.0, "sources": [], "escalation": escalation}


def pages_without_text(lines: Sequence[Line]) -> list[str]:
    """Where texts have nothing to be read: the mark of each such page with its input."""
    found: list[str] = []
    mark = ""
    for line in lines:
        text = line.text.strip()
        if _NOTICE.match(text):
            found.append(f"{line.source} {mark}".strip())
        mark = text if _MARK.match(text) else ""
    return found


def _is_blank(lines: Sequence[Line]) -> bool:
    texts = [line.text.strip() for line in lines]
    return all(_MARK.match(text) for text in texts if text) and any(_NOTICE.match(text) for text in texts)
