"""Nested supervisors: a task that a whole team does, in a run of its own that belongs to an attempt at it."""

import hashlib
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

from pydantic import BaseModel, ConfigDict

from app.domain.results import Problem
from app.domain.usage import Amount, Money

ChildStatus = Literal["succeeded", "partial", "failed", "cancelled"]
"""What a nested run may end as."""
CHILD_ID_DIGITS = 32


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)


class Parent(_Part):
    """The attempt that a nested run does the work of."""

    run: str
    """Id of the run that the attempt belongs to."""
    task: str
    """Id of the task in that run's plan."""
    attempt: int
    """Number of the attempt."""


class Allowance(_Part):
    """What a nested run may spend of its parent's budget. It counts as spent until the run has ended."""

    tokens: int | None = None
    """Input and output tokens together; null where the parent has no such limit."""
    cost_usd: Money | None = None
    """US dollars; null where the parent has no such limit."""

    @property
    def amount(self) -> Amount:
        """What limits count of it."""
        return Amount(tokens=self.tokens or 0, cost_usd=self.cost_usd or Decimal(0))


class ChildStopped(_Part):
    """What the cancellation of its parent did to a nested run."""

    run: str
    """Id of the nested run."""
    task: str
    """Id of the task whose work it did."""
    status: ChildStatus | None
    """What it ended as; null when it had not ended yet: it is stopped all the same."""


@dataclass(frozen=True)
class Child:
    """The nested run of an attempt, as far as its parent has heard."""

    run: str
    allowance: Allowance
    status: ChildStatus | None = None
    """What it has ended as; None before that."""
    error: Problem | None = None
    """Why it has delivered nothing; None while it goes on, or when it delivered."""

    @property
    def ended(self) -> bool:
        return self.status is not None


def child_id(parent: Parent) -> str:
    """Id of the run that does the work of an attempt: always the same, so that it is made once however often that is
    tried."""
    whose = f"{parent.run}/{parent.task}/{parent.attempt}"
    return f"run_{hashlib.sha256(whose.encode()).hexdigest()[:CHILD_ID_DIGITS]}"
