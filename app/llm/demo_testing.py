"""The demo model as a worker that writes tests: it reads the sources through the worker's tool, and reports."""

import re
from collections.abc import Mapping
from typing import Any

from app.domain.material import described_in
from app.llm.demo_pages import goes_on_at, reading
from app.llm.demo_prompts import SIGNED, input_names, opening_of, sections, tool_results
from app.llm.demo_tests import NoRule, tests_for
from app.llm.model import Request

CONFIDENCE = 0.3
"""What such tests hold, they hold; it is little."""
_NUMBERED = re.compile(r"^\d+: ?", re.MULTILINE)


def wants_tests(request: Request) -> bool:
    """Whether the data of the result are to be tests."""
    properties = (request.output_schema or {}).get("properties") or {}
    data = (properties.get("data") or {}).get("anyOf") or [{}]
    fields = data[0].get("properties", {}).get("tests", {}).get("items", {}).get("properties", {})
    return all(name in fields for name in ("function", "kind", "code"))


def sources_left(request: Request) -> list[tuple[str, dict[str, Any]]]:
    """The calls that read what is left to be read of the sources that the task is about."""
    if all(tool.name != "read_input" for tool in request.tools):
        return []
    read = _read(request)
    left = {given: read[given][1] if given in read else 1 for _, given in described_in(_task(request))}
    return [reading(name, line) for name, line in left.items() if line]


def report_of_tests(request: Request, notice: str) -> dict[str, Any]:
    """The tests that can be written by rule, or an escalation."""
    sources = {name: text for name, (text, left) in _read(request).items() if not left}
    task = _task(request)
    inputs = list(dict.fromkeys(given for _, given in described_in(task)))
    written: dict[str, Any] = {"confidence": CONFIDENCE, "sources": inputs, "escalation": None}
    try:
        data = tests_for(task, sources, input_names(opening_of(request)))
    except (NoRule, RecursionError) as error:
        reason = str(error) if isinstance(error, NoRule) else "The code nests too deeply."
        why = f"{SIGNED} {reason} Set ANTHROPIC_API_KEY to have tests written by a language model."
        escalation = {"reason": "out_of_scope", "message": why}
        return written | {"summary": why, "text": f"{notice}\n\n{why}", "data": None, "escalation": escalation}
    names = ", ".join(dict.fromkeys(test["function"] for test in data["tests"]))
    said = f"{SIGNED} wrote {len(data['tests'])} tests by rule for {names}. Nobody has run them."
    held = "They hold parameters, and the conditions that lead to exceptions; no value that is returned."
    return written | {"summary": said, "text": f"{notice}\n\n{said}\n\n{held}", "data": data}


def _task(request: Request) -> str:
    found = sections(opening_of(request))
    return "\n".join([*found.get("task", []), *found.get("context", [])])


def _read(request: Request) -> Mapping[str, tuple[str, int]]:
    """What was read of each source, and the line at which to go on; 0 where that is all, or cannot be read."""
    read: dict[str, tuple[str, int]] = {}
    for call, text, failed in tool_results(request):
        name = str(call["input"].get("name"))
        before = read[name][0] if name in read else ""
        lines = text.partition("\n\n")[2]
        part = "" if failed else f"{_NUMBERED.sub('', lines)}\n"
        read[name] = f"{before}{part}", 0 if failed else goes_on_at(text) or 0
    return read
