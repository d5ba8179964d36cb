"""Results of tasks as another model call gets them: structured, each with a fair share, cut only with a notice."""

from collections.abc import Iterable, Sequence
from typing import Any

from app.domain.artifacts import Artifact
from app.domain.lint import RESULTS_HELD
from app.domain.reduction_tree import ROOM_CHARACTERS
from app.domain.result_sizes import data_of, dealt, listed, sizes_of
from app.domain.results import NestedResult
from app.domain.task_state import TaskState
from app.domain.text import shorten
from app.tools.tool import JSON_CUT

NESTED_SHOWN = 10
"""Gaps and conflicts of a nested run that are named."""
TITLE_CHARACTERS = 200
GIST_CHARACTERS = 500
"""For a summary or an error where the whole is not needed."""


def results_of(delivered: Sequence[TaskState]) -> list[dict[str, Any]]:
    """What the tasks delivered: never their transcripts."""
    share = ROOM_CHARACTERS // max(len(delivered), 1)
    return [result_within(task, share) for task in delivered]


def evidence_of(task: TaskState, shares: int) -> dict[str, Any]:
    """What a task delivered, as evidence among as many `shares`: without what tells whose it is."""
    told = result_within(task, ROOM_CHARACTERS // max(shares, RESULTS_HELD))
    return {name: value for name, value in told.items() if name not in ("task", "worker", "title", "confidence")}


def result_within(task: TaskState, share: int) -> dict[str, Any]:
    """What the task delivered within `share` characters. Data that is cut is a text that says so."""
    output = task.output
    assert output is not None
    written = {"title": task.task.title, "summary": output.summary, "text": output.text, "data": data_of(task)}
    room = dealt(sizes_of(task), share)
    shown = {name: shorten(text, room[name]) for name, text in written.items()}
    kept = _within(output.sources, room["sources"])
    result: dict[str, Any] = {
        "task": task.task.id,
        "worker": task.worker,
        **{name: text for name, (text, _) in shown.items()},
        "data": JSON_CUT + shown["data"][0] if shown["data"][1] else output.data,
        "confidence": output.confidence,
        "sources": kept,
    }
    if output.partial:
        result["partial"] = True
    if output.unverified:
        result["unverified"] = True
    if output.instruction_like:
        result["instruction_like"] = True
    if output.nested is not None:
        result |= _of_nested(output.nested)
    omitted = sum(omitted for _, omitted in shown.values()) + sum(map(len, output.sources[len(kept) :]))
    if output.artifacts:
        result["artifacts"], cut = files_within(output.artifacts, room["artifacts"])
        omitted += cut
    if omitted:
        result |= {"truncated": True, "omitted_characters": omitted}
    return result


def files_within(artifacts: Sequence[Artifact], room: int) -> tuple[list[dict[str, Any]], int]:
    """What files are, with the text of those that are text in short; and how many characters of it were left out."""
    room -= sum(len(each.name) + len(each.media_type) for each in artifacts)
    shares = dealt({str(n): len(each.text or "") for n, each in enumerate(artifacts)}, max(room, 0))
    told: list[dict[str, Any]] = []
    left_out = 0
    for n, each in enumerate(artifacts):
        file: dict[str, Any] = {"name": each.name, "media_type": each.media_type, "bytes": each.size}
        if each.text is not None:
            file["text"], omitted = shorten(each.text, shares[str(n)])
            left_out += omitted
        told.append(file)
    return told, left_out


def _of_nested(nested: NestedResult) -> dict[str, Any]:
    """What a nested run says is missing from its result, and is contradictory in it."""
    gaps = [
        shorten(gap.impact or f"a part of it delivered nothing: {gap.reason}", GIST_CHARACTERS)[0]
        for gap in nested.gaps
    ]
    open_conflicts = [
        {
            "topic": shorten(each.topic, TITLE_CHARACTERS)[0],
            "claims": [shorten(claim.claim, GIST_CHARACTERS)[0] for claim in each.claims],
        }
        for each in nested.unresolved
    ]
    told: dict[str, Any] = {"missing": gaps[:NESTED_SHOWN]} if gaps else {}
    return told | {"unresolved": open_conflicts[:NESTED_SHOWN]} if open_conflicts else told


def _within(sources: Sequence[str], room: int) -> list[str]:
    """The first sources that fit, whole."""
    kept: list[str] = []
    for source in sources:
        room -= listed(source)
        if room < 0:
            break
        kept.append(source)
    return kept


def missing_of(undelivered: Iterable[TaskState]) -> list[dict[str, Any]]:
    """What did not come, and why."""
    return [
        {
            "task": task.task.id,
            "title": shorten(task.task.title, TITLE_CHARACTERS)[0],
            "status": "dropped" if task.dropped else task.status,
            "reason": task.error.code if task.error else "timeout" if task.dropped else task.status,
            "message": shorten(task.error.message, GIST_CHARACTERS)[0] if task.error else "",
        }
        for task in undelivered
    ]


def gists_of(tasks: Iterable[TaskState]) -> list[dict[str, Any]]:
    """What became of tasks, for one who need not read what they delivered."""
    return [
        {
            "task": task.task.id,
            "title": shorten(task.task.title, TITLE_CHARACTERS)[0],
            "status": task.status,
            "summary": shorten(task.output.summary, GIST_CHARACTERS)[0] if task.output else "",
        }
        for task in tasks
    ]
