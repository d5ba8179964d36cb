"""Working: an attempt at one task, from its opening to the report. The worker sees its task alone, never the run."""

from collections.abc import Iterable, Sequence

from app.agents.aside import outputs_of
from app.agents.files import BOUNDS
from app.agents.prompting import opening, render
from app.agents.reading import Unreadable
from app.agents.results_shown import missing_of, results_of
from app.agents.role import Offer, Role
from app.agents.worker.proof import objections_to
from app.agents.worker.report import data_schema_of, report_of, report_schema
from app.agents.worker.tools import INPUT_TOOLS
from app.domain import events as ev
from app.domain.conversation import Prompt
from app.domain.events import Entry
from app.domain.flaws import Flaw
from app.domain.lint import lack_of
from app.domain.policy.agenda import attempt_in, max_steps, worker_of
from app.domain.results import Escalation, Output
from app.domain.snapshot import Snapshot
from app.domain.task_state import TaskState
from app.domain.tool_use import with_calls
from app.domain.topics import Topic
from app.llm.model import STAND_IN


def _task(run: Snapshot, topic: Topic) -> TaskState:
    return run.tasks[topic.task_id or ""]


def _needed(run: Snapshot, task: TaskState) -> list[TaskState]:
    return [run.tasks[name] for name in task.task.depends_on]


def _open(run: Snapshot, topic: Topic) -> Prompt:
    task = _task(run, topic)
    attempt, needed = attempt_in(run, topic), _needed(run, task)
    worker = worker_of(run, attempt)
    return opening(
        "work",
        worker=worker,
        max_steps=max_steps(run, topic),
        task=task.task,
        instruction=attempt.instruction,
        inputs=run.brief.inputs if worker.finds or INPUT_TOOLS & set(worker.tools) else (),
        results=results_of([other for other in needed if other.delivered]),
        missing=missing_of(other for other in needed if not other.delivered),
        file_bounds=BOUNDS,
    )


def _offer(run: Snapshot, topic: Topic) -> Offer:
    """The model is the one that the attempt began with, so that a conversation never changes it, whatever its tier
    stands for now. What the stand-in began goes on with the worker's own: no provider has a model of that name.
    """
    attempt = attempt_in(run, topic)
    worker = worker_of(run, attempt)
    model = worker.model if attempt.model == STAND_IN else attempt.model
    schema = report_schema(data_schema_of(worker), files=worker.artifacts)
    return Offer(model, schema, visible_field="text", tools=worker.tools)


def _material(run: Snapshot, topic: Topic) -> Iterable[object]:
    task = _task(run, topic)
    told = attempt_in(run, topic).instruction, task.task.context, task.task.success_criterion
    return [*told, *outputs_of(_needed(run, task))]


def _read(run: Snapshot, topic: Topic, text: str) -> Sequence[Entry]:
    said = report_of(text, worker_of(run, attempt_in(run, topic)))
    if isinstance(said, Escalation):
        return [topic.entry(ev.TaskEscalated.of(said))]
    if objections := objections_to(said, run, topic):
        raise Unreadable(objections)
    return [topic.entry(ev.TaskSucceeded.of(_held_against_calls(said, run, topic)))]


def _held_against_calls(said: Output, run: Snapshot, topic: Topic) -> Output:
    lack = lack_of(run.tasks[topic.task_id or ""].task, worker_of(run, attempt_in(run, topic)), run.brief.crew)
    return with_calls(said, run.conversation(topic), lacks_tool=lack is not None)


def _reject(run: Snapshot, topic: Topic, flaws: Sequence[Flaw]) -> Sequence[Entry]:
    note = render("work_repair", flaws=flaws) if run.conversation(topic).may_be_repaired else None
    return [topic.entry(ev.TaskRejected(errors=tuple(flaws), note=note))]


WORK = Role(open=_open, offer=_offer, material=_material, read=_read, reject=_reject)
