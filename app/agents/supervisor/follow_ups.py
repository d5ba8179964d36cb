"""What an answer says of its gaps: what they mean, and which tasks would close them in a further round of work."""

from collections.abc import Iterator, Mapping, Sequence

from pydantic import BaseModel, ConfigDict

from app.agents.reading import misfit
from app.agents.shapes import TEXT, Schema, closed, listed, one_of, or_null
from app.domain.events import Entry
from app.domain.flaws import Flaw
from app.domain.names import Names
from app.domain.plan import Task
from app.domain.policy.rounds import begin_round, gaps_found, gaps_to_close, next_plan
from app.domain.snapshot import Snapshot
from app.domain.text import is_blank, plain_words


class FollowUpReply(BaseModel):
    """A task that would close a gap, as the supervisor writes it."""

    model_config = ConfigDict(extra="ignore")

    title: str = ""
    instruction: str = ""
    success_criterion: str = ""
    worker: str = ""
    depends_on: Names = ()


class GapReply(BaseModel):
    """A gap, as the supervisor writes it."""

    model_config = ConfigDict(extra="ignore")

    task: str
    impact: str = ""
    follow_up: FollowUpReply | None = None


def gap_schema(run: Snapshot, missing: Sequence[str]) -> Schema:
    """A gap and, while there may be a further round of work, the task that would close it."""
    closable = gaps_to_close(run)
    names = [*missing, *(name for name in closable if name not in missing)]
    if not closable:
        return closed(task=one_of(missing) if missing else TEXT, impact=TEXT)
    follow_up = closed(
        title=TEXT,
        instruction=TEXT,
        success_criterion=TEXT,
        worker=one_of([*run.brief.crew.workers]),
        depends_on=listed(TEXT),
    )
    return closed(task=one_of(names), impact=TEXT, follow_up=or_null(follow_up))


def read_follow_ups(run: Snapshot, gaps: Sequence[GapReply]) -> tuple[list[Entry], list[Flaw]]:
    """What the gaps of an answer lead to, and what is wrong with the tasks that would close them.

    Where anything is wrong with these there is no further round.
    """
    impacts = {gap.task: gap.impact for gap in gaps}
    wanted = {gap.task: Task(id=gap.task, **dict(gap.follow_up)) for gap in gaps if gap.follow_up is not None}
    flaws = [*_flaws(run, wanted)]
    if not wanted or flaws:
        return gaps_found(run, impacts, {}), flaws
    plan, names = next_plan(run, wanted)
    if not plan.validation.ok:
        return gaps_found(run, impacts, {}), [_of_gaps(flaw) for flaw in plan.validation.errors]
    return [*gaps_found(run, impacts, names), begin_round(run, plan, names)], []


def _flaws(run: Snapshot, wanted: Mapping[str, Task]) -> Iterator[Flaw]:
    closable = gaps_to_close(run)
    for name, task in wanted.items():
        if name not in closable:
            yield _flaw(f"no task can close a gap of {name} now: its follow_up must be null")
        elif is_blank(task.instruction):
            yield _flaw(f"the follow_up of {name} has no instruction")
        elif _is_known(run, name, task):
            yield _flaw(f"the follow_up of {name} must do something else than what was tried")
        strangers = [need for need in task.depends_on if need not in wanted and need not in run.tasks]
        if strangers:
            yield _flaw(f"the follow_up of {name} depends on tasks that there are not: {', '.join(strangers)}")


def _is_known(run: Snapshot, name: str, task: Task) -> bool:
    worker = task.worker or run.tasks[name].task.worker
    tried = [attempt for attempt in run.tasks[name].attempts if attempt.worker == worker]
    return plain_words(task.instruction) in {plain_words(attempt.instruction) for attempt in tried}


def _flaw(detail: str) -> Flaw:
    return misfit("/gaps", detail)


def _of_gaps(flaw: Flaw) -> Flaw:
    return flaw.model_copy(update={"pointer": "/gaps"})
