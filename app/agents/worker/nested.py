"""What a nested team is given to do: a task with all that a worker would be told of it, as the objective of a run."""

from collections.abc import Iterable

from app.agents.aside import outputs_of
from app.agents.prompting import render
from app.agents.results_shown import missing_of, results_of
from app.domain.policy.agenda import attempt_in, worker_of
from app.domain.snapshot import Snapshot
from app.domain.topics import Topic


def objective_of(run: Snapshot, topic: Topic) -> str:
    """The objective of the nested run that does the work of an attempt."""
    task, attempt = run.tasks[topic.task_id or ""].task, attempt_in(run, topic)
    needed = [run.tasks[name] for name in task.depends_on]
    return render(
        "nested_objective",
        worker=worker_of(run, attempt),
        task=task,
        instruction=attempt.instruction,
        results=results_of([other for other in needed if other.delivered]),
        missing=missing_of(other for other in needed if not other.delivered),
    )


def material_of(run: Snapshot, topic: Topic) -> Iterable[object]:
    """What it is written from, so that a long one is written beside the event loop."""
    task = run.tasks[topic.task_id or ""].task
    return [attempt_in(run, topic).instruction, task.context, *outputs_of(run.tasks[name] for name in task.depends_on)]
