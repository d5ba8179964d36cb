"""What is still to be done about the findings of a run before its answer is made."""

from collections.abc import Iterator, Sequence

from pydantic import ValidationError

from app.domain.findings import ReportedFinding, ReportedFindings
from app.domain.snapshot import Snapshot
from app.domain.topics import Topic


def unplaced(run: Snapshot) -> tuple[str, ...]:
    """The tasks whose results are there and whose findings nobody has looked for yet, in plan order."""
    if not run.brief.team.finds:
        return ()
    known = run.answering.sifting.tasks
    return tuple(task.task.id for task in run.heard if task.task.id not in known and run.brief.finds(task.worker))


def is_to_sift(run: Snapshot) -> bool:
    """Whether findings are to be dealt with before another answer is made."""
    return not run.answering.sifting.is_settled or bool(unplaced(run))


def looks_under_way(run: Snapshot) -> list[Topic]:
    """The second looks that are due now: as many at once as the run may have tasks."""
    if unplaced(run):
        return []
    return [look_topic(each.id) for each in run.answering.sifting.due[: run.brief.limits.concurrency]]


def look_topic(name: str) -> Topic:
    """The conversation about a finding."""
    return Topic("verify", number=int(name.removeprefix("f")))


def reported_in(run: Snapshot, tasks: Sequence[str]) -> Iterator[tuple[str, ReportedFinding]]:
    """The findings that these tasks report, with the task of each. A result that was taken half done may have none."""
    for name in tasks:
        output = run.tasks[name].output
        try:
            reported = ReportedFindings.model_validate(output.data if output is not None else None)
        except ValidationError:
            continue
        yield from ((name, each) for each in reported.findings)
