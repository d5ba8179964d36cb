"""The fold obeys the tables: what they list can be folded in that state, and nothing else."""

from itertools import product
from typing import get_args

import pytest

from app.domain.errors import IllegalMove
from app.domain.events import Entry, event_from
from app.domain.fold import extend
from app.domain.states import ALLOWED_WHILE, RUN_MOVES, TASK_MOVES, TERMINAL_RUN, RunStatus
from tests.domain.test_events import TYPES, written
from tests.support.story import Story, brief, started, task, text_block

TASK_EVENTS = [kind for kind in TYPES if kind.startswith(("task.", "question."))]
RUN_STATES = get_args(RunStatus)
TASK_STATES = ["pending", "running", "waiting", "succeeded", "failed", "skipped", "cancelled"]


def example(kind: str, name: str | None = None, attempt: int | None = None) -> Entry:
    return Entry(event_from(written(kind)).data, name, attempt)


def examples(kind: str, status: str) -> list[Entry]:
    """The same of every attempt, or of none. What runs already is only joined by an attempt that says so."""
    found = [example(kind, "a", attempt) for attempt in (None, 1, 2)]
    if (kind, status) == ("task.started", "running"):
        return [entry._replace(fact=entry.fact.model_copy(update={"beside": 1})) for entry in found]
    return found


def run_that_is(status: str) -> Story:
    story = Story(brief())
    story.queued()
    if status == "queued":
        return story
    story.started()
    story.planned(task("a"))
    if status == "waiting":
        story.parked()
    elif status in TERMINAL_RUN:
        story.record(example(f"run.{status}"))
    return story


def story_with_task(status: str) -> Story:
    """A run with a task `a` in that state, and one more so that it does not end."""
    story = started(task("a"), task("b"))
    if status not in ("pending", "skipped"):
        story.start("a")
        story.hear("work", [text_block("said")], name="a")
    if status not in ("pending", "running"):
        attempt = None if status == "skipped" else 1
        story.record(example("question.asked" if status == "waiting" else f"task.{status}", "a", attempt))
    return story


def can_follow(story: Story, entry: Entry) -> bool:
    try:
        extend(story.run, [entry], story.now)
    except IllegalMove:
        return False
    return True


@pytest.mark.parametrize("status", RUN_STATES)
def test_a_run_is_moved_by_exactly_the_events_that_its_table_lists(status: str) -> None:
    story = run_that_is(status)
    assert story.run.status == status

    moving = {kind for _, kind in RUN_MOVES}
    taken = {kind for kind in moving if can_follow(story, example(kind))}

    assert taken == {kind for state, kind in RUN_MOVES if state == status}


@pytest.mark.parametrize("status", RUN_STATES)
def test_whatever_else_a_run_does_not_list_is_refused_for_its_status(status: RunStatus) -> None:
    story = run_that_is(status)
    foreign = set(TYPES) - ALLOWED_WHILE.get(status, frozenset()) - {kind for _, kind in RUN_MOVES} - {"run.queued"}
    why = "cannot follow the end" if status in TERMINAL_RUN else f"a run that is {status}"

    for kind, attempt in product(foreign, (None, 1)):
        with pytest.raises(IllegalMove, match=why):
            extend(story.run, [example(kind, "a", attempt)], story.now)


@pytest.mark.parametrize("status", TASK_STATES)
def test_a_task_takes_exactly_the_events_that_its_table_lists(status: str) -> None:
    story = story_with_task(status)
    assert story.state("a").status == status

    taken = {kind for kind in TASK_EVENTS if any(can_follow(story, entry) for entry in examples(kind, status))}

    assert taken == {kind for state, kind in TASK_MOVES if state == status}


@pytest.mark.parametrize("status", ["queued", "waiting", "succeeded"])
def test_no_task_begins_in_a_run_that_is_not_running(status: str) -> None:
    assert not can_follow(run_that_is(status), example("task.started", "a", 1))
