"""What the API gave of a run: all that is graded."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from app.evaluation.report import Amounts

Resource = Mapping[str, Any]
DEMO = "demo"
"""What the demo model calls itself."""


@dataclass(frozen=True)
class Evidence:
    """A run at its end, with its plan and its tasks."""

    run: Resource
    plan: Resource | None = None
    """Its newest plan; None when it has none."""
    tasks: Sequence[Resource] = ()
    """What became of its tasks; empty for a job that was only planned."""
    model: str | None = None
    """The model that made its first call; None when it made none."""
    planning: Resource | None = None
    """The run in which its plan was made, where that was one of its own."""

    @cached_property
    def document(self) -> Resource:
        """All of it as one document, for JSON paths."""
        return {**self.run, "plan": self.plan, "tasks": list(self.tasks)}

    @property
    def result(self) -> Resource:
        """What the run brought back; empty when nothing."""
        return self.run["result"] or {}

    @property
    def workers(self) -> frozenset[str]:
        """The workers that were used: those that made an attempt, or of a job that was only planned, its plan's."""
        if self.run["limits"].get("dry_run"):
            return frozenset(task["worker"] for task in (self.plan or {}).get("tasks", ()))
        return frozenset(attempt["worker"] for task in self.tasks for attempt in task["attempts"])

    @property
    def is_by_demo(self) -> bool:
        """Whether the demo model answered."""
        return self.model == DEMO

    @property
    def _runs(self) -> list[Resource]:
        return [run for run in (self.planning, self.run) if run is not None]

    @cached_property
    def took(self) -> Amounts:
        """What it took, planning included."""
        return Amounts(
            cost_usd=self.cost_usd,
            llm_calls=self._used("llm_calls"),
            tool_calls=self._used("tool_calls"),
            tokens=self._used("input_tokens") + self._used("output_tokens"),
            wall_s=self.wall_ms / 1000,
        )

    def _used(self, name: str) -> int:
        return sum(int(run["usage"][name]) for run in self._runs)

    @property
    def cost_usd(self) -> float:
        """US dollars."""
        return sum(float(run["usage"]["cost_usd"]) for run in self._runs)

    @property
    def wall_ms(self) -> int:
        """From start to end."""
        return sum(int(run["timing"]["wall_ms"]) for run in self._runs)

    @property
    def queued_ms(self) -> int:
        """From the job to the start."""
        return sum(int(run["timing"]["queued_ms"]) for run in self._runs)
