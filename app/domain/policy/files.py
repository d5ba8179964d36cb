"""The files that go out with the end of a run: those of its tasks, those of its answer, and those that code makes."""

from typing import NamedTuple

from app.domain.artifacts import Artifact, listed, named_apart
from app.domain.makers import files_made
from app.domain.results import Result
from app.domain.snapshot import Snapshot


class Handover(NamedTuple):
    """What the end of a run hands over."""

    result: Result
    """The result, which names all files."""
    artifacts: tuple[Artifact, ...]
    """The files that come with the end itself; those of tasks are in the log already."""


def with_files(run: Snapshot, result: Result) -> Handover:
    """The result with the files of its run. An answer that does not go out takes its files with it."""
    own = run.synthesis.artifacts if run.synthesis is not None and result.answer is not None else ()
    files = named_apart([*own, *files_made(run, result)], (each.artifact.name for each in run.files))
    run_id = run.brief.run_id
    told = [*(each.listed(run_id) for each in run.files), *(listed(each, run_id, None) for each in files)]
    return Handover(result.model_copy(update={"artifacts": tuple(told)}) if told else result, files)
