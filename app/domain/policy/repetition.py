"""Attempts that end with the same words: what was different about them made no difference, and is not tried again."""

from collections.abc import Iterator

from app.domain.conversation import text_of, tool_calls_of
from app.domain.protocol import repeated_turns
from app.domain.snapshot import Snapshot
from app.domain.task_state import Attempt, TaskState
from app.domain.team import Rung
from app.domain.text import plain_words
from app.domain.topics import Topic


def echoes_of(run: Snapshot, task: TaskState) -> list[Attempt]:
    """The other attempts that ended with the same words as the present one."""
    present, words = task.attempt, _last_words(run, task, task.attempt)
    others = [attempt for attempt in task.attempts if attempt.number != present.number] if words else []
    return [attempt for attempt in others if _last_words(run, task, attempt) == words]


def fruitless(run: Snapshot, task: TaskState) -> frozenset[Rung]:
    """The rungs that have only led to the same words again."""
    return frozenset(rung for echo in echoes_of(run, task) for rung in _rungs_between(echo, task.attempt))


def _rungs_between(one: Attempt, other: Attempt) -> Iterator[Rung]:
    """What made the difference between two attempts."""
    if plain_words(one.instruction) != plain_words(other.instruction):
        yield "refine"
    if one.worker != other.worker:
        yield "fallback_worker"
    elif one.model != other.model:
        yield "stronger_model"


def _last_words(run: Snapshot, task: TaskState, attempt: Attempt) -> str:
    """What the worker said at the end, in plain words: its escalation, a result that was turned down, or the calls that
    it kept repeating.

    Nothing for an attempt that ended otherwise. A reply that had not even the form of a result is judged by that.
    """
    if attempt.escalation is not None:
        return plain_words(f"{attempt.escalation.message} {attempt.escalation.partial or ''}")
    talk = run.conversation(Topic("work", task.task.id, attempt.number))
    if talk.unusable and talk.objection_code == "result_rejected":
        return plain_words(text_of(talk.turns[-1].content))
    called = {
        f"{call['name']} {call.get('input')} {turn.result_of(call)}"
        for turn in repeated_turns(talk)
        for call in tool_calls_of(turn.content)
    }
    return plain_words(" ".join(sorted(called)))
