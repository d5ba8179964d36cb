"""Circuit breakers: when something that keeps failing is left alone, and how it is found out that it works again.

A breaker is `closed` while what stands behind it works. Failures that the next call would meet too open it: one that
says so is enough, others must come in a row. While it is `open` nothing is sent there. After a pause, which grows with
every opening, exactly one call may try: the breaker is `half_open` until this probe reports. Its answer closes the
breaker, its failure opens it again; a probe that does not report in time gives up its turn.

What was sent before the opening and ends after it says nothing about now, and changes nothing (but it may have been
told to stay away longer, or bear out that an account is dead). What has begun since the last failure and comes to a
good end says as much as a probe. Here is the policy alone; every replica applies it to the one row of a breaker.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Literal, cast

from app.domain import events as ev
from app.domain.failures import PERMANENT
from app.domain.results import Problem
from app.domain.retries import Patience

BreakerKind = Literal["model", "worker", "tool"]
BreakerState = Literal["closed", "open", "half_open"]
Stance = Literal["pass", "probe", "hold", "refuse"]
"""What a breaker has to say to a call: go; go, and tell of it; wait; do not even wait."""

TRIPPED = "tripped"
"""The reason of a breaker that somebody opened by hand: it stays open until somebody closes it."""
FAILURES_ALLOWED = 5
"""Failures in a row that open a breaker, over all runs and replicas."""
MEMORY = timedelta(minutes=10)
"""Failures further apart than this are not in a row."""
LONG_PAUSE_S = 5.0
"""A provider that asks for a pause longer than this is left alone at once, by everybody."""
LONGEST_PAUSE_S = 3600.0
"""Nothing is left alone longer than this on one failure's word; then one call finds out anew."""
PAUSE_BASES = 10
PAUSE_CEILING_BASES = 60
"""The first pause and the longest one, in waits before a first repetition (`Patience.retry_base_s`)."""
LEAST_PAUSE_S = 0.05
WITHOUT_NEWS = timedelta(minutes=1)
"""How long whoever is held waits at the most before it looks again, whatever it hears."""


@dataclass(frozen=True, slots=True)
class Breaker:
    """One breaker, as its row has it."""

    name: str
    """`model:<id>`, `worker:<team>/<worker>` or `tool:<name>`."""
    state: BreakerState = "closed"
    reason: str | None = None
    """The code of the failure that opened it, or `tripped`; None while it is closed."""
    failures: int = 0
    """Failures in a row."""
    openings: int = 0
    """How often it has opened since it was last closed: the pause grows with it."""
    failed_at: datetime | None = None
    """When the newest failure was counted."""
    opened_at: datetime | None = None
    probe_at: datetime | None = None
    """When the next probe may go; while one is under way, until when it has to report. None: once it is reset."""
    prober: str | None = None
    """Whose probe is under way."""
    about: tuple[str, ...] = ()
    """What the failures were about, where they name something: more about the same says nothing new."""

    @property
    def is_borne_out(self) -> bool:
        """Whether a cause that does not pass has been met again: by a probe, or by another run.

        A single request may look like one of a dead account although it alone is to blame.
        """
        return self.openings > 1 or len(self.about) > 1

    @property
    def kind(self) -> BreakerKind:
        """What stands behind it."""
        return kind_of(self.name)


def kind_of(name: str) -> BreakerKind:
    """What stands behind the breaker of that name."""
    return cast(BreakerKind, name.partition(":")[0])


@dataclass(frozen=True, slots=True)
class Fault:
    """A failure that speaks against what is behind a breaker."""

    code: str
    retry_after_s: float | None = None
    """How long it asked to be left alone."""
    about: str | None = None
    """What the call was about, where that may be to blame as well: the host of a page, the run of a worker."""


def stance(breaker: Breaker | None, now: datetime) -> Stance:
    """What a call has to do that would be made now."""
    if breaker is None or breaker.state == "closed":
        return "pass"
    if breaker.probe_at is not None and breaker.probe_at <= now:
        return "probe"
    # While a probe is under way nobody knows: its answer is waited for.
    is_dead = breaker.state == "open" and breaker.reason in PERMANENT and breaker.is_borne_out
    return "refuse" if is_dead else "hold"


def look_again_at(breaker: Breaker, now: datetime, patience: Patience) -> datetime:
    """When whoever it holds looks again, without news: at the next probe, or soon when the present one may be over.

    News may be lost on its way to a run that is just being parked: nobody waits for it longer than `WITHOUT_NEWS`.
    """
    within = pause_after(1, patience) if breaker.state == "half_open" else WITHOUT_NEWS
    return now + within if breaker.probe_at is None else min(breaker.probe_at, now + within)


def fail(breaker: Breaker, fault: Fault, now: datetime, patience: Patience, prober: str | None = None) -> Breaker:
    """The breaker after a failure: of the probe, where `prober` has it, else of any other call."""
    if breaker.state == "closed":
        counted = _count(breaker, fault, now)
        return _open(counted, fault, now, patience) if counted is not breaker and _opens(counted, fault) else counted
    if breaker.state == "half_open" and breaker.prober == prober:
        return _open(replace(breaker, failures=breaker.failures + 1), fault, now, patience)
    if breaker.state == "open" and _bears_out(breaker, fault):
        breaker = replace(breaker, about=_about(breaker, fault))
    asked = now + _asked(fault)
    if breaker.state == "open" and breaker.probe_at is not None and breaker.probe_at < asked:
        return replace(breaker, probe_at=asked)
    return breaker


def _bears_out(breaker: Breaker, fault: Fault) -> bool:
    """Whether a failure, of another run, shows that the cause which does not pass is none of a single request."""
    is_dead = fault.code in PERMANENT and breaker.reason in PERMANENT and not breaker.is_borne_out
    return is_dead and fault.about not in breaker.about


def _about(breaker: Breaker, fault: Fault) -> tuple[str, ...]:
    return breaker.about if fault.about is None else (*breaker.about, fault.about)


def _count(breaker: Breaker, fault: Fault, now: datetime) -> Breaker:
    if breaker.failed_at is None or now - breaker.failed_at > MEMORY:
        breaker = Breaker(breaker.name)
    counted = replace(breaker, failures=breaker.failures + 1, failed_at=now)
    if breaker.kind == "model":  # Nobody else is to blame for its silence, whatever the call was about.
        return counted
    return breaker if fault.about in breaker.about else replace(counted, about=_about(breaker, fault))


def _opens(counted: Breaker, fault: Fault) -> bool:
    if fault.code in PERMANENT or (fault.retry_after_s or 0) > LONG_PAUSE_S:
        return True
    return counted.failures >= FAILURES_ALLOWED


def _open(breaker: Breaker, fault: Fault, now: datetime, patience: Patience) -> Breaker:
    openings = breaker.openings + 1
    return Breaker(
        breaker.name,
        "open",
        reason=fault.code,
        failures=breaker.failures,
        openings=openings,
        failed_at=now,
        opened_at=breaker.opened_at or now,
        probe_at=now + max(pause_after(openings, patience), _asked(fault)),
        about=_about(breaker, fault) if openings == 1 and fault.code in PERMANENT else (),
    )


def _asked(fault: Fault) -> timedelta:
    return timedelta(seconds=min(fault.retry_after_s or 0, LONGEST_PAUSE_S))


def pause_after(openings: int, patience: Patience) -> timedelta:
    """How long nothing is sent after so many openings in a row: it doubles, up to a ceiling."""
    bases = min(PAUSE_BASES * 2 ** min(openings - 1, 10), PAUSE_CEILING_BASES)
    return timedelta(seconds=max(bases * patience.retry_base_s, LEAST_PAUSE_S))


def succeed(breaker: Breaker, prober: str | None = None, began_at: datetime | None = None) -> Breaker:
    """The breaker after an answer: of the probe, where `prober` has it, else of any other call, which began then."""
    if breaker.state == "closed":
        return Breaker(breaker.name) if breaker.failures else breaker
    is_probe = breaker.state == "half_open" and breaker.prober == prober
    return Breaker(breaker.name) if is_probe or _is_later(breaker, began_at) else breaker


def _is_later(breaker: Breaker, began_at: datetime | None) -> bool:
    """Whether a call has begun since the newest failure. What was opened by hand is closed by hand."""
    if began_at is None or breaker.failed_at is None or breaker.reason == TRIPPED:
        return False
    return began_at > breaker.failed_at


def take_probe(breaker: Breaker, prober: str, now: datetime, within_s: float) -> Breaker:
    """The breaker once `prober` has the probe, to report within so many seconds; unchanged when it cannot be had."""
    if stance(breaker, now) != "probe":
        return breaker
    return replace(breaker, state="half_open", prober=prober, probe_at=now + timedelta(seconds=within_s))


def leave_probe(breaker: Breaker, prober: str, now: datetime) -> Breaker:
    """The breaker when a probe came to nothing, without a word for or against it: the next one may go at once."""
    if breaker.state != "half_open" or breaker.prober != prober:
        return breaker
    return replace(breaker, state="open", prober=None, probe_at=now)


def trip(breaker: Breaker, now: datetime) -> Breaker:
    """The breaker when somebody opens it by hand."""
    return Breaker(breaker.name, "open", reason=TRIPPED, failures=breaker.failures, opened_at=now)


def reset(breaker: Breaker) -> Breaker:
    """The breaker when somebody closes it by hand."""
    return Breaker(breaker.name)


def opening_of(breaker: Breaker) -> ev.BreakerOpened:
    """What a run is told of a breaker that is not closed."""
    assert breaker.opened_at is not None
    return ev.BreakerOpened(
        name=breaker.name,
        kind=breaker.kind,
        reason=breaker.reason or TRIPPED,
        failures=breaker.failures,
        opened_at=breaker.opened_at,
        probe_at=breaker.probe_at,
    )


_BRAKES: Mapping[str, str] = {
    "provider_auth": "The provider does not accept the key: another call has just met this, and this one was not sent.",
    "provider_billing": "The account at the provider cannot pay: another call has just met this, and this one was not "
    "sent.",
}


def brake_of(breaker: Breaker) -> Problem:
    """Why a run ends whose next call the breaker refuses."""
    code = breaker.reason or TRIPPED
    return Problem(code=code, message=_BRAKES[code])
