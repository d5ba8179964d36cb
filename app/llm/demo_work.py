"""How the demo model does a task: it really uses the worker's tools, and reports what they brought back."""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from app.domain.conversation import Block
from app.llm.demo_arithmetic import expressions_in
from app.llm.demo_prompts import (
    SIGNED,
    excerpt,
    gist,
    number_after,
    opening_of,
    sections,
    tool_results,
    unsigned,
    urls_in,
    values,
)
from app.llm.demo_schema import smallest
from app.llm.demo_tools import (
    LINES_READ,
    TABLES_QUERIED,
    TEXTS_READ,
    Finding,
    aggregate_of,
    findings_of,
    tables_in,
    telling_word,
    texts_in,
)
from app.llm.model import Request

TOOL_ROUNDS = 2
PAGES_FETCHED = 2
EXPRESSIONS = 4
STEPS_UNLESS_TOLD = 10
SENTENCES = 3
TASK_CHARACTERS = 600

NOTICE = f"> {SIGNED} written by rules from what the tools returned. No language model worked on it."
NEEDED = "Not worked on, since this takes a language model:"

Call = tuple[str, dict[str, Any]]
"""The name of a tool, and its input."""


@dataclass(frozen=True, slots=True)
class _Assignment:
    """What a worker was given."""

    task: str
    context: str
    has_inputs: bool
    results: Sequence[dict[str, Any]]


def next_calls(request: Request) -> list[Block]:
    """The reply that asks for tools; empty when it is time to report."""
    replies = sum(message.role == "assistant" for message in request.messages)
    if replies >= min(TOOL_ROUNDS, number_after("You have", request.system, STEPS_UNLESS_TOLD) - 1):
        return []
    assignment, tools = _assignment(request), _own_tools(request)
    calls = _second_calls(assignment, request) if replies else _first_calls(assignment)
    blocks = [_block(name, given, request) for name, given in calls if name in tools]
    if not blocks:
        return []
    used = ", ".join(dict.fromkeys(block["name"] for block in blocks))
    return [{"type": "text", "text": f"{SIGNED} using {used}."}, *blocks]


def _assignment(request: Request) -> _Assignment:
    prompt = opening_of(request)
    found = sections(prompt)
    return _Assignment(
        task="\n".join(found.get("task", [])),
        context="\n".join(found.get("context", [])),
        has_inputs=bool(re.search(r"^The job's inputs: ", prompt, re.MULTILINE)),
        results=values(found.get("result", [])),
    )


def _own_tools(request: Request) -> set[str]:
    return {tool.name for tool in request.tools if tool.server is None}


def _first_calls(assignment: _Assignment) -> list[Call]:
    """Calls that need nothing but the task; its context counts where the task itself has nothing."""
    expressions = expressions_in(assignment.task) or expressions_in(assignment.context)
    pages = urls_in(assignment.task) or urls_in(assignment.context)
    calls: list[Call] = [("calculate", {"expression": expression}) for expression in expressions[:EXPRESSIONS]]
    calls += [("fetch_page", {"url": url}) for url in pages[:PAGES_FETCHED]]
    if assignment.has_inputs:
        calls += [("read_input", {"action": "list"}), ("query_data", {"sql": ""})]
    return calls


def _second_calls(assignment: _Assignment, request: Request) -> list[Call]:
    """Calls that follow from the listings: what is in the tables, and in the texts."""
    listings = {call["name"]: output for call, output, failed in tool_results(request) if not failed}
    tables = tables_in(listings.get("query_data", ""))
    wanted = f"{assignment.task}\n{assignment.context}"
    texts = [name for name in texts_in(listings.get("read_input", "")) if name not in {each.source for each in tables}]
    texts.sort(key=lambda name: name not in wanted)
    calls: list[Call] = [("query_data", {"sql": aggregate_of(table, wanted)}) for table in tables[:TABLES_QUERIED]]
    calls += [("read_input", {"action": "read", "name": name, "line_count": LINES_READ}) for name in texts[:TEXTS_READ]]
    if texts and (word := telling_word(wanted)):
        calls.append(("read_input", {"action": "search", "text": word}))
    return calls


def _block(name: str, given: dict[str, Any], request: Request) -> Block:
    seed = f"{request.system}\n{opening_of(request)}\n{len(request.messages)}\n{name}\n{given}"
    return {
        "type": "tool_use",
        "id": f"demo_{hashlib.sha256(seed.encode()).hexdigest()[:24]}",
        "name": name,
        "input": given,
    }


def report(request: Request) -> dict[str, Any]:
    """The result: what the tools brought back, or what the results before it say."""
    assignment = _assignment(request)
    findings = findings_of(tool_results(request))
    body = [_told(finding) for finding in findings] or [_passed_on(result) for result in assignment.results]
    parts = [NOTICE, *(body or [f"{NEEDED} {excerpt(assignment.task, TASK_CHARACTERS)}"]), *_unavailable(request)]
    written: dict[str, Any] = {
        "summary": f"{SIGNED} {_summary(assignment, findings)}",
        "text": "\n\n".join(parts),
        "confidence": _confidence(assignment.results, findings),
        "sources": _sources(assignment.results, findings),
        "escalation": None,
    }
    data = ((request.output_schema or {}).get("properties") or {}).get("data")
    return written if data is None else written | {"data": smallest(data)}


def _told(finding: Finding) -> str:
    return f"- {finding.sentence}" + (f"\n\n{finding.detail}" if finding.detail else "")


def _passed_on(result: dict[str, Any]) -> str:
    return f"### {result['title'] or result['task']}\n\n{unsigned(result['summary'])}"


def _unavailable(request: Request) -> list[str]:
    names = [tool.name for tool in request.tools if tool.server is not None]
    return [f"- `{name}` is run by a model's provider. The demo model has none, so it was not used." for name in names]


def _summary(assignment: _Assignment, findings: Sequence[Finding]) -> str:
    if findings:
        brought = [finding.sentence for finding in findings if not finding.failed]
        return " ".join(brought[:SENTENCES] or [findings[0].sentence])
    if titles := [result["title"] or result["task"] for result in assignment.results]:
        return f"put together from what came before: {'; '.join(gist(title, 60) for title in titles)}"
    return f"{NEEDED} {gist(assignment.task)}"


def _confidence(results: Sequence[dict[str, Any]], findings: Sequence[Finding]) -> float:
    if findings:
        return round(0.2 + 0.5 * sum(not finding.failed for finding in findings) / len(findings), 2)
    stated = [result["confidence"] for result in results if result["confidence"] is not None]
    return min(stated, default=0.2)


def _sources(results: Sequence[dict[str, Any]], findings: Sequence[Finding]) -> list[str]:
    own = [finding.source for finding in findings if finding.source]
    passed_on = [source for result in results for source in result["sources"]]
    return list(dict.fromkeys(own + passed_on))
