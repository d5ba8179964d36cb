"""Who is there to carry out a plan, with what, and within what: what a plan is checked against."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from app.domain.events import Effect
from app.domain.job import Limits
from app.domain.planned_worker import PlannedWorker
from app.domain.strategies import Strategy
from app.domain.team import Team
from app.domain.worker import Worker

Reach = Literal["inputs", "web", "anything"]
"""What a tool reads: the inputs of the job, the web, or nobody knows what."""


@dataclass(frozen=True, slots=True)
class Means:
    """What a tool is good for, as far as a plan has to know."""

    effect: Effect
    reads: Reach | None = None

    @property
    def acts(self) -> bool:
        """Whether it changes something in the world."""
        return self.effect != "read"


@dataclass(frozen=True, slots=True)
class Crew:
    """The workers of a team, their tools, and what a run allows them."""

    team: Team
    means: Mapping[str, Means] = field(default_factory=dict)
    """Of every tool that this process has, by name. Of another one nothing is known: it may be good for anything."""
    limits: Limits = field(default_factory=Limits)
    inputs: tuple[str, ...] = ()
    """Names of the job's inputs."""
    own_strategy: Strategy | None = None
    """The strategy that the job itself fixes."""

    @property
    def strategy(self) -> Strategy | None:
        """The strategy that plans must follow: that of the job, else that of the team; None where they may choose."""
        return self.own_strategy or self.team.strategy

    @property
    def workers(self) -> Mapping[str, Worker]:
        """By name."""
        return {worker.name: worker for worker in self.team.workers}

    def joined_by(self, workers: Sequence[PlannedWorker]) -> "Crew":
        """The crew with the workers that a plan brings along."""
        return replace(self, team=self.team.joined_by(workers)) if workers else self

    def acting_tools(self, worker: Worker) -> list[str]:
        """The tools by which a worker changes something in the world, as far as that is known."""
        return [tool for tool in worker.tools if tool in self.means and self.means[tool].acts]

    def may_act(self, worker: Worker) -> bool:
        """Whether one of its tools may change something in the world."""
        return worker.team is not None or any(tool not in self.means or self.means[tool].acts for tool in worker.tools)

    def may_read(self, worker: Worker, what: Reach) -> bool:
        """Whether one of its tools may read the inputs, or the web. One that acts may do anything; so may a team."""
        return worker.team is not None or any(
            tool not in self.means or self.means[tool].acts or self.means[tool].reads in (what, "anything")
            for tool in worker.tools
        )
