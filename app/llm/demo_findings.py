"""How the demo model finds and verifies: it names the first line that a diff adds, else the first line of a text."""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from app.domain.diffs import is_diff, read_diff
from app.domain.errors import DiffUnreadable
from app.domain.findings import Severity
from app.llm.demo_prompts import SIGNED, ToolResults, input_names, opening_of, sections, tool_results, values
from app.llm.model import Request

EVIDENCE_CHARACTERS = 500
CONFIDENCE = 100
"""That a line is there, or that figures differ, needs no judgement."""
_NUMBERED = re.compile(r"^\d+: ?", re.MULTILINE)
_BEGINS = re.compile(r"^(?:diff --git |--- )", re.MULTILINE)
_CHANGED = "This line is new with the change. No language model has judged it."
_THERE = "This is the first line of the input. No language model has judged it."


def findings(request: Request) -> list[dict[str, Any]] | None:
    """What a worker names of the inputs that it has seen; None where it has seen none."""
    prompt = opening_of(request)
    names = input_names(prompt)
    seen = [*_seen("\n".join(sections(prompt).get("context", [])), names), *_read(tool_results(request))]
    return [*islice((each for name, text in seen for each in _first(name, text)), 1)] if seen else None


def _seen(context: str, names: Sequence[str]) -> Iterator[tuple[str, str]]:
    """A diff that the task holds itself: it is a part of the input that is one."""
    name = next((name for name in names if is_diff(name, "")), None)
    begins = _BEGINS.search(context)
    if name is not None and begins is not None:
        yield name, context[begins.start() :]


def _read(answers: ToolResults) -> Iterator[tuple[str, str]]:
    """The inputs that were read, without the numbers before their lines."""
    for call, text, failed in answers:
        if call["name"] == "read_input" and call["input"].get("action") == "read" and not failed:
            yield str(call["input"].get("name")), _NUMBERED.sub("", text.partition("\n\n")[2])


def _first(name: str, text: str) -> Iterator[dict[str, Any]]:
    try:
        files = read_diff(f"{text.rstrip()}\n")
    except DiffUnreadable:
        files = ()
    for file in files:
        for line in sorted(file.touched):
            if file.lines[line].strip():
                yield finding_at(_line(name, file.path, line), file.lines[line], severity="info", message=_CHANGED)
    if not files and not is_diff(name, ""):
        for line, words in enumerate(text.split("\n"), 1):
            if words.strip():
                yield finding_at(_line(name, None, line), words, severity="info", message=_THERE)


def _line(name: str, path: str | None, line: int) -> dict[str, Any]:
    return {"input": name, "path": path, "line": line, "end_line": line}


def finding_at(
    location: Mapping[str, Any],
    evidence: str,
    *,
    severity: Severity,
    message: str,
    category: str = "demo",
    suggestion: str = "Set ANTHROPIC_API_KEY to have it looked at.",
) -> dict[str, Any]:
    """A finding at a place, as a rule names it."""
    return {
        "severity": severity,
        "category": category,
        "message": f"{SIGNED} {message}",
        "location": location,
        "evidence": evidence[:EVIDENCE_CHARACTERS],
        "suggestion": suggestion,
        "confidence": CONFIDENCE,
    }


def told_of(found: Mapping[str, Sequence[str]]) -> list[str]:
    """The part of an answer that tells of findings."""
    shown = [each for held in values(found.get("findings", [])) for each in held["shown"]]
    places = [(each, each["location"]) for each in shown]
    lines = [f"- {each['severity']}, {_place(at)}: {each['message']}" for each, at in places]
    return ["\n".join(["## Findings", "", *lines])] if lines else []


def _place(at: Mapping[str, Any]) -> str:
    return f"{at['path'] or at['input']}:{at['line']}"


def verdict(request: Request) -> dict[str, Any]:
    """A second look: that the line stands there is all that can be said by rule."""
    return {
        "reason": f"{SIGNED} the line stands there. Whether the point holds takes a language model.",
        "verdict": "confirmed",
        "confidence": 50,
        "severity": None,
        "message": None,
        "suggestion": None,
    }
