"""What has come of a run's answers beside the newest that was taken: what was turned down, found and settled."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from app.domain.reductions import Grouped
from app.domain.results import Conflict, Gap, RejectedAnswer, Review
from app.domain.text import plain_words

LEFT_OPEN = "None of these: leave it open"
"""What a person may choose who is asked about a conflict: the answer stays as it is."""


@dataclass(frozen=True, slots=True)
class Settled:
    """A conflict about which a person was asked, and what that person said."""

    topic: str
    claims: tuple[str, ...]
    """What the tasks claim, each once."""
    answer: str
    conflict: Conflict
    """As it was found."""


@dataclass(frozen=True)
class Answering:
    """What has come of a run's answers."""

    rejected: RejectedAnswer | None = None
    """The best of those that were turned down since the last one was taken: which had the fewest faults."""
    found: tuple[Conflict, ...] = ()
    """Every conflict that the log tells of, in the order in which they were found."""
    asked: tuple[tuple[str, str], ...] = ()
    """Questions to people about conflicts: the id of each, and that of its conflict."""
    settled: tuple[Settled, ...] = ()
    """What people have answered to them."""
    waiting: frozenset[str] = frozenset()
    """Those of the questions that are open. No other answer is begun until none is."""
    is_overtaken: bool = False
    """Whether a person has settled a conflict since the newest answer: another is to be made."""
    round: int = 1
    """The round of work that the run is in."""
    gaps: Mapping[str, Gap] = field(default_factory=dict)
    """What tasks that delivered nothing leave open, by their ids, and which others are to close it."""
    reviews: tuple[Review, ...] = ()
    """What a critic has said of the answers so far."""
    reductions: Mapping[int, Grouped] = field(default_factory=dict)
    """What became of each group of results that was to be put together, by its number."""
    rests_on: tuple[int, ...] = ()
    """The groups that the newest answer rests on, by their numbers."""
    is_reviewed: bool = False
    """Whether it has said something of the newest answer."""

    def is_refused(self, revisions: int) -> bool:
        """Whether the newest answer is to be revised, since the critic does not accept it, which is done so often."""
        is_unaccepted = self.is_reviewed and self.reviews[-1].verdict == "needs_revision"
        return is_unaccepted and len(self.reviews) <= revisions

    @property
    def closed(self) -> list[Gap]:
        """The gaps that others were to close: their own tasks have left the plan."""
        return [gap for gap in self.gaps.values() if gap.redispatched_as is not None]

    def conflict(self, name: str) -> Conflict | None:
        """The conflict of that id."""
        return next((conflict for conflict in self.found if conflict.id == name), None)

    def same_as(self, conflict: Conflict) -> Conflict | None:
        """The same conflict as it was found before."""
        return next((found for found in self.found if key_of(found) == key_of(conflict)), None)


def key_of(conflict: Conflict) -> tuple[str, frozenset[str]]:
    """What makes two conflicts the same: their topic, and whose claims they are about."""
    return plain_words(conflict.topic), frozenset(claim.task for claim in conflict.claims)
