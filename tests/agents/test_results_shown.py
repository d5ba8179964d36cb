import json
from collections.abc import Sequence
from typing import Any

import pytest

from app.agents.results_shown import gists_of, missing_of, results_of
from app.domain.plan import TASKS_CEILING, Task
from app.domain.reduction_tree import ROOM_CHARACTERS
from app.domain.results import Output, Problem
from app.domain.task_state import NextAttempt, TaskState
from app.tools.tool import JSON_CUT

LONG = "word " * 80_000
NEXT = NextAttempt("writer", "Write.")
HUGE: dict[str, dict[str, Any]] = {
    "text": {"text": LONG},
    "summary": {"summary": LONG},
    "data": {"data": {"rows": [LONG]}},
    "sources": {"sources": ("https://example.org/" * 100,) * 400},
}
EVERYTHING: dict[str, Any] = {name: value for part in HUGE.values() for name, value in part.items()}
FRAME_CHARACTERS = 300
"""What the names of the fields, the ids and the counts of one result may take."""


def delivered(count: int, title: str = "A title", **output: Any) -> list[TaskState]:
    fields = {"summary": "In short.", "text": "At length.", **output}
    tasks = [Task(id=f"t{number}", title=title, worker="writer") for number in range(count)]
    return [TaskState(task, NEXT, status="succeeded", output=Output(**fields)) for task in tasks]


def size(results: Sequence[dict[str, Any]]) -> int:
    return sum(len(json.dumps(result, ensure_ascii=False)) - FRAME_CHARACTERS for result in results)


@pytest.mark.parametrize("count", [1, 5, TASKS_CEILING])
def test_results_never_take_more_than_their_room_however_many_and_large_they_are(count: int) -> None:
    assert size(results_of(delivered(count, LONG, **EVERYTHING))) <= ROOM_CHARACTERS


@pytest.mark.parametrize("field", HUGE)
def test_a_field_that_is_cut_says_so_and_leaves_the_others_whole(field: str) -> None:
    [whole], [cut] = results_of(delivered(1)), results_of(delivered(1, **HUGE[field]))

    assert "truncated" not in whole
    assert cut["truncated"] is True
    assert ROOM_CHARACTERS // 2 < size([cut]) <= ROOM_CHARACTERS
    others = whole.keys() - {field}
    assert {name: cut[name] for name in others} == {name: whole[name] for name in others}


def test_data_that_is_cut_is_a_text_that_says_so_and_other_data_is_as_it_was() -> None:
    [cut] = results_of(delivered(1, **HUGE["data"]))
    assert cut["data"].startswith(JSON_CUT)
    assert "characters omitted" in cut["data"]

    [kept] = results_of(delivered(1, data={"n": [1, None]}, text=LONG))
    assert kept["data"] == {"n": [1, None]}


def test_sources_are_kept_whole_or_left_out() -> None:
    [cut] = results_of(delivered(1, **HUGE["sources"]))

    assert 0 < len(cut["sources"]) < len(HUGE["sources"]["sources"])
    assert set(cut["sources"]) == set(HUGE["sources"]["sources"])
    left_out = len(HUGE["sources"]["sources"]) - len(cut["sources"])
    assert cut["omitted_characters"] == left_out * len(cut["sources"][0])


def test_what_did_not_come_and_what_others_delivered_is_told_in_short() -> None:
    failed = TaskState(Task(id="a", title=LONG), NEXT, status="failed", error=Problem(code="timeout", message=LONG))

    [missing] = missing_of([failed])
    [short] = gists_of(delivered(1, LONG, summary=LONG))

    assert (missing["reason"], missing["status"], short["status"]) == ("timeout", "failed", "succeeded")
    for told in (missing, short):
        assert len(json.dumps(told)) < 1_000
        assert "characters omitted" in json.dumps(told)
