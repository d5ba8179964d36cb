"""The part of the fold that concerns the files a run hands over: each gets a name of its own there, once."""

from collections.abc import Sequence

from app.domain.artifacts import Artifact, Filed, named_apart
from app.domain.results import Output
from app.domain.snapshot import Snapshot
from app.domain.task_state import TaskState
from app.domain.values import changed


def fold_files(run: Snapshot, artifacts: Sequence[Artifact], task: str | None, seq: int) -> Snapshot:
    """The run with more files, which keep the order in which they came."""
    if not artifacts:
        return run
    named = named_apart(artifacts, (each.artifact.name for each in run.files))
    return changed(run, files=(*run.files, *(Filed(artifact, task, seq) for artifact in named)))


def fold_output(run: Snapshot, output: Output, task: str, seq: int) -> tuple[Snapshot, Output]:
    """The run with the files of a result, and the result with their names in the run."""
    if not output.artifacts:
        return run, output
    before = len(run.files)
    run = fold_files(run, output.artifacts, task, seq)
    return run, output.model_copy(update={"artifacts": tuple(each.artifact for each in run.files[before:])})


def fold_reused(run: Snapshot, tasks: dict[str, TaskState], seq: int) -> Snapshot:
    """The run with the tasks of its first plan, and the files of those that another run has done."""
    for name, task in tasks.items():
        if task.output is not None and task.output.artifacts:
            run, output = fold_output(run, task.output, name, seq)
            tasks = {**tasks, name: changed(task, output=output)}
    return changed(run, tasks=tasks)
