"""Which conversation: what it is for, about which task, and which one of its kind."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from app.domain.events import AnyFact, Entry, Event, Purpose

GO_ON: Mapping[str, Purpose] = {
    "plan.invalid": "plan",
    "task.rejected": "work",
    "ruling.rejected": "rule",
    "tool.started": "work",
    "tool.completed": "work",
    "tool.failed": "work",
    "synthesis.rejected": "synthesize",
    "reduction.rejected": "reduce",
    "review.rejected": "review",
    "selection.rejected": "select",
    "judgement.rejected": "arbitrate",
    "verification.rejected": "verify",
}
"""The events other than model calls that a conversation goes on by, and what it is for."""


class Topic(NamedTuple):
    """What a conversation with a model is about. The state of a run holds one conversation for each."""

    purpose: Purpose
    task_id: str | None = None
    number: int = 1
    """The attempt at the task; else the revision of the plan, the round of the answer, the group of results, or the
    finding."""

    @property
    def attempt(self) -> int | None:
        """The attempt, as events name it."""
        return None if self.task_id is None else self.number

    def entry(self, fact: AnyFact) -> Entry:
        """A fact about this conversation, for the log."""
        return Entry(fact, self.task_id, self.attempt)


def topic_of(event: Event) -> Topic:
    """The conversation that an event goes on: a model call, a tool call, a rejection."""
    number = event.attempt or getattr(event.data, "number", None)
    return topic_named(event.type, getattr(event.data, "purpose", None), event.task_id, number)


def topic_told(event: Mapping[str, Any]) -> Topic:
    """The same of an event as clients get it, a JSON value."""
    told = event["data"]
    return topic_named(event["type"], told.get("purpose"), event["task_id"], event["attempt"] or told.get("number"))


def topic_named(kind: str, purpose: Purpose | None, task_id: str | None, number: int | None) -> Topic:
    """The same by an event's type, its `purpose` if it has one, whose it is, and its attempt, else its `number`."""
    return Topic(purpose or GO_ON[kind], task_id, number or 1)
