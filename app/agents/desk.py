"""What an agent has at hand while it works on a run. The engine provides it; agents never see the store."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Protocol

from app.domain.events import Event, Purpose
from app.domain.job import JobInput
from app.domain.snapshot import Snapshot
from app.llm.model import Model
from app.tools.tool import Tool


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

    async def record(self, *events: Event) -> None:
        """Make events durable; returns once they are. Raises `OwnershipLost` when the run is no longer ours."""

    def note(self, *events: Event) -> None:
        """Have events recorded in order, without waiting for it: for facts that could be found out again."""

    async def ensure_owned(self, *, begun: bool = False) -> None:
        """To be awaited before anything that costs or changes something: what led to it is durable then.

        Raises `OwnershipLost` when the run is no longer ours, or is to be handed back, unless this has `begun`: nobody
        else could tell whether it took effect.
        """

    def listener(self, purpose: Purpose, task_id: str | None, attempt: int | None) -> Callable[[str], None] | None:
        """Whom to give text as it is written; None when nobody listens."""
