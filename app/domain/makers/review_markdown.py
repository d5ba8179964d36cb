"""`review.md`: a review that can be posted. What models wrote stands in its places; the rest is code's word."""

from collections.abc import Sequence

from app.domain.coverage import Covered
from app.domain.findings import SEVERITIES, Finding, counted
from app.domain.makers.markdown import block, code, code_in_cell, plain, quoted
from app.domain.makers.reviewed import Reviewed
from app.domain.makers.room import (
    MARKDOWN_ANSWER_BYTES,
    MARKDOWN_FINDINGS_BYTES,
    MARKDOWN_TABLE_BYTES,
    bytes_of_text,
    fitting,
)
from app.domain.sifting import reasons_of, reasons_told

TASKS_NAMED = 5
_STATUS = {"whole": "yes", "part": "in part", "missing": "no", "left_out": "left out"}
_REASONS = {"binary": "a binary file", "edited": "taken out of the plan", "omitted": "nothing to hold it against"}


def review_in_markdown(review: Reviewed) -> str:
    """The whole review."""
    parts = ["# Code review", summary(review.findings)]
    if review.answer is not None:
        parts += _answer(review.answer)
    parts += [*_findings(review), *looked_at("What was reviewed", review.material, MARKDOWN_TABLE_BYTES), *_cut(review)]
    parts += _left_out(review)
    return "\n\n".join(parts) + "\n"


def summary(findings: Sequence[Finding]) -> str:
    """How many findings there are."""
    if not findings:
        return "No findings."
    by_severity = counted(findings)
    listed = ", ".join(f"{by_severity[each]} {each}" for each in SEVERITIES if by_severity[each])
    return f"{len(findings)} finding{'s' if len(findings) > 1 else ''}: {listed}."


def _findings(review: Reviewed) -> list[str]:
    if not review.findings:
        return []
    told = ["\n\n".join(_told(review, finding, number)) for number, finding in enumerate(review.findings, 1)]
    kept = fitting((bytes_of_text(each) + 2 for each in told), MARKDOWN_FINDINGS_BYTES)
    left = len(told) - kept
    more = [f"{left} more findings stand in the data of the run alone."] if left else []
    return ["## Findings", *told[:kept], *more]


def _answer(answer: str) -> list[str]:
    lines = quoted(answer).split("\n")
    kept = fitting((bytes_of_text(line) + 1 for line in lines), MARKDOWN_ANSWER_BYTES)
    shown = ["\n".join(lines[:kept])] if kept else []
    return shown if kept == len(lines) else [*shown, "The rest of the answer stands in the result of the run alone."]


def _told(review: Reviewed, finding: Finding, number: int) -> list[str]:
    lenses = ", ".join(map(plain, review.lenses(finding.tasks)))
    verdict = f", {finding.verdict} by a second look" if finding.is_verified else ""
    category = plain(finding.category) or "no category"
    return [
        f"### {number}. {finding.severity.capitalize()}: {where(finding)}",
        plain(finding.message),
        block(finding.evidence),
        *suggested(finding),
        f"*{finding.id}, {category}, found by {lenses}; {finding.confidence} of 100{verdict}"
        f"{of_a_commit(review, finding)}*",
    ]


def where(finding: Finding) -> str:
    """The place of a finding."""
    place = finding.location
    lines = f"line {place.line}" if place.line == place.end_line else f"lines {place.line} to {place.end_line}"
    return f"{code(place.file_name)}, {'removed ' if place.side == 'old' else ''}{lines}"


def suggested(finding: Finding) -> list[str]:
    """The paragraph with what could be done about it; none where nobody has said."""
    return [f"**Suggestion:** {plain(finding.suggestion)}"] if finding.suggestion.strip() else []


def of_a_commit(review: Reviewed, finding: Finding) -> str:
    """What is said of lines that the change as a whole may have elsewhere; nothing where they are its own."""
    return ", lines as one of the commits has them" if review.is_of_one_commit(finding) else ""


def looked_at(heading: str, material: Sequence[Covered], room: int) -> list[str]:
    """The table of what was looked at, in so many bytes; nothing where there is nothing to be told."""
    if not material:
        return []
    rows = [f"| {code_in_cell(each.item)} | {_STATUS[each.status]} | {_why(each)} |" for each in material]
    kept = fitting((bytes_of_text(row) + 1 for row in rows), room)
    more = [f"{len(rows) - kept} more files stand in the result of the run alone."] if kept < len(rows) else []
    return [f"## {heading}", "\n".join(["| file | reviewed | |", "|---|---|---|", *rows[:kept]]), *more]


def _why(each: Covered) -> str:
    if each.status == "left_out":
        return f"pattern {code_in_cell(each.pattern)}" if each.pattern else _REASONS.get(str(each.reason), "not taken")
    if each.status == "whole":
        return f"by {len(each.tasks)} task{'s' if len(each.tasks) > 1 else ''}"
    said = [f"by {', '.join(each.tasks)}"] if each.tasks else []
    said += [f"cut in {', '.join(each.cut)}"] if each.cut else []
    return "; ".join([*said, *([f"not by {', '.join(each.missing)}"] if each.missing else [])])


def _cut(review: Reviewed) -> list[str]:
    """What the change was held against and is too long to be shown to whoever did it."""
    return [
        f"Of {code(name)} only the beginning was shown to {', '.join(tasks[:TASKS_NAMED])}"
        f"{f' and {len(tasks) - TASKS_NAMED} more' if len(tasks) > TASKS_NAMED else ''}."
        for name, tasks in review.beside_cut.items()
    ]


def _left_out(review: Reviewed) -> list[str]:
    if not review.suppressed:
        return []
    total = len(review.findings) + len(review.suppressed)
    reasons = reasons_told(reasons_of(review.suppressed))
    return ["## Left out", f"{len(review.suppressed)} of {total} findings: {reasons}."]
