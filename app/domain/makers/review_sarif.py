"""`review.sarif`: a review as SARIF 2.1.0 (OASIS, errata 01), which code hosts and editors read.

What was suppressed is there too, with the reason as its justification. Files that nobody has looked at are
notifications of the run, so that a short list of results is not taken for a clean change.
"""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from app.domain.coverage import Covered
from app.domain.findings import Finding, Severity, Suppressed
from app.domain.makers.reviewed import Reviewed
from app.domain.makers.room import SARIF_NOTES_BYTES, SARIF_RESULTS_BYTES, bytes_of_json, fitting

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
ROOT = "%SRCROOT%"

Json = dict[str, Any]
_LEVELS: Mapping[Severity, str] = {"critical": "error", "warning": "warning", "info": "note"}
_IN_WORDS: Mapping[str, str] = {
    "below_threshold": "Not sure enough.",
    "not_at_location": "Not at the place that it names.",
    "refuted": "Refuted by a second look.",
    "duplicate": "The same as another one.",
}
_NO_LETTER = re.compile(r"[^a-z0-9]+")
_PLACEHOLDER = re.compile(r"\{(\d+)\}")


def review_in_sarif(review: Reviewed) -> str:
    """The review as a SARIF log with one run."""
    results, left = _within(_results(review))
    rules = _rules(results)
    places = {rule["id"]: number for number, rule in enumerate(rules)}
    for result in results:
        result["ruleIndex"] = places[result["ruleId"]]
    notes = [_unseen(each) for each in review.material if each.status in ("part", "missing", "left_out")]
    kept = fitting((bytes_of_json(note, 6) for note in notes), SARIF_NOTES_BYTES)
    notes[kept:] = _more(len(notes) - kept, "files that were not reviewed, or in part, stand in the result")
    notes += _more(left, "results stand in the data")
    looked = all(each.status in ("whole", "left_out") for each in review.material)
    told: Json = {
        "tool": {"driver": {"name": f"Chargehand {review.team}", "rules": rules}},
        "automationDetails": {"id": f"{review.team}/{review.run_id}"},
        "originalUriBaseIds": {
            ROOT: {"description": {"text": "The root of the repository that the change is made in."}}
        },
        "columnKind": "unicodeCodePoints",
        "invocations": [{"executionSuccessful": looked, "toolExecutionNotifications": notes}],
        "results": results,
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [told]}, ensure_ascii=False, indent=1) + "\n"


def _more(left: int, what: str) -> list[Json]:
    """The notification that there are more of something than there is room for."""
    return [{"level": "warning", "message": _message(f"{left} more {what} of the run alone.")}] if left else []


def _within(results: Iterator[Json]) -> tuple[list[Json], int]:
    """As many results as there is room for with their rules, and how many there is none for."""
    kept: list[Json] = []
    rules: set[str] = set()
    room, left = SARIF_RESULTS_BYTES, 0
    for result in results:
        room -= bytes_of_json(result | {"ruleIndex": 10_000}, 4)
        room -= 0 if result["ruleId"] in rules else bytes_of_json(_rules([result]), 6)
        rules.add(result["ruleId"])
        if room < 0:
            left += 1
        else:
            kept.append(result)
    return kept, left


def _results(review: Reviewed) -> Iterator[Json]:
    seen: Counter[str] = Counter()
    for finding in (*review.findings, *review.suppressed):
        place, rule = finding.location, _rule_id(finding)
        words = f"{rule}\n{place.file_name}\n{' '.join(finding.evidence.split())}"
        print_of = hashlib.sha256(words.encode()).hexdigest()[:32]
        seen[print_of] += 1
        told: Json = {
            "ruleId": rule,
            "level": _LEVELS[finding.severity],
            "message": _message("\n\nSuggestion: ".join(filter(None, [finding.message, finding.suggestion]))),
            "locations": _locations(review, finding),
            "partialFingerprints": {"chargehandFinding/v1": f"{print_of}:{seen[print_of]}"},
            "rank": float(finding.confidence),
            "properties": {
                "id": finding.id,
                "lenses": review.lenses(finding.tasks),
                "tasks": list(finding.tasks),
                "verdict": finding.verdict,
                "side": place.side,
                "linesOfOneCommit": review.is_of_one_commit(finding),
            },
        }
        if isinstance(finding, Suppressed):
            why = " ".join(filter(None, [_IN_WORDS[finding.reason], finding.detail]))
            told["suppressions"] = [{"kind": "external", "status": "accepted", "justification": why}]
        yield told


def _rules(results: Sequence[Json]) -> list[Json]:
    levels = {result["ruleId"]: result["level"] for result in reversed(results)}
    return [
        {"id": rule, "shortDescription": {"text": rule.replace("-", " ")}, "defaultConfiguration": {"level": level}}
        for rule, level in sorted(levels.items())
    ]


def _rule_id(finding: Finding) -> str:
    return _NO_LETTER.sub("-", finding.category.casefold()).strip("-") or "finding"


def _locations(review: Reviewed, finding: Finding) -> list[Json]:
    """Where it is in the file after the change; of one at the lines of one of several commits the file alone, and none
    of a finding at no place."""
    place = finding.location
    if isinstance(finding, Suppressed) and finding.reason == "not_at_location":
        return []
    if (line := review.line_after_change(finding)) is None:
        return [{"physicalLocation": {"artifactLocation": _artifact(place.file_name)}}]
    last = line if place.side == "old" else max(place.end_line, line)
    region: Json = {"startLine": line, "endLine": last}
    if place.side == "new":
        region["snippet"] = {"text": finding.evidence}
    return [{"physicalLocation": {"artifactLocation": _artifact(place.file_name), "region": region}}]


def _artifact(name: str) -> Json:
    """A file under the root. Its name is a relative reference (RFC 3986): what is no plain character is written in
    percent, so that no name can look like a scheme, a query or another root."""
    return {"uri": quote(name.lstrip("/") or "-", safe="/"), "uriBaseId": ROOT}


def _unseen(each: Covered) -> Json:
    why = {"part": "Reviewed in part.", "missing": "Not reviewed.", "left_out": "Left out of the review."}[each.status]
    because = each.pattern or each.reason
    missing = f" No result of {', '.join(each.missing)}." if each.missing else ""
    return {
        "level": "note" if each.status == "left_out" else "warning",
        "message": _message(f"{why}{f' Reason: {because}.' if because else ''}{missing}"),
        "locations": [{"physicalLocation": {"artifactLocation": _artifact(each.item)}}],
    }


def _message(text: str) -> Json:
    """Text in which nothing is a link or a placeholder (3.11.5, 3.11.6)."""
    literal = text.replace("\\", "\\\\").replace("[", "\\[").replace("]", "\\]")
    return {"text": _PLACEHOLDER.sub(r"{{\1}}", literal) or "-"}
