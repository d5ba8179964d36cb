"""Who hears of what this process does to the database: the store says so where it is done, and asks nothing back."""

from collections.abc import Sequence

from app.domain.events import Event
from app.domain.policy.breakers import BreakerKind, BreakerState
from app.domain.quotas import LimitName
from app.domain.schedules import Outcome
from app.domain.snapshot import Snapshot


class Witness:
    """Makes nothing of what it hears; whoever wants to know overrides that. It must not raise: all is done by then."""

    def heard_facts(self, run: Snapshot, events: Sequence[Event]) -> None:
        """`events` are facts now, the newest of `run`. Of all processes one hears of each: the one that wrote it."""

    def heard_unreadable(self) -> None:
        """A run was failed whose log cannot be read."""

    def heard_commit(self, events: int, seconds: float) -> None:
        """The journal has carried so many events to the database at once."""

    def heard_failed_commit(self) -> None:
        """The database did not take what the journal had for it, or did not answer."""

    def heard_renewals(self, leases: int) -> None:
        """So many leases were prolonged."""

    def heard_loss(self) -> None:
        """This process has lost a run that it executed: its lease lapsed, or somebody else has it."""

    def heard_takeover(self) -> None:
        """This process has taken a run whose process had let its lease lapse."""

    def heard_firing(self, outcome: Outcome, late_s: float) -> None:
        """This process has seen to a time of a schedule, so many seconds after it had come."""

    def heard_breaker(self, kind: BreakerKind, state: BreakerState) -> None:
        """This process has changed the state of a breaker."""

    def heard_limit(self, limit: LimitName) -> None:
        """This process has refused something that went beyond a limit of its tenant or key."""

    def heard_limit_warning(self, limit: LimitName) -> None:
        """This process has warned somebody that most of a limit is spent."""


class Both(Witness):
    """Has two witnesses hear of facts: one that hears of all the rest too, and one that wants nothing else."""

    def __init__(self, all_ears: Witness, of_facts: Witness) -> None:
        self._all_ears = all_ears
        self._of_facts = of_facts

    def heard_facts(self, run: Snapshot, events: Sequence[Event]) -> None:
        """Both hear of them."""
        self._all_ears.heard_facts(run, events)
        self._of_facts.heard_facts(run, events)

    def heard_unreadable(self) -> None:
        """Passed on."""
        self._all_ears.heard_unreadable()

    def heard_commit(self, events: int, seconds: float) -> None:
        """Passed on."""
        self._all_ears.heard_commit(events, seconds)

    def heard_failed_commit(self) -> None:
        """Passed on."""
        self._all_ears.heard_failed_commit()

    def heard_renewals(self, leases: int) -> None:
        """Passed on."""
        self._all_ears.heard_renewals(leases)

    def heard_loss(self) -> None:
        """Passed on."""
        self._all_ears.heard_loss()

    def heard_takeover(self) -> None:
        """Passed on."""
        self._all_ears.heard_takeover()

    def heard_breaker(self, kind: BreakerKind, state: BreakerState) -> None:
        """Passed on."""
        self._all_ears.heard_breaker(kind, state)

    def heard_limit(self, limit: LimitName) -> None:
        """Passed on."""
        self._all_ears.heard_limit(limit)

    def heard_limit_warning(self, limit: LimitName) -> None:
        """Passed on."""
        self._all_ears.heard_limit_warning(limit)

    def heard_firing(self, outcome: Outcome, late_s: float) -> None:
        """Passed on."""
        self._all_ears.heard_firing(outcome, late_s)
