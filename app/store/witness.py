"""Who hears of what this process does to the database: the store says so where it is done, and asks nothing back."""

from collections.abc import Callable, Sequence

from app.domain.events import Event
from app.domain.policy.breakers import BreakerKind, BreakerState
from app.domain.quotas import LimitName
from app.domain.schedules import Outcome
from app.domain.snapshot import Snapshot

Listener = Callable[[Snapshot, Sequence[Event]], None]
"""Hears of facts as a witness does."""


class Witness:
    """Makes nothing of what it hears; whoever wants to know overrides that. It must not raise: all is done by then."""

    listeners: tuple[Listener, ...] = ()
    """Who hears of facts beside it, and of nothing else."""

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
