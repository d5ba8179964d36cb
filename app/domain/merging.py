"""Which findings are one: the same point at the same place, whoever made it; and which deserve a second look."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice

from pydantic import BaseModel, ConfigDict

from app.domain.findings import SEVERITIES, Finding, by_rank
from app.domain.likeness import Sketch, likeness, sketch_of
from app.domain.text import plain_words

LINES_COMPARED = 200
"""Of a place that is longer: its first ones."""
MOST_COMPARED = 100
"""Others at its place that a finding is compared with."""
ALIKE = 0.4
"""Likeness of two messages from which they make the same point."""
WORDS_SHARED = 0.5
"""The part of the shorter message's telling words from which they do."""
FEWEST_SHARED = 2
STEM = 5
"""Letters by which two forms of a word are one."""
AGREEMENT = 10
"""What each further lens that has found the same adds to a confidence."""
DOUBTFUL_POINTS = 20
"""How far below the threshold a finding may be and still get a second look."""


class Merge(BaseModel):
    """A finding that others turned out to be the same as."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)

    id: str
    """Id of the finding that is left."""
    duplicates: tuple[str, ...]
    """Ids of those that it stands for from now on."""
    tasks: tuple[str, ...]
    """Ids of all the tasks that found it."""
    severity: str
    """The gravest that one of them gave it; as it was, of one that a verifier has looked at."""
    confidence: int
    """The highest of theirs, raised by 10 for each further worker that has found it on its own; at most 100. As it was,
    of one that a verifier has looked at."""


@dataclass(frozen=True, slots=True)
class _Point:
    finding: Finding
    words: frozenset[str]
    sketch: Sketch


def merged(findings: Sequence[Finding], lens_of: Callable[[str], str]) -> list[Merge]:
    """What is one among findings that are placed: the one with the lowest number stands for the others.

    `lens_of` says by the id of a task who looked: several tasks of one worker are one opinion.
    """
    groups: list[list[_Point]] = []
    beginning: dict[tuple[object, int], list[list[_Point]]] = {}
    covering: dict[tuple[object, int], list[list[_Point]]] = {}
    for finding in sorted(findings, key=lambda each: each.number):
        point, place = _Point(finding, _telling(finding.message), sketch_of(finding.message)), finding.location
        first, *further = ((place.file, line) for line in _reach(finding))
        # Each group once: those that have the first line, and those that begin behind it.
        near = chain(covering.get(first, ()), *(beginning.get(line, ()) for line in further))
        same = next((group for group in islice(near, MOST_COMPARED) if _is_same(group[0], point)), None)
        if same is None:
            groups.append(same := [])
            beginning.setdefault(first, []).append(same)
            for line in (first, *further):
                covering.setdefault(line, []).append(same)
        same.append(point)
    return [_merge([point.finding for point in group], lens_of) for group in groups if len(group) > 1]


def _merge(group: Sequence[Finding], lens_of: Callable[[str], str]) -> Merge:
    first, *others = group
    tasks = tuple(dict.fromkeys(task for each in group for task in each.tasks))
    lenses = {lens_of(task) for task in tasks} - {lens_of(task) for task in first.tasks}
    severity, confidence = first.severity, first.confidence
    if not first.is_verified:
        severity = min((each.severity for each in group), key=SEVERITIES.index)
        confidence = min(max(each.confidence for each in group) + AGREEMENT * len(lenses), 100)
    duplicates = tuple(each.id for each in others)
    return Merge(id=first.id, duplicates=duplicates, tasks=tasks, severity=severity, confidence=confidence)


def _reach(finding: Finding) -> range:
    """The lines that are its place: two that share one are at the same."""
    place = finding.location
    return range(place.line, min(place.end_line, place.line + LINES_COMPARED) + 1)


def _is_same(one: _Point, other: _Point) -> bool:
    if likeness(one.sketch, other.sketch) >= ALIKE:
        return True
    shared, fewer = len(one.words & other.words), min(len(one.words), len(other.words))
    return shared >= FEWEST_SHARED and shared >= WORDS_SHARED * fewer


def _telling(message: str) -> frozenset[str]:
    """The words that say what it is about: those of more than three letters, without their endings."""
    return frozenset(word[:STEM] for word in plain_words(message).split() if len(word) > 3)


def worth_a_look(findings: Iterable[Finding], threshold: int) -> list[Finding]:
    """Those that a verifier should see, the most important first: critical ones, and those just below the threshold."""
    doubtful = range(threshold - DOUBTFUL_POINTS, threshold)
    return sorted(
        (each for each in findings if each.severity == "critical" or each.confidence in doubtful), key=by_rank
    )


def stands_for(merge: Merge, findings: Mapping[str, Finding]) -> Finding:
    """The finding that is left of several."""
    update = {"tasks": merge.tasks, "severity": merge.severity, "confidence": merge.confidence}
    return findings[merge.id].model_copy(update=update)
