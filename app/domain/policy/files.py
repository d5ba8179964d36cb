"""The files that go out with the end of a run: those of its tasks, those of its answer, and those that code makes."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from app.domain.artifacts import Artifact, listed, named_apart
from app.domain.results import Result
from app.domain.snapshot import Snapshot

Maker = Callable[[Snapshot, Result], Sequence[Artifact]]
"""Makes files from what a run has come to, or none. It is pure: the same run has the same files."""
MAKERS: tuple[Maker, ...] = ()
"""One for each kind of file that code makes."""


class Handover(NamedTuple):
    """What the end of a run hands over."""

    result: Result
    """The result, which names all files."""
    artifacts: tuple[Artifact, ...]
    """The files that come with the end itself; those of tasks are in the log already."""


def with_files(run: Snapshot, result: Result, makers: Sequence[Maker] = MAKERS) -> Handover:
    """The result with the files of its run. An answer that does not go out takes its files with it."""
    own = run.synthesis.artifacts if run.synthesis is not None and result.answer is not None else ()
    made = [artifact for make in makers for artifact in make(run, result)]
    files = named_apart([*own, *made], (each.artifact.name for each in run.files))
    run_id = run.brief.run_id
    told = [*(each.listed(run_id) for each in run.files), *(listed(each, run_id, None) for each in files)]
    return Handover(result.model_copy(update={"artifacts": tuple(told)}) if told else result, files)
