"""`review.md`: a review that can be posted. What models wrote stands in its places; the rest is code's word."""

from collections.abc import Sequence

from app.domain.coverage import Covered
from app.domain.findings import SEVERITIES, Finding, counted
from app.domain.makers.markdown import block, code, code_in_cell, plain, quoted
from app.domain.makers.reviewed import Reviewed
from app.domain.sifting import reasons_of, reasons_told

FINDINGS_CHARACTERS = 250_000
FILES_SHOWN = 1_000
_STATUS = {"whole": "yes", "part": "in part", "missing": "no", "left_out": "left out"}
_REASONS = {"binary": "a binary file", "edited": "taken out of the plan", "omitted": "nothing to hold it against"}


def review_in_markdown(review: Reviewed) -> str:
    """The whole review."""
    parts = ["# Code review", summary(review.findings)]
    if review.answer is not None:
        parts += [quoted(review.answer)]
    parts += [*_findings(review), *looked_at("What was reviewed", review.material, FILES_SHOWN), *_left_out(review)]
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
    shown = ["## Findings"]
    room = FINDINGS_CHARACTERS
    for number, finding in enumerate(review.findings, 1):
        told = "\n\n".join(_told(review, finding, number))
        room -= len(told)
        if room < 0:
            shown.append(f"{len(review.findings) - number + 1} more findings stand in the data of the run alone.")
            break
        shown.append(told)
    return shown


def _told(review: Reviewed, finding: Finding, number: int) -> list[str]:
    lenses = ", ".join(map(plain, review.lenses(finding.tasks)))
    verdict = f", {finding.verdict} by a second look" if finding.is_verified else ""
    category = plain(finding.category) or "no category"
    return [
        f"### {number}. {finding.severity.capitalize()}: {where(finding)}",
        plain(finding.message),
        block(finding.evidence),
        *([f"**Suggestion:** {plain(finding.suggestion)}"] if finding.suggestion.strip() else []),
        f"*{finding.id}, {category}, found by {lenses}; {finding.confidence} of 100{verdict}*",
    ]


def where(finding: Finding) -> str:
    """The place of a finding."""
    place = finding.location
    lines = f"line {place.line}" if place.line == place.end_line else f"lines {place.line} to {place.end_line}"
    return f"{code(place.path or place.input)}, {'removed ' if place.side == 'old' else ''}{lines}"


def looked_at(heading: str, material: Sequence[Covered], most: int) -> list[str]:
    """The table of what was looked at; nothing where there is nothing to be told."""
    if not material:
        return []
    rows = [f"| {code_in_cell(each.item)} | {_STATUS[each.status]} | {_why(each)} |" for each in material[:most]]
    more = [f"{len(material) - most} more files stand in the result of the run alone."] if len(material) > most else []
    return [f"## {heading}", "\n".join(["| file | reviewed | |", "|---|---|---|", *rows]), *more]


def _why(each: Covered) -> str:
    if each.status == "left_out":
        return f"pattern {code_in_cell(each.pattern)}" if each.pattern else _REASONS.get(str(each.reason), "not taken")
    if each.status == "whole":
        return f"by {len(each.tasks)} task{'s' if len(each.tasks) > 1 else ''}"
    said = [f"by {', '.join(each.tasks)}"] if each.tasks else []
    said += [f"cut in {', '.join(each.cut)}"] if each.cut else []
    return "; ".join([*said, *([f"not by {', '.join(each.missing)}"] if each.missing else [])])


def _left_out(review: Reviewed) -> list[str]:
    if not review.suppressed:
        return []
    total = len(review.findings) + len(review.suppressed)
    reasons = reasons_told(reasons_of(review.suppressed))
    return ["## Left out", f"{len(review.suppressed)} of {total} findings: {reasons}."]
