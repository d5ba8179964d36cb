"""Files that code makes of what a run has come to: what a team's `files` name."""

from collections.abc import Callable, Mapping, Sequence

from app.domain.artifacts import Artifact
from app.domain.credentials import without_credentials
from app.domain.makers.review import review_files
from app.domain.makers.tests import test_files
from app.domain.results import Result
from app.domain.snapshot import Snapshot
from app.domain.team_rules import FileMaker

Maker = Callable[[Snapshot, Result], Sequence[Artifact]]
"""Makes files from what a run has come to, or none. It is pure: the same run has the same files."""
MAKERS: Mapping[FileMaker, Maker] = {"review": review_files, "tests": test_files}
"""One for each name that a team may have under `files`."""


def files_made(run: Snapshot, result: Result) -> list[Artifact]:
    """The files that the run's team wants to be made of its result. Nothing in them looks like a credential."""
    made = (artifact for name in run.brief.team.files for artifact in MAKERS[name](run, result))
    return [each.model_copy(update={"text": without_credentials(each.text)}) if each.text else each for each in made]
