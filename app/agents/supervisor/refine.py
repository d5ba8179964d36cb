"""Refinement: a task's instruction rewritten in view of its failures. An unchanged one ends the task."""

from collections.abc import Iterable, Sequence

from pydantic import BaseModel, Field

from app.agents.prompting import opening
from app.agents.reading import Unreadable, misfit, read_as, read_json_or_prose, without_nulls
from app.agents.results_shown import gists_of
from app.agents.role import Offer, Role
from app.agents.shapes import TEXT, closed
from app.domain import events as ev
from app.domain.conversation import Conversation, Prompt, text_of
from app.domain.events import Entry
from app.domain.flaws import Flaw
from app.domain.policy.failed_attempts import give_up_refining
from app.domain.snapshot import Snapshot
from app.domain.task_state import Attempt, TaskState
from app.domain.text import is_blank, plain_words
from app.domain.topics import Topic
from app.domain.values import changed

LAST_WORDS_CHARACTERS = 1_000
_SCHEMA = closed(instruction=TEXT, change=TEXT)


def _task(run: Snapshot, topic: Topic) -> TaskState:
    return run.tasks[topic.task_id or ""]


def _open(run: Snapshot, topic: Topic) -> Prompt:
    task = _task(run, topic)
    return opening(
        "refine",
        team=run.brief.team,
        worker=run.brief.team.worker(task.next.worker),
        task=task.task,
        dependencies=gists_of(run.tasks[name] for name in task.task.depends_on),
        inputs=run.brief.inputs,
        attempts=[_shown(run, task, attempt) for attempt in task.attempts],
    )


def _shown(run: Snapshot, task: TaskState, attempt: Attempt) -> dict[str, object]:
    return {
        "number": attempt.number,
        "instruction": attempt.instruction,
        "error": attempt.error,
        "last_words": last_words(run.conversation(Topic("work", task.task.id, attempt.number))),
    }


def last_words(talk: Conversation) -> str:
    """What a worker said last, shortened: it helps to see what went wrong, and is no result."""
    said = text_of(talk.turns[-1].content) if talk.turns else ""
    return said[:LAST_WORDS_CHARACTERS]


def _offer(run: Snapshot, _: Topic) -> Offer:
    return Offer(run.brief.team.supervisor.model, _SCHEMA, visible_field="instruction")


def _material(run: Snapshot, topic: Topic) -> Iterable[object]:
    task = _task(run, topic)
    return [task.task.context, *(attempt.instruction for attempt in task.attempts)]


def _read(run: Snapshot, topic: Topic, text: str) -> Sequence[Entry]:
    reply, task = read_refinement(text), _task(run, topic)
    tried = {plain_words(attempt.instruction) for attempt in task.attempts}
    following = changed(task.next, instruction=reply.instruction)
    if plain_words(following.words) in tried:
        return [give_up_refining(task, "it was the same as before")]
    refined = ev.TaskRefined(
        instruction=reply.instruction,
        refined_from=task.attempt.number,
        change=reply.change,
        free_form=reply.free_form,
    )
    return [topic.entry(refined)]


def _reject(run: Snapshot, topic: Topic, flaws: Sequence[Flaw]) -> Sequence[Entry]:
    return [give_up_refining(_task(run, topic), "; ".join(flaw.detail for flaw in flaws))]


class Refinement(BaseModel):
    """A rewritten instruction."""

    instruction: str = Field(min_length=1)
    change: str = ""
    free_form: bool = False
    """Whether it was prose."""


def read_refinement(text: str) -> Refinement:
    """The new instruction in a reply; prose is one. Raises `Unreadable`, also when it says nothing."""
    value = without_nulls(read_json_or_prose(text, "output_invalid", {"instruction"}))
    reply = read_as(Refinement, {"instruction": value} if isinstance(value, str) else value, "output_invalid")
    if is_blank(reply.instruction):
        raise Unreadable([misfit("/instruction", "instruction is blank")])
    return reply.model_copy(update={"free_form": isinstance(value, str)})


REFINE = Role(open=_open, offer=_offer, material=_material, read=_read, reject=_reject)
