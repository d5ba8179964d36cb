"""Whether findings are where they say: the input, the file and the line exist, and the evidence stands there.

Evidence and lines are compared word by word: a run of white space counts as one space, and ends of lines and blank
lines as white space. In a diff the marks before the lines (`+`, `-`) may have been copied along. Lines that a hunk does
not show stand between others that it does: evidence never reaches across them. The marks of pages and paragraphs in the
text of a document count for nothing, and so does its typography.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from app.domain.diffs import FileDiff, is_diff, read_diff
from app.domain.document_marks import as_compared, goes_on
from app.domain.errors import DiffUnreadable
from app.domain.findings import Finding, Location, Side, Suppressed, suppressed
from app.domain.job import JobInput
from app.domain.lines import lines_of
from app.domain.media_types import kind_of_bytes
from app.domain.text import shorten

EVIDENCE_LETTERS = 3
"""Letters and digits that evidence has at least: what is shorter stands nearly everywhere."""


class Lines:
    """One side of one file, by number, to find evidence in."""

    def __init__(
        self,
        side: Side,
        lines: Mapping[int, str],
        touched: Iterable[int] = (),
        *,
        continued: Iterable[int] = (),
        is_document: bool = False,
    ) -> None:
        """`continued`: the lines that go on with the one before, in the middle of a word maybe."""
        self.side = side
        self.lines = lines
        self.is_document = is_document
        """Whether they are the text of a document, with marks in it."""
        self.touched = frozenset(touched)
        self._starts: list[int] = []
        self._numbers: list[int] = []
        parts: list[str] = []
        unbroken = frozenset(continued)
        at, last = 0, 0
        for number, line in lines.items():
            words = as_compared(line) if is_document else " ".join(line.split())
            if words:
                between = " " if number == last + 1 else "\n"
                if number in unbroken and not (line[0].isspace() or lines[number - 1][-1].isspace()):
                    between = ""
                if is_document and parts and goes_on(parts[-1], words):
                    parts[-1], at, between = parts[-1][:-1], at - 1, ""
                parts.append(f"{between}{words}")
                self._starts.append(at + len(between))
                self._numbers.append(number)
                at += len(between) + len(words)
                last = number
            elif number == last + 1:
                last = number
        self._words = "".join(parts)

    def within(self, words: str, first: int, last: int) -> tuple[int, int] | None:
        """Where these words begin between two lines: the first and the last line of theirs."""
        place = self._next(words, bisect_left(self._numbers, first))
        return place if place is not None and place[0] <= last else None

    def places_of(self, words: str) -> Iterator[tuple[int, int]]:
        """Where they stand, one place for each line that they begin in."""
        place = self._next(words, 0)
        while place is not None:
            yield place
            place = self._next(words, bisect_right(self._numbers, place[0]))

    def _next(self, words: str, index: int) -> tuple[int, int] | None:
        """The next place from a line on, by its place among those that are not blank."""
        if index >= len(self._starts):
            return None
        at = self._words.find(words, self._starts[index])
        return None if at < 0 else (self._line_at(at), self._line_at(at + len(words) - 1))

    def _line_at(self, place: int) -> int:
        return self._numbers[bisect_right(self._starts, place) - 1]


@dataclass(frozen=True, slots=True)
class File:
    """A file of a diff, or a whole input that is none."""

    path: str | None
    sides: tuple[Lines, ...]
    change: str = ""
    """The diff's part about it."""


@dataclass(frozen=True, slots=True)
class Source:
    """An input as findings point into it."""

    files: Mapping[str, Sequence[File]]
    """By the paths under which they may be named; of several commits in one diff each."""
    fault: str | None = None
    """Why nothing can be placed in it."""

    def files_at(self, path: str | None) -> Sequence[File]:
        """Those of that path, also with the letter that git writes before it."""
        named = path or ""
        bare = named[2:] if named.startswith(("a/", "b/")) else named
        return self.files.get(named) or self.files.get(bare) or ()


def source_of(given: JobInput, read: str | None = None) -> Source:
    """An input, read as what it is. Lines of a text have the numbers that they have for whoever reads it.

    `read` is the text of a document, where it has one.
    """
    kind = kind_of_bytes(given.media_type, given.content)
    if kind and read is None:
        return Source({}, f"{given.name} is a {kind}: places in it are not looked up.")
    if kind or not is_diff(given.name, given.media_type):
        text = lines_of(given.content if read is None else read)
        lines = dict(enumerate(text.from_line(1), 1))
        whole = (File(None, (Lines("new", lines, continued=text.continued, is_document=bool(kind)),)),)
        return Source({"": whole, given.name: whole})
    try:
        changed = read_diff(given.content)
    except DiffUnreadable as error:
        return Source({}, f"{given.name} cannot be read as a diff. {error}")
    files: dict[str, list[File]] = {}
    for each in changed:
        files.setdefault(each.path, []).append(_file(each))
    for each in changed:
        if each.kind == "renamed" and each.old_path is not None and each.old_path not in files:
            files[each.old_path] = files[each.path]
    return Source(files)


def _file(each: FileDiff) -> File:
    sides = Lines("new", each.lines, each.touched), Lines("old", each.removed_lines, each.removed_lines)
    return File(each.path, sides, each.text)


def placed(finding: Finding, sources: Mapping[str, Source]) -> Finding | Suppressed:
    """The finding at its place. Where the evidence stands once elsewhere in the file, that is its place."""
    said = finding.location
    source = sources.get(said.input)
    if source is None:
        return suppressed(finding, "not_at_location", f"The job has no input named {shorten(said.input, 200)[0]}.")
    if source.fault is not None:
        return suppressed(finding, "not_at_location", source.fault)
    files = source.files_at(said.path)
    if not files:
        return suppressed(finding, "not_at_location", f"{said.input} has no file {shorten(said.path or '', 200)[0]!r}.")
    if sum(letter.isalnum() for letter in finding.evidence) < EVIDENCE_LETTERS:
        why = f"The evidence has fewer than {EVIDENCE_LETTERS} letters or digits: it could stand anywhere."
        return suppressed(finding, "not_at_location", why)
    if (here := next(_places(finding.evidence, files, said), None)) is not None:
        return finding.model_copy(update={"location": here.widened(said)})
    found = [*islice(_places(finding.evidence, files), 2)]
    if len(found) == 1:
        return finding.model_copy(update={"location": found[0].location(said.input)})
    where = "more than once in that file, and not at the lines that are named" if found else "nowhere in that file"
    return suppressed(finding, "not_at_location", f"The evidence stands {where}.")


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a piece of evidence stands."""

    path: str | None
    text: Lines
    line: int
    end_line: int

    def location(self, name: str) -> Location:
        return Location(input=name, path=self.path, line=self.line, end_line=self.end_line, side=self.text.side)

    def widened(self, said: Location) -> Location:
        """The lines as the worker named them, as far as there are such."""
        lines = self.text.lines
        line = said.line if said.line in lines else self.line
        end_line = said.end_line if said.end_line in lines else self.end_line
        place = self.location(said.input)
        return place.model_copy(update={"line": line, "end_line": max(end_line, self.end_line)})


def _places(evidence: str, files: Sequence[File], said: Location | None = None) -> Iterator[_Place]:
    """Where the evidence stands, each place once: among the lines that are `said`, or anywhere.

    It is looked for on the new side, and on the old one where it does not stand there.
    """
    for side in ("new", "old"):
        found: set[tuple[str | None, int]] = set()
        for path, text in ((each.path, text) for each in files for text in each.sides if text.side == side):
            for words in _spellings(evidence, text, in_diff=path is not None):
                for line, end_line in _places_in(text, words, said):
                    if (path, line) not in found:
                        found.add((path, line))
                        yield _Place(path, text, line, end_line)
        if found:
            return


def _places_in(text: Lines, words: str, said: Location | None) -> Iterable[tuple[int, int]]:
    if said is None:
        return text.places_of(words)
    place = text.within(words, said.line, said.end_line)
    return () if place is None else (place,)


def begins_at(evidence: str, text: Lines, first: int, last: int) -> int | None:
    """The line between two of a file of a diff that evidence begins in; None where it does not."""
    places = (text.within(words, first, last) for words in _spellings(evidence, text, in_diff=True))
    return next((place[0] for place in places if place is not None), None)


def _spellings(evidence: str, text: Lines, *, in_diff: bool) -> list[str]:
    """The evidence as words: as it stands, and without the marks of a diff, of both sides or of this one alone."""
    if text.is_document:
        return [words] if (words := as_compared(evidence)) else []
    lines = [line for line in evidence.splitlines() if line.strip()]
    spelled = [" ".join(evidence.split())]
    if in_diff and any(line.startswith(("+", "-")) for line in lines):
        other = "-" if text.side == "new" else "+"
        spelled.append(_unmarked(lines))
        spelled.append(_unmarked([line for line in lines if not line.startswith(other)]))
    return [words for words in dict.fromkeys(spelled) if words]


def _unmarked(lines: Iterable[str]) -> str:
    return " ".join(" ".join(line[1:] if line.startswith(("+", "-")) else line for line in lines).split())
