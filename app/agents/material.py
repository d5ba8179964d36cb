"""Results of tasks as another model call gets them: structured, each with a fair share, cut only with a notice."""

from collections.abc import Iterable, Sequence
from typing import Any

from app.domain.snapshot import TaskState
from app.domain.text import shorten

ROOM_CHARACTERS = 240_000
"""For all results of one call together."""
FLOOR_CHARACTERS = 4_000


def results_of(delivered: Sequence[TaskState]) -> list[dict[str, Any]]:
    """What the tasks delivered: never their transcripts."""
    share = max(ROOM_CHARACTERS // max(len(delivered), 1), FLOOR_CHARACTERS)
    return [_result(task, share) for task in delivered]


def _result(task: TaskState, share: int) -> dict[str, Any]:
    assert task.output is not None
    text, omitted = shorten(task.output.text, share)
    result: dict[str, Any] = {
        "task": task.task.id,
        "worker": task.task.worker,
        "title": task.task.title,
        "summary": task.output.summary,
        "text": text,
        "data": task.output.data,
        "confidence": task.output.confidence,
        "sources": list(task.output.sources),
    }
    if omitted:
        result |= {"truncated": True, "omitted_characters": omitted}
    return result


def missing_of(undelivered: Iterable[TaskState]) -> list[dict[str, Any]]:
    """What did not come, and why."""
    return [
        {
            "task": task.task.id,
            "title": task.task.title,
            "status": task.status,
            "reason": task.error.code if task.error else task.status,
            "message": task.error.message if task.error else "",
        }
        for task in undelivered
    ]
