"""How busy workers of one kind are, and in which order they would be asked to take a task.

The rule is that of load balancers that go by "peak EWMA": what the next attempt is likely to take is the pace of the
worker's attempts of late, times the attempts that it would have under way then. So of two that are equally busy the
quicker one is taken, and of two that are equally quick the less busy one. The chosen worker is kept unless another is
likely to be done by a fifth sooner: else tasks would go to and fro on differences that mean nothing.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from app.domain.snapshot import Snapshot

HALF_LIFE_S = 60.0
"""After so long an attempt counts for half of what it did."""
LEAST_WEIGHT = 1 / 16
"""Below it nothing is known any more: one attempt is forgotten after four half-lives."""
LEAST_PACE_S = 0.1
"""What is quicker counts as so long: the differences are noise."""
PREFERENCE = 0.8
"""What the chosen worker's expected time is multiplied by when it is compared."""


@dataclass(frozen=True, slots=True)
class Pace:
    """How long attempts took of late, as a sum and a weight that fade alike. Those of several replicas add up."""

    seconds: float = 0.0
    weight: float = 0.0

    @property
    def each_s(self) -> float | None:
        """Seconds of one attempt; None when nothing is known of late."""
        return max(self.seconds / self.weight, LEAST_PACE_S) if self.weight >= LEAST_WEIGHT else None

    def faded(self, elapsed_s: float) -> "Pace":
        """What it says so much later."""
        share = 0.5 ** (elapsed_s / HALF_LIFE_S)
        return Pace(self.seconds * share, self.weight * share)

    def plus(self, other: "Pace") -> "Pace":
        """Both together."""
        return Pace(self.seconds + other.seconds, self.weight + other.weight)

    def after(self, took_s: float, *, failed: bool = False) -> "Pace":
        """With another attempt. One that failed took as long as others do, at least: failing fast is no pace."""
        counted_s = max(took_s, self.each_s or 0.0) if failed else took_s
        return self.plus(Pace(counted_s, 1.0))


@dataclass(frozen=True, slots=True)
class Load:
    """What a worker is doing, and its pace."""

    attempts: int = 0
    """Those under way."""
    pace: Pace = Pace()

    def plus(self, other: "Load") -> "Load":
        """Both together."""
        return Load(self.attempts + other.attempts, self.pace.plus(other.pace))


def attempts_by_worker(run: Snapshot) -> Counter[str]:
    """How many attempts each worker has under way in a run."""
    return Counter(attempt.worker for task in run.tasks.values() for attempt in task.running)


def by_load(chosen: str, peers: Sequence[str], loads: Mapping[str, Load]) -> list[str]:
    """The chosen worker and its peers, in the order in which they are likely to be done with a task.

    A worker of unknown pace is taken to be as quick as the quickest that is known. Equals stay in their order.
    """
    names = (chosen, *peers)
    found = {name: loads.get(name, Load()) for name in names}
    quickest = min((pace for load in found.values() if (pace := load.pace.each_s) is not None), default=LEAST_PACE_S)

    def expected_s(name: str) -> float:
        load = found[name]
        return (load.attempts + 1) * (load.pace.each_s or quickest) * (PREFERENCE if name == chosen else 1)

    return sorted(names, key=expected_s)
