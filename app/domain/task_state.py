"""The state of a task as a value: its attempts so far, and what the next one will be."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from app.domain.nested import Child
from app.domain.plan import Task
from app.domain.results import Escalation, Output, Problem
from app.domain.states import TERMINAL_TASK, AttemptStatus, TaskStatus
from app.domain.team import Rung
from app.domain.topics import Topic
from app.domain.usage import Usage
from app.domain.values import changed


@dataclass(frozen=True)
class Attempt:
    """One try of one worker at a task."""

    number: int
    worker: str
    model: str
    instruction: str
    started_at: datetime
    since: datetime
    """When its clock started: anew after a resume, which costs it no time. Waits for the provider set it on."""
    heard_at: datetime | None = None
    """When its conversation last moved on."""
    refined_from: int | None = None
    change: str = ""
    beside: int | None = None
    """The attempt at whose side it was begun; None for one that began alone."""
    status: AttemptStatus = "running"
    error: Problem | None = None
    escalation: Escalation | None = None
    finished_at: datetime | None = None
    usage: Usage = Usage()
    child: Child | None = None
    """The nested run that does its work, where its worker is a team; None before there is one."""


@dataclass(frozen=True)
class NextAttempt:
    """What the next attempt at a task will be, as far as that is settled."""

    worker: str
    instruction: str
    model: str | None = None
    """The tier that plays the worker; None for the worker's own model."""
    refined_from: int | None = None
    """The attempt whose failure led to the instruction; None for the plan's own."""
    change: str = ""
    """What is different about the instruction."""
    not_before: datetime | None = None
    first: Topic | None = None
    """The conversation that must be had before it may start."""
    climbed: tuple[Rung, ...] = ()
    """The rungs of the team's ladder that the task has taken."""
    told: tuple[str, ...] = ()
    """What people have said about the task, or what is taken for granted since they have not."""

    @property
    def words(self) -> str:
        """All that the worker is told to do."""
        return "\n\n".join((self.instruction, *self.told))


@dataclass(frozen=True)
class TaskState:
    """A task of the plan and what became of it so far."""

    task: Task
    next: NextAttempt
    position: int = 0
    """Its place among all the tasks that the run has had."""
    status: TaskStatus = "pending"
    attempts: tuple[Attempt, ...] = ()
    question: str | None = None
    """Id of the question that it waits for, or whose default is to be taken."""
    split_into: tuple[str, ...] = ()
    """Ids of the tasks that were to take its place."""
    output: Output | None = None
    error: Problem | None = None
    finished_at: datetime | None = None
    usage: Usage = Usage()
    dropped: bool = False
    """Whether the run goes on to its answer without it. It may still deliver."""

    @property
    def ended(self) -> bool:
        return self.status in TERMINAL_TASK

    @property
    def is_awaited(self) -> bool:
        """Whether something may still wait for it."""
        return not self.ended and not self.dropped

    @property
    def delivered(self) -> bool:
        return self.status == "succeeded"

    @property
    def running(self) -> tuple[Attempt, ...]:
        """Those under way: two while one is made beside another; one that the end of the task left behind."""
        return tuple(attempt for attempt in self.attempts if attempt.status == "running")

    @property
    def attempt(self) -> Attempt:
        """The attempt that counts, of a task that has one: which has delivered, else which runs, else the latest."""
        for status in ("succeeded", "running"):
            for attempt in reversed(self.attempts):
                if attempt.status == status:
                    return attempt
        return self.attempts[-1]

    @property
    def worker(self) -> str:
        """Who has made the attempt that counts, be it in another run, or is to make the first."""
        return self.attempt.worker if self.attempts else self.next.worker

    def tried(self, number: int) -> Attempt:
        """The attempt of that number."""
        return self.attempts[number - 1]

    def with_attempt(self, number: int, **changes: Any) -> "TaskState":
        """The task with one attempt changed."""
        place = number - 1
        attempt = changed(self.attempts[place], **changes)
        return changed(self, attempts=(*self.attempts[:place], attempt, *self.attempts[number:]))


def without_findings(tasks: list[TaskState], names: Collection[str]) -> list[TaskState]:
    """The tasks, those of these `names` without their data: what has become of the findings there is told apart."""
    if not names:
        return tasks
    return [
        changed(task, output=task.output.model_copy(update={"data": None}))
        if task.output is not None and task.task.id in names
        else task
        for task in tasks
    ]
