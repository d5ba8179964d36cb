"""What has come of a run's answers beside the newest that was taken: what was turned down, found and settled."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from app.domain.reductions import Grouped
from app.domain.results import Conflict, Gap, RejectedAnswer
from app.domain.reviews import Review
from app.domain.selection import Selection
from app.domain.sifting import Sifting
from app.domain.team_rules import ConflictMethod
from app.domain.text import plain_words

LEFT_OPEN = "None of these: leave it open"
"""What a person may choose who is asked about a conflict: the answer stays as it is."""


FEWEST_WORDS = 3
"""Of a claim without a figure that tells which conflict it belongs to: "yes" may be said in many."""


def claims_alike(one: Conflict, other: Conflict) -> bool:
    """Whether two conflicts name the same tasks with the same words, which are no other conflict's by chance."""
    said = _said_in(one)
    is_telling = all(any(map(str.isdigit, words)) or len(words.split()) >= FEWEST_WORDS for _, words in said)
    return bool(said) and is_telling and said == _said_in(other)


def _said_in(conflict: Conflict) -> set[tuple[str, str]]:
    return {(claim.task, plain_words(claim.claim)) for claim in conflict.claims}


@dataclass(frozen=True, slots=True)
class Settled:
    """A conflict about which a person or a judge was asked, and what they said."""

    topic: str
    claims: tuple[str, ...]
    """What the tasks claim, each once."""
    answer: str
    conflict: Conflict
    """As it was found."""
    method: Literal["human", "judge"] = "human"
    """Who has settled it."""
    confidence: float | None = None
    """How sure the judge is."""


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
    """What people have answered to them, and what judges have decided."""
    tried: frozenset[tuple[ConflictMethod, str]] = frozenset()
    """The methods that were tried on conflicts, or given up: each once for each conflict."""
    sittings: int = 0
    """Calls of the judge that have come to something."""
    ties: Mapping[str, str] = field(default_factory=dict)
    """The tasks that are to decide conflicts, by these."""
    untied: frozenset[str] = frozenset()
    """Conflicts on which tie-break was given up, or brought nothing."""
    waiting: frozenset[str] = frozenset()
    """Those of the questions that are open. No other answer is begun until none is."""
    is_overtaken: bool = False
    """Whether a person or a judge has settled a conflict since the newest answer: another is to be made."""
    round: int = 1
    """The round of work that the run is in."""
    later: frozenset[str] = frozenset()
    """Ids of the tasks that rounds after the first have brought."""
    selections: tuple[Selection, ...] = ()
    """What was chosen among results, or could not be, each time that it was asked for."""
    unchosen: str | None = None
    """Why the newest of these choices could not be had, for programs."""
    round_from: int = 0
    """The place of its first task among all that the run has had."""
    gaps: Mapping[str, Gap] = field(default_factory=dict)
    """What tasks that delivered nothing leave open, by their ids, and which others are to close it."""
    reviews: tuple[Review, ...] = ()
    """What a critic has said of the answers so far."""
    sifting: Sifting = field(default_factory=Sifting)
    """What has become of the findings that workers reported."""
    reductions: Mapping[int, Grouped] = field(default_factory=dict)
    """What became of each group of results that was to be put together, by its number."""
    rests_on: tuple[int, ...] = ()
    """The groups that the newest answer rests on, by their numbers."""
    shortened: tuple[str, ...] = ()
    """Ids of the tasks whose results were shown in short for that answer, without anybody's having failed."""
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

    @property
    def is_overruled(self) -> bool:
        """Whether a judge has settled something since the newest answer, and nobody has to be waited for."""
        return self.is_overtaken and self.settled[-1].method == "judge"

    def conflict(self, name: str) -> Conflict | None:
        """The conflict of that id."""
        return next((conflict for conflict in self.found if conflict.id == name), None)

    def same_as(self, conflict: Conflict) -> Conflict | None:
        """The same conflict as it was found before: also in other words, where the task that is to decide it claims."""
        key, broken = self._key_of(conflict), self.broken_by(claim.task for claim in conflict.claims)
        same = [found for found in self.found if self._key_of(found) == key]
        return next(iter([*same, *(found for found in self.found if found.id in broken)]), None)

    def reworded(self, conflict: Conflict, but: Collection[str]) -> Conflict | None:
        """One that was found before with the very same claims under another topic, `but` for some ids."""
        return next((found for found in self.found if found.id not in but and claims_alike(found, conflict)), None)

    def broken_by(self, tasks: Iterable[str]) -> set[str]:
        """The conflicts that some of these tasks are to decide."""
        names = set(tasks)
        return {conflict for conflict, task in self.ties.items() if task in names}

    def _key_of(self, conflict: Conflict) -> tuple[str, frozenset[str]]:
        """What makes two conflicts the same: their topic, and whose claims they were about."""
        tasks = {claim.task for claim in conflict.claims} - {*self.ties.values()}
        return plain_words(conflict.topic), frozenset(tasks)
