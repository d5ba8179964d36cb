"""A review as its files tell it: the findings, the change that they are about, and what was looked at."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from app.domain.coverage import Covered
from app.domain.diffs import FileDiff, is_diff, read_diff
from app.domain.errors import DiffUnreadable
from app.domain.findings import Finding, Location, Suppressed
from app.domain.job import JobInput
from app.domain.material import rows_of_diff
from app.domain.placing import Lines, begins_at
from app.domain.results import Result
from app.domain.snapshot import Snapshot

BLANK_LINES = 50
"""That may stand among the lines of a piece of evidence, and not in it."""


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
    """The files of the diffs, by input and path; of several commits in one diff each."""
    beside_cut: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """The inputs that the change was held against and that tasks were shown in part, with these tasks."""

    def lenses(self, tasks: Sequence[str]) -> list[str]:
        """The workers behind these tasks, each once."""
        return list(dict.fromkeys(self.workers.get(task, task) for task in tasks))

    def is_in_change(self, finding: Finding) -> bool:
        """Whether a finding is at a line that the change as a whole shows, under the number that it has there."""
        return self._file_at(finding.location) is not None and not self.is_of_one_commit(finding)

    def is_of_one_commit(self, finding: Finding) -> bool:
        """Whether the lines of a finding are numbered as one of several commits to the file has them, and others may
        have moved them: new lines are known by the last commit alone, removed ones by the first."""
        place = finding.location
        parts = self._parts_at(place)
        if len(parts) < 2:
            return False
        here = [_begins_at(finding, part) is not None for part in parts]
        return sum(here) != 1 or not here[-1 if place.side == "new" else 0]

    def line_after_change(self, finding: Finding) -> int | None:
        """The line of the file after the change that a finding is at: for a removed line, what stands where it was.
        None where later commits may have moved it."""
        place = finding.location
        is_moved = self.is_of_one_commit(finding) or (place.side == "old" and len(self._parts_at(place)) > 1)
        return None if is_moved else self._line_after(place)

    def lines_of(self, finding: Finding) -> tuple[int, int]:
        """Those of the lines of a finding that the change shows without a gap, around where its evidence begins."""
        place = finding.location
        file = self._file_at(place)
        shown = {} if file is None else _side_of(file, place)
        begins = file and _begins_at(finding, file)
        first = last = begins or (place.line if place.line in shown else place.end_line)
        while first > place.line and first - 1 in shown:
            first -= 1
        while last < place.end_line and last + 1 in shown:
            last += 1
        return first, last

    def _line_after(self, place: Location) -> int:
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

    def _parts_at(self, place: Location) -> Sequence[FileDiff]:
        return self.change.get((place.input, place.path or ""), ())

    def _file_at(self, place: Location) -> FileDiff | None:
        parts = self._parts_at(place)
        parts = parts[::-1] if place.side == "new" else parts
        return next((file for file in parts if place.end_line in _side_of(file, place)), None)


def _side_of(file: FileDiff, place: Location) -> Mapping[int, str]:
    return file.lines if place.side == "new" else file.removed_lines


def _begins_at(finding: Finding, file: FileDiff) -> int | None:
    """The line that its evidence begins in. Only lines near the place are read: there may be many findings in one long
    file."""
    place = finding.location
    shown, near = _side_of(file, place), range(place.line, place.end_line + finding.evidence.count("\n") + BLANK_LINES)
    numbers = (number for number in (near if len(near) < len(shown) else shown) if number in near)
    lines = {number: shown[number] for number in numbers if number in shown}
    return begins_at(finding.evidence, Lines(place.side, lines), place.line, place.end_line)


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
        beside_cut=_beside_cut(run),
    )


def _beside_cut(run: Snapshot) -> dict[str, list[str]]:
    """By the inputs that tasks were shown in part beside their material, these tasks."""
    found: dict[str, dict[str, None]] = {}
    for look in (look for each in (run.plan.material if run.plan else ()) for look in each.tasks):
        for name in look.beside_cut:
            found.setdefault(name, {})[look.task] = None
    return {name: [*tasks] for name, tasks in found.items()}


def _changed(inputs: Sequence[JobInput], named: set[str]) -> dict[tuple[str, str], list[FileDiff]]:
    """The files of the diffs that findings are in; of a file that a later commit moves, its parts under both names."""
    found: dict[tuple[str, str], list[FileDiff]] = {}
    for given in (each for each in inputs if each.name in named and is_diff(each.name, each.media_type)):
        try:
            for file in read_diff(given.content):
                moved = file.old_path is not None and file.old_path != file.path
                before = found.get((given.name, file.old_path or ""), []) if moved else []
                found.setdefault((given.name, file.path), [*before]).append(file)
                before.append(file)
        except DiffUnreadable:
            continue
    return found
