"""Findings: what workers found in what they were given, each at its place, and what becomes of it."""

from collections.abc import Iterable
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints, model_validator

from app.domain.lines import HIGHEST_LINE
from app.domain.text import shorten

Severity = Literal["critical", "warning", "info"]
Side = Literal["new", "old"]
FindingVerdict = Literal["confirmed", "corrected", "refuted", "unverified"]
SuppressReason = Literal["below_threshold", "not_at_location", "refuted", "duplicate"]

SEVERITIES: tuple[Severity, ...] = ("critical", "warning", "info")
"""The gravest first."""
FINDINGS_ALLOWED = 200
"""In one report."""
MESSAGE_CHARACTERS = 2_000
SUGGESTION_CHARACTERS = 4_000
EVIDENCE_CHARACTERS = 4_000
CATEGORY_CHARACTERS = 100
NAME_CHARACTERS = 1_000

Confidence = Annotated[int, Field(ge=0, le=100)]
Line = Annotated[int, Field(ge=1, le=HIGHEST_LINE)]


class _Value(BaseModel):
    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)


class Location(_Value):
    """A place in an input of the job."""

    input: str
    """Name of the input."""
    path: str | None = None
    """Of an input that is a diff: the file. Null for other inputs."""
    line: int
    """The first line, from 1: of the file as it is after the change where the input is a diff, else of the input."""
    end_line: int
    """The last line."""
    side: Side = "new"
    """`old` for lines that the diff removes: they are numbered as the file was before."""

    @property
    def file_name(self) -> str:
        """What its file is called: of an input that is no diff, that is the name of the input."""
        return self.path or self.input

    @property
    def file(self) -> tuple[str, str | None, Side]:
        """Which text the lines are of."""
        return self.input, self.path, self.side


class Finding(_Value):
    """What a worker found at one place, as far as it has been looked at."""

    id: str
    """Its id in the run: `f1`, `f2` and so on. It never changes."""
    severity: Severity
    """How grave it is."""
    category: str
    """What kind of point it is, in the words of the worker."""
    message: str
    """What is the matter, for people."""
    location: Location
    """Where."""
    evidence: str
    """What stands there, word for word."""
    suggestion: str = ""
    """What could be done about it; empty when the worker did not say."""
    confidence: int
    """0 to 100, how sure it is: of the worker, raised where others agree, or of the verifier."""
    tasks: tuple[str, ...]
    """Ids of the tasks that found it."""
    verdict: FindingVerdict | None = None
    """What a second look has come to; `unverified` where one was due and could not be had; null where none was due."""
    note: str = ""
    """Why, in the words of the verifier, or why there is no verdict."""

    @property
    def number(self) -> int:
        """Its id as a number."""
        return int(self.id.removeprefix("f"))

    @property
    def is_verified(self) -> bool:
        """Whether a second look has come to a verdict."""
        return self.verdict not in (None, "unverified")


class Suppressed(Finding):
    """A finding that the answer does not tell of, and why not."""

    reason: SuppressReason
    """Why not, for programs: below the threshold of the team, not at the place that it names, refuted by a second look,
    or the same as another."""
    detail: str = ""
    """The same for people."""
    duplicate_of: str | None = None
    """Id of the finding that it is a duplicate of; null for other reasons."""


def suppressed(finding: Finding, reason: SuppressReason, detail: str = "", of: str | None = None) -> Suppressed:
    """The finding as one that is left out."""
    return Suppressed(**finding.model_dump(), reason=reason, detail=detail, duplicate_of=of)


class SecondLook(_Value):
    """A finding that a verifier is to look at, with what stands around its place."""

    id: str
    """Id of the finding."""
    lines: str
    """The lines around it, numbered."""
    change: str = ""
    """Where the input is a diff: its part about the file."""


def _within(limit: int) -> BeforeValidator:
    def cut(text: object) -> object:
        return shorten(text, limit)[0] if isinstance(text, str) else "" if text is None else text

    return BeforeValidator(cut)


Named = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=NAME_CHARACTERS)]


class _Reported(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


class ReportedLocation(_Reported):
    """A place as a worker names it; nobody has looked yet whether there is one."""

    input: Named
    path: Annotated[str, StringConstraints(strip_whitespace=True, max_length=NAME_CHARACTERS)] | None = None
    line: Line
    end_line: Line | None = None

    @model_validator(mode="after")
    def _runs_forward(self) -> "ReportedLocation":
        if self.end_line is not None and self.end_line < self.line:
            raise ValueError("end_line comes before line")
        return self


class ReportedFinding(_Reported):
    """A finding as a worker reports it."""

    severity: Severity
    category: Annotated[str, _within(CATEGORY_CHARACTERS)] = ""
    message: Annotated[str, _within(MESSAGE_CHARACTERS), StringConstraints(strip_whitespace=True, min_length=1)]
    location: ReportedLocation
    evidence: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=EVIDENCE_CHARACTERS)]
    suggestion: Annotated[str, _within(SUGGESTION_CHARACTERS)] = ""
    confidence: Confidence

    def numbered(self, number: int, task: str) -> Finding:
        """As the run knows it from then on."""
        place = self.location
        return Finding(
            id=f"f{number}",
            severity=self.severity,
            category=self.category,
            message=self.message,
            location=Location(
                input=place.input, path=place.path or None, line=place.line, end_line=place.end_line or place.line
            ),
            evidence=self.evidence,
            suggestion=self.suggestion,
            confidence=self.confidence,
            tasks=(task,),
        )


class ReportedFindings(_Reported):
    """The data of a report whose worker reports findings."""

    findings: Annotated[tuple[ReportedFinding, ...], Field(max_length=FINDINGS_ALLOWED)]


def by_rank(finding: Finding) -> tuple[int, int, str, str, int, int]:
    """What findings are ordered by: the gravest first, then the surest, then by their places."""
    place = finding.location
    grave = SEVERITIES.index(finding.severity)
    return grave, -finding.confidence, place.input, place.path or "", place.line, finding.number


def counted(findings: Iterable[Finding]) -> dict[str, int]:
    """How many there are of each severity."""
    graveness = [each.severity for each in findings]
    return {severity: graveness.count(severity) for severity in SEVERITIES}
