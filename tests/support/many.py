"""Runs with more results than one answer can be made from."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from app.domain import events as ev
from app.domain.plan import Plan
from app.domain.reduction_tree import Group, groups_due
from app.domain.results import Statement
from app.domain.topics import Topic
from tests.support.story import Story, brief, called, task, text_block


def planned_for_many(count: int = 31, **limits: Any) -> Story:
    """A run whose plan reduces and has so many tasks, t1, t2, …, none of which is begun."""
    story = Story(brief(**{"tasks": 100, "concurrency": 4, "timeout_s": 1000} | limits))
    story.queued()
    story.started()
    tasks = tuple(task(f"t{number}", title=f"Part {number}") for number in range(1, count + 1))
    story.tell(ev.PlanCreated.of(Plan(tasks=tasks, strategy="reduce")))
    return story


def many(count: int = 31, **limits: Any) -> Story:
    """The same when all of them have delivered."""
    story = planned_for_many(count, **limits)
    for number in range(1, count + 1):
        story.succeed(f"t{number}", text=f"Town {number} has {number * 1_000 + 7} people.")
    return story


def of_size(count: int, characters: int) -> Story:
    """A run whose results have so many characters each, give or take a few."""
    story = planned_for_many(count)
    for number in range(1, count + 1):
        story.succeed(f"t{number}", text="x" * characters)
    return story


def topic_of_group(group: Group) -> Topic:
    """The conversation about a group."""
    return Topic("reduce", number=group.named.number)


def reducing() -> Story:
    """A run in which groups of results are to be put together."""
    return many()


def first_group() -> Topic:
    """The conversation about the first of them."""
    return topic_of_group(groups_due(reducing().run)[0])


def heard(story: Story, group: Group) -> None:
    """A reply about a group, of which nothing is read yet."""
    call = called("reduce", number=group.named.number)
    story.tell(call.completed(stop_reason="end_turn", content=[text_block("so")]))


def reduce(story: Story, group: Group, text: str = "In short.", **told: Any) -> ev.ReductionCompleted:
    """A group put together."""
    heard(story, group)
    whole = {"statements": (Statement(text=text, tasks=group.named.tasks),), **told}
    fact = ev.ReductionCompleted(**group.named.model_dump(), text=text, **whole)
    story.tell(fact)
    return fact


def reduce_all(story: Story) -> Sequence[ev.ReductionCompleted]:
    """Every group of every level put together, until what is left fits."""
    told: list[ev.ReductionCompleted] = []
    while groups := groups_due(story.run):
        told += [reduce(story, group) for group in groups]
    return told


def with_strategy(story: Story, strategy: str) -> Story:
    """The run with another strategy of its plan."""
    assert story.run.plan is not None
    plan = story.run.plan.model_copy(update={"strategy": strategy})
    story.run = replace(story.run, plan=plan)
    return story
