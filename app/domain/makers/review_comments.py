"""`comments.json`: a review as code hosts take it, with a comment at each line that the change shows.

The body of a request to `POST /repos/{owner}/{repo}/pulls/{number}/reviews` at GitHub; others take the same of a
comment: the path, the line, the side of the diff, and the text.
"""

import json
from typing import Any

from app.domain.findings import Finding
from app.domain.makers.markdown import plain
from app.domain.makers.review_markdown import looked_at, of_a_commit, suggested, summary, where
from app.domain.makers.reviewed import Reviewed
from app.domain.makers.room import COMMENTS_BODY_BYTES, COMMENTS_BYTES, COMMENTS_TABLE_BYTES, bytes_of_json

_SIDES = {"new": "RIGHT", "old": "LEFT"}


def review_in_comments(review: Reviewed) -> str:
    """The review; what is at no line of the change, or has no room, stands in its body."""
    comments: list[dict[str, Any]] = []
    others: list[Finding] = []
    room = COMMENTS_BYTES
    for finding in review.findings:
        comment, is_shown = _comment(review, finding), review.is_in_change(finding)
        room -= bytes_of_json(comment, 2) if is_shown else 0
        if room >= 0 and is_shown:
            comments.append(comment)
        else:
            others.append(finding)
    told = {"event": "COMMENT", "body": _body(review, others), "comments": comments}
    return json.dumps(told, ensure_ascii=False, indent=1) + "\n"


def _comment(review: Reviewed, finding: Finding) -> dict[str, Any]:
    place = finding.location
    side, (first, last) = _SIDES[place.side], review.lines_of(finding)
    comment: dict[str, Any] = {"path": place.path, "line": last, "side": side}
    if first < last:
        comment |= {"start_line": first, "start_side": side}
    said = f"**{finding.severity.capitalize()}:** {plain(finding.message)}"
    return comment | {"body": "\n\n".join([said, *suggested(finding), f"*{finding.id}, {finding.confidence} of 100*"])}


def _body(review: Reviewed, others: list[Finding]) -> str:
    parts = [summary(review.findings)]
    room = COMMENTS_BODY_BYTES
    for number, finding in enumerate(others):
        told = f"- **{finding.severity.capitalize()}**, {where(finding)}{of_a_commit(review, finding)}: "
        told += plain(finding.message)
        room -= bytes_of_json(told)
        if room < 0:
            parts.append(f"{len(others) - number} more findings stand in the data of the run alone.")
            break
        parts.append(told)
    unseen = [each for each in review.material if each.status != "whole"]
    return "\n\n".join([*parts, *looked_at("Not reviewed, or in part", unseen, COMMENTS_TABLE_BYTES)])
