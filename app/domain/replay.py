"""A replay: the log of a run driven through today's code, and where that comes to something else than is stored."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel, ConfigDict
from pydantic_core import to_json, to_jsonable_python

from app.domain.brief import Brief
from app.domain.errors import FAULTS
from app.domain.events import AnyFact, Entry, Event, LlmCompleted, Purpose
from app.domain.fold import after
from app.domain.policy.decide import decide
from app.domain.snapshot import Snapshot
from app.domain.text import shorten

DIFFERENCES_SHOWN = 50
VALUE_CHARACTERS = 500
"""What is shown of a value whose JSON is longer."""
READINGS: Mapping[Purpose, frozenset[str]] = {
    "plan": frozenset({"plan.created", "plan.invalid"}),
    "work": frozenset({"task.succeeded", "task.rejected", "task.escalated"}),
    "rule": frozenset({
        "task.retrying", "task.reassigned", "task.split", "question.asked", "task.succeeded", "task.failed",
        "ruling.rejected",
    }),
    "refine": frozenset({"task.refined"}),
    "select": frozenset({"selection.completed", "selection.rejected"}),
    "synthesize": frozenset({
        "conflict.found", "synthesis.completed", "synthesis.rejected", "gap.found", "plan.revised",
    }),
    "reduce": frozenset({"reduction.completed", "reduction.rejected"}),
    "review": frozenset({"review.completed", "review.rejected"}),
    "arbitrate": frozenset({"conflict.judged", "judgement.rejected"}),
    "verify": frozenset({"finding.verified", "verification.rejected"}),
}  # fmt: skip
"""What the reading of a final reply may lead to, by what the model was called for."""
ONLY_READ = frozenset().union(*READINGS.values()) - {
    "plan.revised",
    "task.retrying",
    "task.reassigned",
    "task.failed",
    "question.asked",
    "finding.verified",
}
"""Those of them that nothing else leads to."""
STAMPED = {"plan.created": {"quote", "validation", "source"}, "question.asked": {"expires_at"}}
"""Fields that say nothing of how a reply is read: they rest on prices, history and the time, are advice, of which every
release has more, or were not told at first."""

Reader = Callable[[Snapshot, Event], Sequence[Entry]]
"""What the reply of an event amounts to in the state before it; nothing when it is not read as a final one."""


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)


class Mismatch(_Part):
    """A place where today's code says something else than is stored."""

    seq: int | None = None
    """Number of the event; null for a row."""
    row: str | None = None
    """The row, as `runs`, `plans/1`, `tasks/t1` or `attempts/t1/2`; null for an event."""
    field: str
    """What differs there."""
    stored: Any = None
    """What is stored; a long value is shortened."""
    replayed: Any = None
    """What today's code makes of the log; a long value is shortened."""


class Replay(_Part):
    """Whether today's code comes to the same state of a run as is stored."""

    same: bool
    """Whether nothing differs."""
    last_seq: int
    """Number of the newest event that was looked at."""
    events: int
    """How many events were folded."""
    replies: int
    """Replies of models that were read again."""
    differences: tuple[Mismatch, ...] = ()
    """The first of the places that differ."""
    omitted: int = 0
    """How many more there are."""


@dataclass(slots=True)
class Findings:
    """What a replay has found so far."""

    events: int = 0
    replies: int = 0
    shown: list[Mismatch] = field(default_factory=list)
    omitted: int = 0

    def add(self, place: str, stored: Any, replayed: Any, *, seq: int | None = None, row: str | None = None) -> None:
        """Note a difference."""
        if len(self.shown) >= DIFFERENCES_SHOWN:
            self.omitted += 1
            return
        values = {"stored": _shown(stored), "replayed": _shown(replayed)}
        self.shown.append(Mismatch(seq=seq, row=row, field=place, **values))

    def told(self, last_seq: int) -> Replay:
        """All of it."""
        return Replay(
            same=not self.shown,
            last_seq=last_seq,
            events=self.events,
            replies=self.replies,
            differences=tuple(self.shown),
            omitted=self.omitted,
        )


def _shown(value: Any) -> Any:
    plain = to_jsonable_python(value)
    text = plain if isinstance(plain, str) else to_json(plain).decode()
    return plain if len(text) <= VALUE_CHARACTERS else shorten(text, VALUE_CHARACTERS)[0]


def drive(brief: Brief, log: Sequence[Event], read: Reader | None, findings: Findings) -> Snapshot | None:
    """Fold the log as today's code does, and read its replies again; the state it ends in.

    Without a reader only the first: replies of which but a part is left say nothing.

    None when an event cannot have happened in the state that it meets.
    """
    run = Snapshot(brief)
    for place, event in enumerate(log):
        try:
            following = after(run, event)
        except FAULTS as error:
            findings.add("type", event.type, f"cannot follow here: {error}", seq=event.seq)
            return None
        if read is not None and isinstance(event.data, LlmCompleted) and event.data.thrown_away is None:
            _read_again(run, event, _told_with(event, event.data.purpose, log[place + 1 :]), read, findings)
        run = following
        findings.events += 1
    if run.ended and (wanted := decide(run, log[-1].at)) and (wanted.commands or wanted.entries):
        what = [*map(str, wanted.commands), *(entry.fact.type for entry in wanted.entries)]
        findings.add("decision", [], what, seq=log[-1].seq)
    return run


def _read_again(run: Snapshot, event: Event, told: Sequence[Event], read: Reader, findings: Findings) -> None:
    """Compare what was `told` together with a reply with what its readers make of it today.

    A reply and what follows from it are one commit. Where something else came behind it, such as the end of a run that
    was stopped just then, nothing can be said of it.
    """
    if not told:
        return
    try:
        expected = read(run, event)
    except FAULTS as error:
        findings.add("reading", told[0].type, f"cannot be read: {type(error).__name__}", seq=event.seq)
        return
    if not expected and told[0].type in ONLY_READ:
        findings.add("type", told[0].type, None, seq=told[0].seq)
    findings.replies += bool(expected)
    for stored, entry in zip(told, expected, strict=False):
        if entry.fact.type != stored.type:
            findings.add("type", stored.type, entry.fact.type, seq=stored.seq)
            return
        for name, was, would_be in _different(stored.data, entry.fact):
            findings.add(name, was, would_be, seq=stored.seq)


def _told_with(event: Event, purpose: Purpose, behind: Iterable[Event]) -> list[Event]:
    """What was read in a reply when it came: recorded together with it, behind tools that the provider ran."""
    told: list[Event] = []
    for each in behind:
        if (each.at, each.task_id, each.attempt) != (event.at, event.task_id, event.attempt):
            break
        if not each.type.startswith("tool."):
            told.append(each)
    return told if told and told[0].type in READINGS[purpose] else []


def _different(stored: AnyFact, replayed: AnyFact) -> Iterable[tuple[str, Any, Any]]:
    left_out = STAMPED.get(stored.type, set())
    was, would_be = to_jsonable_python(stored), to_jsonable_python(replayed)
    for name in was:
        if name not in left_out and was[name] != would_be.get(name):
            yield name, was[name], would_be.get(name)
