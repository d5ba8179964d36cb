"""What an engine may be told to do, and the decision that says the whole of it."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta

from app.domain import events as ev
from app.domain.conversation import Conversation
from app.domain.events import Event
from app.domain.snapshot import Snapshot

PARK_AFTER = timedelta(seconds=5)
"""A run that has nothing to do for longer than this gives its place back and waits in the database."""


@dataclass(frozen=True, slots=True)
class MakePlan:
    """Have the supervisor plan."""


@dataclass(frozen=True, slots=True)
class Refine:
    """Have the supervisor rewrite a task's instruction in view of its last failure."""

    task_id: str


@dataclass(frozen=True, slots=True)
class WorkOn:
    """Have a worker go on with an attempt that has started."""

    task_id: str
    attempt: int


@dataclass(frozen=True, slots=True)
class Synthesize:
    """Have the supervisor reconcile the results."""


Command = MakePlan | Refine | WorkOn | Synthesize


@dataclass(frozen=True, slots=True)
class Decision:
    """What should be going on."""

    commands: tuple[Command, ...] = ()
    """All that should be under way. What runs and is not named here is to stop."""
    events: tuple[Event, ...] = ()
    """What is settled: to be recorded once everything unwanted has stopped."""
    wake_at: datetime | None = None
    """When to decide again even if nothing happens."""


@dataclass(slots=True)
class Draft:
    """A decision in the making."""

    commands: list[Command] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    wakes: list[datetime] = field(default_factory=list)

    def call(self, command: Command, talk: Conversation, now: datetime) -> None:
        """Carry out `command` now, or once the conversation it goes on with may be taken up again."""
        if talk.retry_at is not None and talk.waits(now):
            self.wakes.append(talk.retry_at)
        else:
            self.commands.append(command)

    def decision(self, run: Snapshot, now: datetime) -> Decision:
        wake_at = min((at for at in self.wakes if at > now), default=None)
        if not self.commands and not self.events and wake_at and wake_at - now > PARK_AFTER:
            waiting = ev.Waiting(reason="provider", until=wake_at)
            return Decision(events=(ev.RunWaiting(at=now, run_id=run.brief.run_id, data=waiting),))
        return Decision(tuple(self.commands), tuple(self.events), wake_at)
