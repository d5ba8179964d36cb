"""What is known of the world outside a run when it is decided on."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Conditions:
    """The conditions under which a decision is made. None are known unless said."""

    brakes: Mapping[str, datetime] = field(default_factory=dict)
    """Models that are left alone until then, by id: their provider asked for a pause. Attempts that would begin with
    such a call wait; what is under way is not stopped."""


UNKNOWN = Conditions()
