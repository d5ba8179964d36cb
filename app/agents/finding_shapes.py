"""The schemas of findings that models are held to."""

from app.agents.shapes import INTEGER, TEXT, Schema, closed, listed, one_of, or_null
from app.domain.findings import SEVERITIES

_LOCATION = closed(input=TEXT, path=or_null(TEXT), line=INTEGER, end_line=INTEGER)
_FINDING = closed(
    severity=one_of(SEVERITIES),
    category=TEXT,
    message=TEXT,
    location=_LOCATION,
    evidence=TEXT,
    suggestion=TEXT,
    confidence=INTEGER,
)

FINDINGS: Schema = closed(findings=listed(_FINDING))
"""The data of a worker that reports findings."""
VERDICT: Schema = closed(
    reason=TEXT,
    verdict=one_of(["confirmed", "corrected", "refuted"]),
    confidence=INTEGER,
    severity=or_null(one_of(SEVERITIES)),
    message=or_null(TEXT),
    suggestion=or_null(TEXT),
)
"""What a verifier says of one finding."""
