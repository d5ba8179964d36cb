"""What stands around the place of a finding, for a second look."""

from collections.abc import Iterator, Mapping

from app.domain.findings import Finding, Location, SecondLook
from app.domain.placing import Lines, Source
from app.domain.text import shorten

LINES_AROUND = 20
LINE_CHARACTERS = 300
AROUND_CHARACTERS = 6_000
CHANGE_CHARACTERS = 4_000


def look_at(finding: Finding, sources: Mapping[str, Source]) -> SecondLook:
    """What stands around a finding that is placed; of a document that cannot be read again, the evidence alone."""
    place = finding.location
    source = sources[place.input]
    if source.fault is not None:
        return SecondLook(id=finding.id, lines=shorten(finding.evidence, AROUND_CHARACTERS)[0], change="")
    for file in source.files_at(place.path):
        for text in file.sides:
            if text.side == place.side and place.line in text.lines:
                change = shorten(file.change, CHANGE_CHARACTERS)[0]
                around = _around_in_document(text, place) if text.is_document else _around(text, place)
                return SecondLook(id=finding.id, lines=around, change=change)
    raise ValueError(f"{finding.id} is at no place")


def _around(text: Lines, place: Location) -> str:
    shown = (
        _shown(text, place, number, line[:LINE_CHARACTERS])
        for number in _numbers_around(place)
        if (line := text.lines.get(number)) is not None
    )
    return shorten("\n".join(shown), AROUND_CHARACTERS)[0]


def _around_in_document(text: Lines, place: Location) -> str:
    """The lines of the place in full, and of those around it the nearest that there is room for: a line of a document
    may be a paragraph."""
    shown: dict[int, str] = {}
    room = AROUND_CHARACTERS
    for number in _nearest_first(place):
        line = text.lines.get(number)
        if line is None:
            continue
        told = _shown(text, place, number, line)
        room -= len(told) + 1
        if room < 0 and not place.line <= number <= place.end_line:
            break
        shown[number] = told
    return shorten("\n".join(shown[number] for number in sorted(shown)), AROUND_CHARACTERS)[0]


def _numbers_around(place: Location) -> range:
    return range(place.line - LINES_AROUND, min(place.end_line, place.line + LINES_AROUND) + LINES_AROUND + 1)


def _nearest_first(place: Location) -> Iterator[int]:
    around = _numbers_around(place)
    return iter(sorted(around, key=lambda number: max(place.line - number, number - place.end_line, 0)))


def _shown(text: Lines, place: Location, number: int, line: str) -> str:
    return f"{_mark(text, place, number)} {number}: {line}"


def _mark(text: Lines, place: Location, number: int) -> str:
    changed = ("+" if text.side == "new" else "-") if number in text.touched else " "
    return f"{'>' if place.line <= number <= place.end_line else ' '}{changed}"
