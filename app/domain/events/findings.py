"""What becomes of findings between the reports of workers and the answer. Each step tells its outcome, so that the log
is read the same whatever the rules are later, and without the inputs."""

from pydantic import Field

from app.domain.events.fact import Fact, Rejected
from app.domain.findings import Confidence, Finding, FindingVerdict, SecondLook, Severity, Suppressed
from app.domain.merging import Merge


class FindingsPlaced(Fact):
    """It was looked whether findings are where they say: the input, the file and the line exist, and the evidence
    stands there."""

    type = "findings.placed"

    tasks: tuple[str, ...]
    """Ids of the tasks that reported them."""
    reported: int
    """How many these reported."""
    placed: int
    """How many of them have a place."""
    moved: tuple[str, ...] = ()
    """Ids of those whose evidence stands elsewhere in the file, once: that is their place now."""
    findings: tuple[Finding, ...] = ()
    """Those that have a place, at it."""
    dropped: tuple[Suppressed, ...] = ()
    """Those that have none, and why."""


class FindingsMerged(Fact):
    """Findings that make the same point at the same place are one."""

    type = "findings.merged"

    left: int
    """How many findings there are now, each once."""
    duplicates: int
    """How many have turned out to be the same as another."""
    merges: tuple[Merge, ...] = ()
    """The findings that stand for others from now on, and what that has changed about them."""
    looks: tuple[SecondLook, ...] = ()
    """Those that a verifier is to look at, the most important first, with what stands around them."""
    unlooked: tuple[str, ...] = ()
    """Ids of those that deserve a second look, and get none: the team allows no more. They stay `unverified`."""


class FindingVerified(Fact):
    """A second look at a finding has come to something, or cannot be had."""

    type = "finding.verified"

    id: str
    """Id of the finding."""
    number: int
    """The same as a number."""
    verdict: FindingVerdict
    """What it has come to."""
    confidence: Confidence | None = None
    """The verifier's; null when there is none."""
    severity: Severity | None = None
    """As the verifier corrects it; null where it stays."""
    message: str | None = None
    """As the verifier corrects it; null where it stays."""
    suggestion: str | None = None
    """As the verifier corrects it; null where it stays."""
    reason: str = ""
    """Why, in the words of the verifier; or why there was no second look, for programs: the error code of its
    conversation, `timeout` or `budget`."""


class VerificationRejected(Rejected):
    """The verifier's reply does not fit what was asked of it."""

    type = "verification.rejected"

    number: int
    """The number of the finding."""


class FindingsFiltered(Fact):
    """Findings that were refuted, or are not sure enough for the team, are left out."""

    type = "findings.filtered"

    threshold: int
    """The confidence that a finding must have."""
    left: int
    """How many findings are left."""
    below: tuple[str, ...] = ()
    """Ids of those below the threshold."""
    refuted: tuple[str, ...] = ()
    """Ids of those that were refuted."""
    unverified: tuple[str, ...] = ()
    """Ids of those of which a second look was due and could not be had."""


class FindingsRanked(Fact):
    """The findings that are left, in the order in which the answer has them."""

    type = "findings.ranked"

    order: tuple[str, ...]
    """Their ids: the gravest first, of the same gravity the surest, then by their places."""
    counts: dict[str, int] = Field(default_factory=dict)
    """How many there are of each severity."""
