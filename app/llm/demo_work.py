"""How the demo model does a task: it really uses the worker's tools, and reports what they brought back.

What they did not bring back it does not have: a task that takes more than looking up and working out is escalated.
"""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from app.domain.conversation import Block
from app.llm.demo_arithmetic import expressions_in
from app.llm.demo_assignment import Assignment, assignment_of
from app.llm.demo_blank import escalated_blank
from app.llm.demo_data import recorded_in
from app.llm.demo_evidence import LINES_READ, Evidence, confidence_in, evidence_of, from_results, sources_of, told
from app.llm.demo_findings import findings
from app.llm.demo_material import lines_shown, queries_in, questions_in
from app.llm.demo_objective import MAKING, RETELLING, TOPMOST
from app.llm.demo_pages import pages_left, texts_left
from app.llm.demo_passages import deviations
from app.llm.demo_prompts import GATHER, SIGNED, asked_and_about, gist, number_after, opening_of, urls_in
from app.llm.demo_review import looked_at
from app.llm.demo_schema import NotComputed, filled, finds, promised
from app.llm.demo_tables import LIST_COLUMNS, values_query
from app.llm.demo_testing import report_of_tests, sources_left, wants_tests
from app.llm.model import Request

PAGES_FETCHED = 2
EXPRESSIONS = 4
TEXTS_READ = 3
STEPS_UNLESS_TOLD = 10
SENTENCES = 3

NOTICE = f"> {SIGNED} written by rules from what the tools returned. No language model worked on it."
NEEDED = "this takes a language model. Set ANTHROPIC_API_KEY to have one. Not done:"

Call = tuple[str, dict[str, Any]]
"""The name of a tool, and its input."""


def next_calls(request: Request) -> list[Block]:
    """The reply that asks for tools; empty when it is time to report."""
    if _replies(request) >= number_after("You have", request.system, STEPS_UNLESS_TOLD) - 1:
        return []
    blocks = [_block(name, given, request) for name, given in _calls_left(request)]
    if not blocks:
        return []
    used = ", ".join(dict.fromkeys(block["name"] for block in blocks))
    return [{"type": "text", "text": f"{SIGNED} using {used}."}, *blocks]


def _replies(request: Request) -> int:
    return sum(message.role == "assistant" for message in request.messages)


def _calls_left(request: Request) -> list[Call]:
    """What there is to ask the worker's own tools after so many replies."""
    if wants_tests(request):
        return sources_left(request)
    rounds = (_first_calls, _second_calls, _third_calls)[_replies(request) :]
    own = {tool.name for tool in request.tools if tool.server is None}
    given = assignment_of(request)
    if promised(request.output_schema) is not None and not finds(request.output_schema):
        if "query_data" in own and (queries := queries_in(given.task)):
            asked = pages_left(given.answers, queries) if _replies(request) else queries
            return [("query_data", {"sql": sql}) for sql in asked]
        if questions_in(given.task) and any(lines_shown(given.context)):
            return []  # The task shows what it asks about.
        if left := texts_left(given.answers):
            return left
    return [call for call in rounds[0](given) if call[0] in own] if rounds else []


def _first_calls(given: Assignment) -> list[Call]:
    """Calls that need nothing but the task; for pages its context counts where the task itself names none."""
    pages = urls_in(given.task) or urls_in(given.context)
    calls: list[Call] = [("calculate", {"expression": each}) for each in expressions_in(given.task)[:EXPRESSIONS]]
    calls += [("fetch_page", {"url": url}) for url in pages[:PAGES_FETCHED]]
    if given.inputs:
        calls += [("read_input", {"action": "list"}), ("query_data", {"sql": LIST_COLUMNS})]
    return calls


def _second_calls(given: Assignment) -> list[Call]:
    """What the tables hold of what the task names, and what the texts say about it."""
    about = asked_and_about(given.task)[1]
    asked = [query for table in given.queried() if (query := values_query(table, about))]
    calls: list[Call] = [("query_data", {"sql": query}) for query in asked] or _third_calls(given)
    tabular = {table.source for table in given.tables}
    texts = [name for name in given.inputs if name not in tabular]
    if named := [name for name in texts if name in about]:
        texts = named
    calls += [("read_input", {"action": "read", "name": name, "line_count": LINES_READ}) for name in texts[:TEXTS_READ]]
    if texts:
        within = {"name": texts[0]} if len(texts) == 1 else {}
        calls += [("read_input", {"action": "search", "text": word, **within}) for word in given.words]
    return calls


def _third_calls(given: Assignment) -> list[Call]:
    """The figures."""
    asked = {call["input"].get("sql") for call, _, _ in given.answers}
    return [("query_data", {"sql": query}) for query in given.queries() if query not in asked]


def _block(name: str, given: dict[str, Any], request: Request) -> Block:
    seed = f"{request.system}\n{opening_of(request)}\n{len(request.messages)}\n{name}\n{given}"
    return {
        "type": "tool_use",
        "id": f"demo_{hashlib.sha256(seed.encode()).hexdigest()[:24]}",
        "name": name,
        "input": given,
    }


def report(request: Request) -> dict[str, Any]:
    """The result, or an escalation with what there is so far."""
    if (looked := looked_at(request)) is not None:
        return looked
    if wants_tests(request):
        return report_of_tests(request, NOTICE)
    given = assignment_of(request)
    if (blank := escalated_blank(given.answers, given.inputs)) is not None:
        return blank
    gathering = given.task.startswith(GATHER)
    evidence = evidence_of(given.answers, given.queries(), given.inputs, given.words, gathering=gathering)
    if not evidence:
        evidence = from_results(given.results)
    brought = [piece for piece in evidence if not piece.failed]
    is_finder = finds(request.output_schema)
    seen = findings(request) if is_finder else None
    compared = deviations(given.results) if is_finder and seen is None else None
    escalation = None if compared is not None else _escalation(given, evidence)
    if escalation and _calls_left(request):
        escalation |= {"reason": "timeout", "message": f"{SIGNED} the replies allowed were not enough to look."}
    written: dict[str, Any] = {
        "summary": f"{SIGNED} {' '.join(piece.sentence for piece in brought[:SENTENCES]) or gist(given.task)}",
        "text": "\n\n".join([NOTICE, *map(told, evidence), *_unavailable(request)]),
        "confidence": confidence_in(evidence),
        "sources": sources_of(given.results, evidence),
        "escalation": escalation,
    }
    if is_finder:
        found = seen or compared or []
        return written | {"data": None if escalation and not found else {"findings": found}} | _found(found, written)
    schema = promised(request.output_schema)
    if schema is None:
        return written
    if (recorded := recorded_in(given, schema)) is not None:
        return written | recorded
    try:
        return written | {"data": None if escalation else filled(schema, _rows(given, brought))}
    except NotComputed:
        why = "the data that was promised cannot be computed by rule from what the tools brought"
        return written | {"data": None, "escalation": _escalated(f"{why}; {NEEDED} {gist(given.task)}")}


def _found(found: Sequence[dict[str, Any]], written: dict[str, Any]) -> dict[str, Any]:
    """What a report of findings says beside them. With one of them nothing is escalated."""
    if not found and written["escalation"]:
        return {"summary": written["summary"]}
    if not found:
        said = f"{SIGNED} compared figures and named no place. What the passages mean takes a language model."
        return {"summary": said, "text": f"{NOTICE}\n\n{said}"}
    inputs = list(dict.fromkeys(each["location"]["input"] for each in found))
    named = "one line of it" if len(found) == 1 else f"{len(found)} places"
    said = f"{SIGNED} looked at {', '.join(inputs)} and named {named}."
    return {"summary": said, "text": f"{NOTICE}\n\n{said}", "sources": inputs, "escalation": None}


def _rows(given: Assignment, evidence: Sequence[Evidence]) -> list[Mapping[str, str]]:
    """The figures found: the first row alone where the task asks for what is topmost, since rows are ranked."""
    rows = [row for piece in evidence for row in piece.figures]
    return rows[:1] if TOPMOST.search(given.task) else rows


def _escalation(given: Assignment, evidence: Sequence[Evidence]) -> dict[str, str] | None:
    """Why the task is not done; None when it is. Figures answer for more than quotations do."""
    asked = asked_and_about(given.task)[0]
    brought = [piece for piece in evidence if not piece.failed]
    if MAKING.search(asked):
        return _escalated(f"{NEEDED} {gist(given.task)}")
    if evidence and not brought:
        return {"reason": "confidence_too_low", "message": f"{SIGNED} {evidence[0].sentence}"}
    if not brought and given.tables:
        sources = ", ".join(dict.fromkeys(table.source for table in given.tables))
        return _escalated(f"nothing in {sources} is known by the names that this uses: {gist(given.task)}")
    computed = any(piece.figures for piece in brought)
    if not brought or (RETELLING.search(asked) and not computed):
        return _escalated(f"{NEEDED} {gist(given.task)}")
    return None


def _escalated(why: str) -> dict[str, str]:
    return {"reason": "out_of_scope", "message": f"{SIGNED} {why}"}


def _unavailable(request: Request) -> list[str]:
    names = [tool.name for tool in request.tools if tool.server is not None]
    return [f"- `{name}` is run by a model's provider. The demo model has none, so it was not used." for name in names]
