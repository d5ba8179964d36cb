"""What has become of a run's findings so far, from their reports to the ones that the answer tells of."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from app.domain.findings import Finding, SecondLook, Suppressed, SuppressReason, by_rank, suppressed
from app.domain.values import changed


@dataclass(frozen=True)
class Sifting:
    """The findings of a run."""

    tasks: frozenset[str] = frozenset()
    """The tasks whose findings have been placed."""
    reported: int = 0
    """How many these have reported: the next one gets the next number."""
    findings: Mapping[str, Finding] = field(default_factory=dict)
    """Those that are at their place, each once, by their ids."""
    dropped: tuple[Suppressed, ...] = ()
    """Those that are at no place, and the duplicates."""
    looks: Mapping[str, SecondLook] = field(default_factory=dict)
    """Those that a verifier is to look at, or has."""
    below: frozenset[str] = frozenset()
    """Those below the threshold, as of the newest time that they were filtered."""
    order: tuple[str, ...] | None = None
    """What was left then, the most important first; None before that."""
    is_settled: bool = True
    """Whether nothing has come since that would change it."""
    threshold: int = 0
    """What they were filtered by."""

    @property
    def left(self) -> Sequence[Finding]:
        """The findings that the answer tells of, ranked; before they are, all that may be among them."""
        if self.order is not None and self.is_settled:
            return [self.findings[name] for name in self.order]
        return [each for each in self.findings.values() if each.verdict != "refuted"]

    @property
    def suppressed(self) -> Sequence[Suppressed]:
        """The others with the reason, by their numbers."""
        refuted = (
            suppressed(each, "refuted", each.note) for each in self.findings.values() if each.verdict == "refuted"
        )
        said = f"Its confidence is below {self.threshold}."
        below = (suppressed(self.findings[name], "below_threshold", said) for name in self.below)
        return sorted([*self.dropped, *refuted, *below], key=lambda each: each.number)

    @property
    def due(self) -> Sequence[SecondLook]:
        """The second looks that have come to nothing yet."""
        return [look for name, look in self.looks.items() if self.findings[name].verdict is None]


def reasons_of(suppressed: Sequence[Suppressed]) -> dict[SuppressReason, int]:
    """How many were left out for each reason."""
    reasons = sorted(each.reason for each in suppressed)
    return {reason: reasons.count(reason) for reason in dict.fromkeys(reasons)}


def filtered(sifting: Sifting, threshold: int) -> Sifting:
    """The findings as they are left by that threshold, ranked."""
    standing = [each for each in sifting.findings.values() if each.verdict != "refuted"]
    left = sorted((each for each in standing if each.confidence >= threshold), key=by_rank)
    below = frozenset(each.id for each in standing if each.confidence < threshold)
    order = tuple(each.id for each in left)
    return changed(sifting, below=below, order=order, threshold=threshold, is_settled=True)


def findings_told(sifting: Sifting) -> dict[str, Any]:
    """The findings as the result of a run has them: those that are left, and the others with the reason.

    Where a run has ended between a later report and its last step, that step is taken here.
    """
    sifting = _as_ended(sifting)
    return {
        "findings": [each.model_dump(mode="json") for each in sifting.left],
        "suppressed": [each.model_dump(mode="json") for each in sifting.suppressed],
    }


def _as_ended(sifting: Sifting) -> Sifting:
    return sifting if sifting.is_settled else filtered(sifting, sifting.threshold)


def said_of_suppressed(sifting: Sifting) -> str | None:
    """How many findings were left out and why, in a sentence; None where none was."""
    if sifting.order is None or not (gone := _as_ended(sifting).suppressed):
        return None
    reasons = reasons_told(reasons_of(gone))
    return f"Left out: {len(gone)} of {sifting.reported} findings ({reasons}). The data have them, with the reasons."


def reasons_told(reasons: Mapping[SuppressReason, int]) -> str:
    """These counts in words."""
    return ", ".join(f"{count} {_IN_WORDS[reason]}" for reason, count in reasons.items())


_IN_WORDS: Mapping[SuppressReason, str] = {
    "below_threshold": "not sure enough",
    "not_at_location": "not at the place they name",
    "refuted": "refuted by a second look",
    "duplicate": "the same as another",
}
