"""What a result tells of a choice among its tasks: which was made for the answer that there is."""

from collections.abc import Sequence

from app.domain.selecting import basis_of, candidates_in, selection_among
from app.domain.selection import Selection
from app.domain.snapshot import Snapshot
from app.domain.strategies import USUAL, Strategy
from app.domain.task_state import TaskState


def heard_in(run: Snapshot) -> list[TaskState]:
    """The tasks that had delivered when the answer there is was begun."""
    return [task for task in run.delivered if task.task.id not in run.unheard]


def choice_of(run: Snapshot) -> Selection | None:
    """What was chosen for that answer, or for the one that could not be had."""
    return selection_among(candidates_in(run.plan, heard_in(run), run.answering.later), run.answering.selections)


def basis_told(run: Snapshot, tasks: Sequence[TaskState]) -> list[TaskState]:
    """Those of the tasks that it rests on."""
    return basis_of(tasks, choice_of(run), run.tasks)


def strategy_of(run: Snapshot) -> Strategy:
    """How the results became the answer: as the plan has it, unless the choice that it wants could not be had."""
    choice = choice_of(run)
    is_unchosen = choice is not None and choice.task is None
    return USUAL if run.plan is None or is_unchosen else run.plan.strategy
