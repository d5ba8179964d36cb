"""The part of the fold that concerns dropped tasks: the answer goes without them, and is made again when they land."""

from collections.abc import Mapping

from app.domain import events as ev
from app.domain import fold_tasks
from app.domain.conversation import Conversation
from app.domain.events import Event
from app.domain.fold_tasks import task_named
from app.domain.snapshot import Snapshot
from app.domain.states import TASK_MOVES, move
from app.domain.topics import Topic
from app.domain.values import changed


def fold_drop(run: Snapshot, event: Event) -> Snapshot:
    task = task_named(run, event)
    return run.with_task(changed(task, status=move(TASK_MOVES, task.status, event.type), dropped=True))


def fold_success(run: Snapshot, event: Event, output: ev.TaskSucceeded) -> Snapshot:
    """What an answer rests on is settled when it is begun, so that the same state always makes the same request: one in
    the making goes without a dropped task that delivers now, and another one follows.
    """
    after = fold_tasks.fold_success(run, event, output)
    task = task_named(after, event)
    if not task.dropped or run.phase != "synthesizing":
        return after
    if run.wants_answer:
        return changed(after, late=run.late | {task.task.id})
    return changed(after, lacking=run.lacking | {task.task.id}, conversations=_without_answer(run))


def fold_answer(run: Snapshot, answer: ev.SynthesisCompleted) -> Snapshot:
    run = changed(run, synthesis=answer, lacking=run.late, late=frozenset())
    return changed(run, conversations=_without_answer(run)) if run.lacking else run


def _without_answer(run: Snapshot) -> Mapping[Topic, Conversation]:
    return {topic: talk for topic, talk in run.conversations.items() if topic.purpose != "synthesize"}
