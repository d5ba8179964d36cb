"""The part of the fold that concerns results which come after an answer was begun: it is made again with them.

They are those of dropped tasks that land, and those of a further round of work.
"""

from app.domain import events as ev
from app.domain import fold_tasks
from app.domain.events import Event, Purpose
from app.domain.fold_rounds import without
from app.domain.fold_tasks import task_named
from app.domain.snapshot import Snapshot
from app.domain.states import TASK_MOVES, move
from app.domain.values import changed


def fold_drop(run: Snapshot, event: Event) -> Snapshot:
    task = task_named(run, event)
    return run.with_task(changed(task, status=move(TASK_MOVES, task.status, event.type), dropped=True))


def fold_success(run: Snapshot, event: Event, output: ev.TaskSucceeded) -> Snapshot:
    """What an answer rests on is settled when it is begun, so that the same state always makes the same request: one in
    the making goes without a dropped task that delivers now, and another one follows.
    """
    after = fold_tasks.fold_success(run, event, output)
    name, is_making = event.task_id or "", run.phase == "synthesizing" and run.wants_answer
    if is_making:
        return changed(after, late=run.late | {name})
    if run.synthesis is None:
        return after
    return changed(after, lacking=run.lacking | {name}, conversations=without(run, "synthesize", "review"))


def fold_answer(run: Snapshot, answer: ev.SynthesisCompleted) -> Snapshot:
    again: tuple[Purpose, ...] = ("review", "arbitrate", "synthesize") if run.late else ("review", "arbitrate")
    return changed(run, synthesis=answer, lacking=run.late, late=frozenset(), conversations=without(run, *again))
