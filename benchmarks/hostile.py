"""A thousand hostile runs: how often models that lie get a run to end dishonestly. Aimed at: never.

The runs are those of `tests/support/hostile.py`, each made by its number, with the real roles and policy and without a
process or a database. `tests/support/honesty.py` judges their ends by rules of its own.
"""

from collections import Counter
from dataclasses import dataclass, field

from tests.support.honesty import dishonesties
from tests.support.hostile import play, world_of


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of so many hostile runs."""

    runs: int
    met: Counter[str] = field(default_factory=Counter)
    """What befell them, by kind."""
    sent_back: Counter[str] = field(default_factory=Counter)
    """Replies that were sent back, by type of event."""
    ends: Counter[str] = field(default_factory=Counter)
    dishonest: Counter[str] = field(default_factory=Counter)
    """What was dishonest about their ends, by kind."""
    dishonest_runs: tuple[int, ...] = ()
    """Numbers of the runs that ended dishonestly: `play(world_of(number))` makes one again."""


def outcome_of(runs: int, first: int = 0) -> Outcome:
    """What becomes of so many runs, from that number on."""
    outcome, caught = Outcome(runs), list[int]()
    for number in range(first, first + runs):
        world = world_of(number)
        story = play(world)
        found = {*dishonesties(world, story.log)}
        outcome.met.update(world.met)
        outcome.sent_back.update(event.type for event in story.log if event.type.endswith(".rejected"))
        outcome.ends[f"{story.run.status}, {story.run.stop_reason}"] += 1
        outcome.dishonest.update(found)
        caught += [number] * bool(found)
    return Outcome(runs, outcome.met, outcome.sent_back, outcome.ends, outcome.dishonest, tuple(caught))
