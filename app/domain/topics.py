"""Which conversation: what it is for, about which task, and which one of its kind."""

from collections.abc import Mapping
from typing import NamedTuple

from app.domain.events import AnyFact, Entry, Event, Purpose

GO_ON: Mapping[str, Purpose] = {
    "plan.invalid": "plan",
    "task.rejected": "work",
    "ruling.rejected": "rule",
    "tool.started": "work",
    "tool.completed": "work",
    "tool.failed": "work",
    "synthesis.rejected": "synthesize",
    "review.rejected": "review",
    "judgement.rejected": "arbitrate",
}
"""The events other than model calls that a conversation goes on by, and what it is for."""


class Topic(NamedTuple):
    """What a conversation with a model is about. The state of a run holds one conversation for each."""

    purpose: Purpose
    task_id: str | None = None
    number: int = 1
    """The attempt at the task; else the revision of the plan, or the round of the answer."""

    @property
    def attempt(self) -> int | None:
        """The attempt, as events name it."""
        return None if self.task_id is None else self.number

    def entry(self, fact: AnyFact) -> Entry:
        """A fact about this conversation, for the log."""
        return Entry(fact, self.task_id, self.attempt)


def topic_of(event: Event) -> Topic:
    """The conversation that an event goes on: a model call, a tool call, a rejection."""
    return topic_named(event.type, getattr(event.data, "purpose", None), event.task_id, event.attempt)


def topic_named(kind: str, purpose: Purpose | None, task_id: str | None, attempt: int | None) -> Topic:
    """The same by an event's type, its `purpose` if it has one, and whose it is."""
    return Topic(purpose or GO_ON[kind], task_id, attempt or 1)
