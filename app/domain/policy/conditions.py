"""What is known of the world outside a run when it is decided on."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from app.domain.policy.breakers import Breaker
from app.domain.policy.load import Load
from app.domain.topics import Topic


@dataclass(frozen=True, slots=True)
class Conditions:
    """The conditions under which a decision is made. None are known unless said."""

    brakes: Mapping[str, datetime] = field(default_factory=dict)
    """Models that are left alone until then, by id: their provider asked for a pause. Attempts that would begin with
    such a call wait; what is under way is not stopped."""
    breakers: Mapping[str, Breaker] = field(default_factory=dict)
    """The breakers that are not closed, by name."""
    under_way: frozenset[Topic] = frozenset()
    """The conversations that are being held at this moment. Each looks for itself whether its next call may be made:
    what a breaker holds is not begun, and what is under way is never stopped for it."""
    load: Mapping[str, Load] = field(default_factory=dict)
    """What the runs besides this one, on all replicas, have the workers of the team do that share a kind, by name."""


UNKNOWN = Conditions()
