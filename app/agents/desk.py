"""What an agent has at hand while it works on a run. The engine provides it; agents never see the store."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from typing import Protocol

from app.domain.events import Entry
from app.domain.job import JobInput
from app.domain.policy.breakers import Breaker
from app.domain.policy.budget import WorstCase
from app.domain.snapshot import Snapshot
from app.domain.topics import Topic
from app.llm.model import Model
from app.tools.tool import Tool


class Door(Protocol):
    """One call's way through a breaker: it enters, and then has been answered, or has failed, or leaves."""

    async def enter(self) -> None:
        """Go through. Raises `Held`, or `AccountProblem` where waiting would not help."""

    def answered(self) -> None:
        """What was called works."""

    def failed(self, code: str, retry_after_s: float | None = None) -> Breaker:
        """It does not; what its breaker is now."""

    def leave(self) -> None:
        """Nothing came of the call that would speak for or against what was called."""


class Desk(Protocol):
    """One run, from where its agents sit."""

    @property
    def run(self) -> Snapshot:
        """The state of the run with everything recorded so far, and what is on its way to be."""

    @property
    def model(self) -> Model:
        """Who answers."""

    @property
    def tools(self) -> Mapping[str, Tool]:
        """Every tool there is, by name."""

    async def inputs(self) -> Sequence[JobInput]:
        """The job's inputs. They may be large: to be asked for when a tool needs them, and not to be kept."""

    def now(self) -> datetime:
        """The time, UTC."""

    async def record(self, *entries: Entry) -> None:
        """Make facts durable; returns once they are. Raises `OwnershipLost` when the run is no longer ours."""

    def record_soon(self, *entries: Entry) -> None:
        """Have facts recorded in order, without waiting for it: those that could be found out again."""

    async def admit(self, *, even_when_leaving: bool = False) -> None:
        """The door before anything that costs or changes something: what led to it is durable once this returns.

        Raises `OwnershipLost` when the run is no longer ours, or is to be handed back. What nobody else could take up,
        since it may have had its effect, goes on `even_when_leaving`.
        """

    def door(self, breaker: str, about: str | None = None) -> Door:
        """The way through a breaker, by its name, for one call; `about` what else may be to blame for its failure."""

    def reserve(self, topic: Topic, call: WorstCase) -> AbstractAsyncContextManager[int]:
        """Room in the run's budget for a call, as long as it goes on; the tokens that its reply may have.

        Waits while calls under way may free some. Raises `BudgetSpent` when none of them can.
        """

    def listener(self, topic: Topic) -> Callable[[str], None] | None:
        """Whom to give text as it is written; None when nobody listens."""
