"""The fold obeys the tables: what they list can be folded in that state, and nothing else."""

from itertools import product
from typing import Any

import pytest

from app.domain import events as ev
from app.domain.errors import IllegalMove
from app.domain.events import ANY_EVENT, Event
from app.domain.fold import extended
from app.domain.states import RUN_MOVES, TASK_MOVES, TERMINAL_RUN
from tests.domain.story import Story, brief, started, task, text_block
from tests.domain.test_events import DATA, TYPES

RUN_EVENTS = [kind for kind in TYPES if kind.startswith("run.") and kind not in ("run.queued", "run.cancel_requested")]
TASK_EVENTS = [kind for kind in TYPES if kind.startswith("task.")]
RUN_STATES = ["queued", "running", "waiting", "succeeded", "partial", "failed", "cancelled"]
TASK_STATES = ["pending", "running", "succeeded", "failed", "skipped", "cancelled"]


def event(story: Story, kind: str, **whose: Any) -> Event:
    return ANY_EVENT.validate_python({**story.whose(**whose), "type": kind, "data": DATA[kind]})


def run_that_is(status: str) -> Story:
    story = Story(brief())
    story.queued()
    if status == "queued":
        return story
    story.started()
    story.planned(task("a"))
    if status == "waiting":
        story.record(event(story, "run.waiting"))
    elif status in TERMINAL_RUN:
        story.record(event(story, f"run.{status}"))
    return story


def story_with_task(status: str) -> Story:
    """A run with a task `a` in that state, and one more so that it does not end."""
    story = started(task("a"), task("b"))
    if status not in ("pending", "skipped"):
        story.start("a")
        story.hear("work", [text_block("said")], name="a")
    if status not in ("pending", "running"):
        attempt = None if status == "skipped" else 1
        story.record(event(story, f"task.{status}", name="a", attempt=attempt))
    return story


def can_follow(story: Story, event: Event) -> bool:
    try:
        extended(story.run, [event])
    except IllegalMove:
        return False
    return True


@pytest.mark.parametrize("status", RUN_STATES)
def test_a_run_takes_exactly_the_events_that_its_table_lists(status: str) -> None:
    story = run_that_is(status)
    assert story.run.status == status

    taken = {kind for kind in RUN_EVENTS if can_follow(story, event(story, kind))}

    assert taken == {kind for state, kind in RUN_MOVES if state == status}


@pytest.mark.parametrize("status", TASK_STATES)
def test_a_task_takes_exactly_the_events_that_its_table_lists(status: str) -> None:
    story = story_with_task(status)
    assert story.state("a").status == status

    taken = {
        kind
        for kind, attempt in product(TASK_EVENTS, (None, 1, 2))
        if can_follow(story, event(story, kind, name="a", attempt=attempt))
    }

    assert taken == {kind for state, kind in TASK_MOVES if state == status}


@pytest.mark.parametrize("status", ["queued", "waiting", "succeeded"])
def test_no_task_begins_in_a_run_that_is_not_running(status: str) -> None:
    story = run_that_is(status)
    data = ev.AttemptStarted(worker="able", model="m", instruction="x")

    assert not can_follow(story, ev.TaskStarted(**story.whose("a", 1), data=data))
