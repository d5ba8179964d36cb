"""What an engine may be told to do, and the decision that says the whole of it."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from app.domain import events as ev
from app.domain.breaker_names import model_breaker, tool_breaker, worker_breaker
from app.domain.events import Entry
from app.domain.policy.agenda import step_in
from app.domain.policy.breakers import brake_of, kind_of, look_again_at, opening_of, stance
from app.domain.policy.conditions import UNKNOWN, Conditions
from app.domain.policy.endings import deliver, fail
from app.domain.protocol import Ask
from app.domain.results import Problem
from app.domain.snapshot import Snapshot
from app.domain.states import WaitReason
from app.domain.topics import Topic


@dataclass(frozen=True, slots=True)
class Converse:
    """Go on with a conversation until it is over, or has to wait."""

    topic: Topic

    def __str__(self) -> str:
        return " ".join(map(str, filter(None, (self.topic.purpose, self.topic.task_id, self.topic.attempt))))


@dataclass(frozen=True, slots=True)
class RunChild:
    """Have the nested run begun that does the work of an attempt."""

    task_id: str
    attempt: int

    def __str__(self) -> str:
        return f"child {self.task_id} {self.attempt}"


@dataclass(frozen=True, slots=True)
class PlaceFindings:
    """Have it looked up in the inputs where the findings of these tasks are."""

    tasks: tuple[str, ...]

    def __str__(self) -> str:
        return "place findings"


Command = Converse | RunChild | PlaceFindings


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

    run: Snapshot
    now: datetime
    conditions: Conditions = UNKNOWN
    commands: list[Command] = field(default_factory=list)
    entries: list[Entry] = field(default_factory=list)
    wakes: list[datetime] = field(default_factory=list)
    """When to look again, whatever happens until then."""
    waits: list[WaitReason] = field(default_factory=list)
    """What is waited for outside the run."""
    braked: Problem | None = None
    """Why the run ends: its next call would only meet again what others have met."""
    _told: dict[str, ev.BreakerOpened] = field(default_factory=dict)
    """What the run is told of breakers that hold it, by their names."""
    _probes: set[str] = field(default_factory=set)
    """Breakers through which one conversation of this run goes as the probe."""

    def converse(self, topic: Topic) -> bool:
        """Go on with a conversation now, or once its next call may be sent; whether that is now."""
        talk = self.run.conversation(topic)
        if talk.retry_at is not None and talk.waits(self.now):
            self._hear_of(name := model_breaker(self.run.model_of(topic)))
            self.wait("provider", talk.retry_at)
            self._look_again_at(name)
            return False
        begins_call = topic not in self.conditions.under_way and isinstance(step_in(self.run, topic), Ask)
        if begins_call and not self.may_call(self.run.model_of(topic)):
            return False
        self.commands.append(Converse(topic))
        return True

    def may_call(self, model: str) -> bool:
        """Whether a call of this model may be begun. Where its breaker says no, that is told, and waited for."""
        name, deadline = model_breaker(model), self.run.deadline
        breaker = self.conditions.breakers.get(name)
        says = stance(breaker, self.now)
        if breaker is None or says == "pass":
            return True
        self._hear_of(name)
        if says == "refuse":
            self.braked = brake_of(breaker)
        elif says == "probe" and name not in self._probes:
            self._probes.add(name)
            return True
        elif breaker.state == "open" and breaker.probe_at and deadline and breaker.probe_at >= deadline:
            return True  # It will not be sent, and says so: there is nothing to wait for.
        else:
            self.wait("provider")
            self._look_again_at(name)
        return False

    def _look_again_at(self, name: str) -> None:
        """Decide again when a breaker that is not closed may have changed, whatever is heard of it."""
        breaker = self.conditions.breakers.get(name)
        if breaker is not None:
            self.wakes.append(look_again_at(breaker, self.now, self.run.brief.patience))

    def may_begin(self, name: str) -> bool:
        """Whether a worker may be given a task, as far as its breaker is concerned; one task of a run is the probe."""
        says = stance(self.conditions.breakers.get(name), self.now)
        return says == "pass" or (says == "probe" and name not in self._probes)

    def begin(self, name: str) -> None:
        """Give a worker a task: if its breaker lets one through as the probe, this is it."""
        self._probes.add(name)

    def _hear_of(self, name: str) -> None:
        """Have the run told of a breaker, unless it is closed or the log tells of it already."""
        breaker = self.conditions.breakers.get(name)
        if breaker is not None and name not in self.run.breakers:
            self._told[name] = opening_of(breaker)

    def settle(self, fact: ev.AnyFact, task_id: str | None = None, attempt: int | None = None) -> None:
        """Have a fact recorded."""
        self.entries.append(Entry(fact, task_id, attempt))

    def wait(self, reason: WaitReason, until: datetime | None = None) -> None:
        """Wait for something outside, until a certain time if there is one."""
        self.waits.append(reason)
        if until is not None:
            self.wakes.append(until)

    def decision(self) -> Decision:
        """All of it. A run that has nothing to do but wait is parked when that takes long."""
        news = self._news_of_breakers()
        if self.braked is not None and self.run.synthesis is not None:
            return settled([*news, *deliver(self.run)])  # There will be no better answer.
        if self.braked is not None:
            return settled([*news, *fail(self.run, self.braked.code, self.braked.message)])
        wake_at = min((at for at in self.wakes if at > self.now), default=None)
        park_after = timedelta(seconds=self.run.brief.patience.park_after_s)
        frees = any(isinstance(entry.fact, ev.BreakerClosed) for entry in news)  # What that comes to is decided anew.
        idle = self.waits and not self.commands and not self.entries and not frees
        if idle and (wake_at is None or wake_at - self.now > park_after):
            return settled([*news, Entry(ev.RunWaiting(reason=self.waits[0], until=wake_at))])
        return Decision(tuple(self.commands), (*news, *self.entries), wake_at)

    def _news_of_breakers(self) -> list[Entry]:
        """What the log does not say yet: which breakers hold the run, and which of those it names are closed."""
        run, known = self.run, self.conditions.breakers
        for name in known:
            if concerns(run, name):
                self._hear_of(name)
        closed = [ev.BreakerClosed(name=name, kind=kind_of(name)) for name in run.breakers if name not in known]
        return [*map(Entry, closed), *map(Entry, self._told.values())]


def settled(entries: Iterable[Entry]) -> Decision:
    """Nothing should be going on any more, or not before these are recorded."""
    return Decision(entries=tuple(entries))


def concerns(run: Snapshot, name: str) -> bool:
    """Whether a breaker keeps this run from one of its team's workers or tools."""
    team = run.brief.team
    workers = {worker_breaker(team.name, worker.name) for worker in team.workers}
    return name in workers or name in {tool_breaker(tool) for worker in team.workers for tool in worker.tools}


def openings_by(run: Snapshot, code: str, conditions: Conditions) -> list[Entry]:
    """What the run is told of breakers that its end has opened."""
    opened = [breaker for name, breaker in conditions.breakers.items() if name not in run.breakers]
    return [Entry(opening_of(breaker)) for breaker in opened if breaker.reason == code]
