"""How much room a result takes where it is shown to a model, and how room is dealt out among several."""

import json
from collections.abc import Mapping

from app.domain.artifacts import Artifact
from app.domain.task_state import TaskState


def sizes_of(task: TaskState) -> dict[str, int]:
    """The characters of each part of what the task delivered, where nothing of it is cut."""
    output = task.output
    assert output is not None  # It delivered.
    texts = {"title": task.task.title, "summary": output.summary, "text": output.text, "data": data_of(task)}
    sizes = {name: len(text) for name, text in texts.items()} | {"sources": sum(map(listed, output.sources))}
    return sizes | {"artifacts": sum(map(shown_of_file, output.artifacts))} if output.artifacts else sizes


def data_of(task: TaskState) -> str:
    """The data that the task delivered, as it is written where it is shown."""
    return json.dumps(task.output.data if task.output else None, ensure_ascii=False)


def shown_of_file(artifact: Artifact) -> int:
    """What a file takes where results are shown: what it is, and its text if it is one."""
    return len(artifact.name) + len(artifact.media_type) + len(artifact.text or "")


def listed(source: str) -> int:
    """What a source takes in a list: there may be very many short ones."""
    return len(source) + len('"", ')


def dealt(wanted: Mapping[str, int], room: int) -> dict[str, int]:
    """`room` dealt out: what wants no more than an equal part gets it, the others share the rest equally."""
    parts: dict[str, int] = {}
    for name in sorted(wanted, key=wanted.__getitem__):
        parts[name] = min(wanted[name], room // (len(wanted) - len(parts)))
        room -= parts[name]
    return parts
