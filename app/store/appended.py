"""What waits for its commit: events, and who waits for them to be facts."""

import asyncio
from dataclasses import dataclass, field

from app.domain.events import RUN_ENDS, Event

RUN_LEFT = RUN_ENDS | {"run.waiting"}
"""What is the last that its owner says of a run."""


@dataclass(slots=True)
class Appended:
    """Events that were appended together, and who waits for them."""

    events: list[Event]
    decided: bool
    """Whether it is a decision, which holds for the state that it was made in alone."""
    done: asyncio.Future[bool] = field(default_factory=lambda: asyncio.get_running_loop().create_future())

    @property
    def leaves_run(self) -> bool:
        """Whether nobody executes the run once this is recorded."""
        return any(event.type in RUN_LEFT for event in self.events)

    def settle(self, recorded: bool) -> None:
        if not self.done.done():
            self.done.set_result(recorded)
