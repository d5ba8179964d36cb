"""How the demo model looks at a change that its task shows: it maps the files, or holds lines against a few rules.

The rules are those that need no judgement: words that stand there. Which of them a worker goes by is told by the first
sentence of its description.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, cast

from app.domain.findings import Severity
from app.llm.demo_findings import finding_at
from app.llm.demo_material import Shown, shown_in
from app.llm.demo_prompts import SIGNED, counted, fenced, opening_of, sections
from app.llm.demo_schema import finds, promised
from app.llm.model import Request

FINDINGS_NAMED = 20
_REMOVED = re.compile(r"-(?!-- )")
_RULED_OUT = re.compile(r"(?i)\b(?:never|must not|do not|don't|no|avoid)\b[^.;`]*`([^`\s][^`]{0,60})`")
_GOES_BY_WORDS = re.compile(r"(?i)guideline|earlier review")
_NOTICE = f"> {SIGNED} the lines were held against a few rules. No language model has read them."


@dataclass(frozen=True, slots=True)
class _Rule:
    """Words in a line that whoever looks for something of this kind would stop at."""

    kind: re.Pattern[str]
    pattern: re.Pattern[str]
    severity: Severity
    message: str


_RULES = [
    _Rule(re.compile(kind, re.IGNORECASE), re.compile(pattern, re.IGNORECASE), severity, message)
    for kind, pattern, severity, message in cast(
        "list[tuple[str, str, Severity, str]]",
        [
            ("bug", r"^\s*except(\s+(Base)?Exception)?\s*:", "warning", "Every error is caught here, whatever it is."),
            ("bug", r"def \w+\(.*=\s*(\[\]|\{\})", "warning", "This default value is one object that all calls share."),
            ("bug", r"[=!]=\s*None\b", "info", "None is compared by value here."),
            ("bug|comment", r"\b(TODO|FIXME|XXX)\b", "info", "A note says that work is left here."),
            ("hole", r"\b(eval|exec)\(|shell=True|verify=False", "critical", "This runs or trusts what it is given."),
            ("hole", r"\bf[\"'].*\b(select|insert|update|delete)\b.*\{", "critical", "A query is made of text here."),
            ("hole", r"(password|secret|api_key)\s*=\s*[\"'][^\"']", "critical", "A secret stands in the code."),
            ("slow", r"\bsleep\(", "info", "The code waits here."),
        ],
    )
]


def looked_at(request: Request) -> dict[str, Any] | None:
    """The report of a worker without tools whose task shows parts of a change; None for any other."""
    if request.tools:
        return None
    shown = shown_in("\n".join(sections(opening_of(request)).get("context", [])))
    change = [each for each in shown if _is_diff(each)]
    is_finder = finds(request.output_schema)
    if not change or (promised(request.output_schema) is not None and not is_finder):
        return None
    files = [f"{each.name}: {counted(len([*_added(each)]), 'line')} added, {_removed(each)} removed" for each in change]
    looked = f"{SIGNED} looked at {counted(len(change), 'file')} of the change."
    written: dict[str, Any] = {
        "summary": looked,
        "text": "\n\n".join([_NOTICE, fenced("\n".join(files))]),
        "confidence": 0.5,
        "sources": list(dict.fromkeys(each.input for each in change)),
        "escalation": None,
    }
    if is_finder:
        kind = request.system.partition("\n")[0].partition(": ")[2].partition(".")[0]
        found = list(islice(_found(kind, change, shown), FINDINGS_NAMED))
        said = f"{looked} {counted(len(found), 'line')} stood out."
        written |= {"summary": said, "text": f"{_NOTICE}\n\n{said}", "data": {"findings": found}}
    return written


def _is_diff(part: Shown) -> bool:
    return any(number is None for number, _ in part.rows)


def _added(file: Shown) -> Iterator[tuple[int, str]]:
    """The lines that a change adds, by their numbers in the file after it."""
    yield from ((number, line[1:]) for number, line in file.rows if number is not None and line.startswith("+"))


def _removed(file: Shown) -> int:
    return sum(number is None and bool(_REMOVED.match(line)) for number, line in file.rows)


def _found(kind: str, change: Sequence[Shown], shown: Sequence[Shown]) -> Iterator[dict[str, Any]]:
    rules = [each for each in _RULES if each.kind.search(kind)]
    ruled_out = [*_ruled_out(shown)] if _GOES_BY_WORDS.search(kind) else []
    for file in change:
        for number, line in _added(file):
            for rule in rules:
                if rule.pattern.search(line):
                    yield _finding(file, number, line, rule.severity, rule.message)
            for word, place in ruled_out:
                if word.search(line):
                    yield _finding(file, number, line, "warning", f"{place} speaks against what stands here.")


def _ruled_out(shown: Sequence[Shown]) -> Iterator[tuple[re.Pattern[str], str]]:
    """The code that a text rules out, with the place where it does."""
    for text in (each for each in shown if not _is_diff(each)):
        for number, line in text.rows:
            if named := _RULED_OUT.search(line):
                yield re.compile(rf"(?<!\w){re.escape(named[1])}(?!\w)"), f"{text.name}:{number}"


def _finding(file: Shown, number: int, line: str, severity: Severity, message: str) -> dict[str, Any]:
    place = {"input": file.input, "path": file.name, "line": number, "end_line": number}
    said = f"{message} No language model has judged it."
    return finding_at(place, line.strip(), severity=severity, message=said)
