"""A review as its files tell it: the findings, the change that they are about, and what was looked at."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from app.domain.coverage import Covered
from app.domain.diffs import FileDiff, is_diff, read_diff
from app.domain.errors import DiffUnreadable
from app.domain.findings import Finding, Location, Suppressed
from app.domain.job import JobInput
from app.domain.material import rows_of_diff
from app.domain.results import Result
from app.domain.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class Reviewed:
    """A review."""

    run_id: str
    team: str
    answer: str | None
    findings: Sequence[Finding]
    """What is left, the gravest first."""
    suppressed: Sequence[Suppressed]
    material: Sequence[Covered]
    workers: Mapping[str, str]
    """Who did each task."""
    change: Mapping[tuple[str, str], Sequence[FileDiff]]
    """The files of the diffs, by input and path."""

    def lenses(self, tasks: Sequence[str]) -> list[str]:
        """The workers behind these tasks, each once."""
        return list(dict.fromkeys(self.workers.get(task, task) for task in tasks))

    def is_in_change(self, place: Location) -> bool:
        """Whether a place is a line that a diff shows."""
        return self._file_at(place) is not None

    def first_line_beside(self, place: Location) -> int:
        """The first of the lines of a place that a diff shows without a gap up to the last one."""
        lines = self._lines_at(place)
        first = place.end_line
        while first > place.line and first - 1 in lines:
            first -= 1
        return first

    def line_after_change(self, place: Location) -> int:
        """The line of the file after the change that a place is at: for a removed line, what stands where it was."""
        file = self._file_at(place)
        if place.side == "new" or file is None:
            return place.line
        old, now = 0, 1
        for number, line in rows_of_diff(file.text.split("\n")):
            if line.startswith("@@"):
                old, now = _begins(line)
            elif number is not None:
                old, now = old + (not line.startswith("+")), number + 1
            elif line.startswith("-") and old:
                if old == place.line:
                    return max(now, 1)
                old += 1
        return place.line

    def _lines_at(self, place: Location) -> Mapping[int, str]:
        file = self._file_at(place)
        return {} if file is None else file.lines if place.side == "new" else file.removed_lines

    def _file_at(self, place: Location) -> FileDiff | None:
        for file in self.change.get((place.input, place.path or ""), ()):
            if place.end_line in (file.lines if place.side == "new" else file.removed_lines):
                return file
        return None


def _begins(hunk: str) -> tuple[int, int]:
    """The first line of a hunk on either side."""
    old, new = hunk.split(" ")[1:3]
    return int(old[1:].partition(",")[0]), int(new[1:].partition(",")[0])


def reviewed(run: Snapshot, result: Result) -> Reviewed | None:
    """The review that a run has come to; None before its findings are ranked, or where nobody reports any."""
    data = result.data
    if run.answering.sifting.order is None or not isinstance(data, dict):
        return None
    findings = tuple(Finding.model_validate(each) for each in data["findings"])
    return Reviewed(
        run_id=run.brief.run_id,
        team=run.brief.team.name,
        answer=result.answer,
        findings=findings,
        suppressed=tuple(Suppressed.model_validate(each) for each in data["suppressed"]),
        material=result.coverage.material,
        workers={name: task.worker for name, task in run.tasks.items()},
        change=_changed(run.brief.given, {each.location.input for each in findings}),
    )


def _changed(inputs: Sequence[JobInput], named: set[str]) -> dict[tuple[str, str], list[FileDiff]]:
    """The files of the diffs that findings are in."""
    found: dict[tuple[str, str], list[FileDiff]] = {}
    for given in (each for each in inputs if each.name in named and is_diff(each.name, each.media_type)):
        try:
            for file in read_diff(given.content):
                found.setdefault((given.name, file.path), []).append(file)
        except DiffUnreadable:
            continue
    return found
