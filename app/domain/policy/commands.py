"""What an engine may be told to do, and the decision that says the whole of it."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from app.domain import events as ev
from app.domain.events import Entry
from app.domain.snapshot import Snapshot
from app.domain.states import WaitReason
from app.domain.topics import Topic


@dataclass(frozen=True, slots=True)
class Converse:
    """Go on with a conversation until it is over, or has to wait."""

    topic: Topic

    def __str__(self) -> str:
        return " ".join(map(str, filter(None, (self.topic.purpose, self.topic.task_id, self.topic.attempt))))


Command = Converse


@dataclass(frozen=True, slots=True)
class Decision:
    """What should be going on."""

    commands: tuple[Command, ...] = ()
    """All that should be under way. What runs and is not named here is to stop."""
    entries: tuple[Entry, ...] = ()
    """What is settled: to be recorded once everything unwanted has stopped."""
    wake_at: datetime | None = None
    """When to decide again even if nothing happens."""


@dataclass(slots=True)
class DecisionBuilder:
    """A decision in the making."""

    commands: list[Command] = field(default_factory=list)
    entries: list[Entry] = field(default_factory=list)
    wakes: list[datetime] = field(default_factory=list)
    """When to look again, whatever happens until then."""
    waits: list[WaitReason] = field(default_factory=list)
    """What is waited for outside the run."""

    def converse(self, run: Snapshot, topic: Topic, now: datetime) -> None:
        """Go on with a conversation now, or once its next call may be sent."""
        talk = run.conversation(topic)
        if talk.retry_at is not None and talk.waits(now):
            self.wait("provider", talk.retry_at)
        else:
            self.commands.append(Converse(topic))

    def settle(self, fact: ev.AnyFact, task_id: str | None = None, attempt: int | None = None) -> None:
        """Have a fact recorded."""
        self.entries.append(Entry(fact, task_id, attempt))

    def wait(self, reason: WaitReason, until: datetime | None = None) -> None:
        """Wait for something outside, until a certain time if there is one."""
        self.waits.append(reason)
        if until is not None:
            self.wakes.append(until)

    def decision(self, run: Snapshot, now: datetime) -> Decision:
        """All of it. A run that has nothing to do but wait is parked when that takes long."""
        wake_at = min((at for at in self.wakes if at > now), default=None)
        park_after = timedelta(seconds=run.brief.patience.park_after_s)
        if self.waits and not self.commands and not self.entries and (wake_at is None or wake_at - now > park_after):
            return settled([Entry(ev.RunWaiting(reason=self.waits[0], until=wake_at))])
        return Decision(tuple(self.commands), tuple(self.entries), wake_at)


def settled(entries: Iterable[Entry]) -> Decision:
    """Nothing should be going on any more, or not before these are recorded."""
    return Decision(entries=tuple(entries))
