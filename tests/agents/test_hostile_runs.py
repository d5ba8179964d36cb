"""Models that lie never get a run to end dishonestly: a few of the runs that `python -m benchmarks hostile` counts."""

from collections import Counter

from app.domain import events as ev
from app.domain.results import Claim, Conflict, Result
from tests.support.honesty import dishonesties
from tests.support.hostile import LIES, play, world_of

RUNS = 60


def test_hostile_runs_end_honestly() -> None:
    met: Counter[str] = Counter()
    for number in range(RUNS):
        world = world_of(number)
        story = play(world)
        met.update(world.met)
        assert {*dishonesties(world, story.log)} == set(), number

    assert met.keys() >= {"a dead worker", "an honest answer"}
    assert len(met.keys() & {*LIES}) > len(LIES) / 2


def test_the_same_number_makes_the_same_run() -> None:
    assert play(world_of(7)).log == play(world_of(7)).log


def test_the_rules_by_which_ends_are_judged_see_what_is_dishonest() -> None:
    number = next(
        n for n in range(100) if (run := play(world_of(n)).run).status == "partial" and run.result and run.result.answer
    )
    world = world_of(number)
    story = play(world)
    end = story.log[-1].data
    assert isinstance(end, ev.RunPartial)
    claims = tuple(Claim(task="t1", claim=each) for each in ("1950", "1960"))
    judged = Conflict(id="c9", topic="x", claims=claims, status="resolved", resolution="1955", method="judge")

    def told(**changes: object) -> set[str]:
        result: Result = end.result.model_copy(update=changes)
        return {
            *dishonesties(world, [*story.log[:-1], _with(story.log[-1], end.model_copy(update={"result": result}))])
        }

    assert told() == set()
    assert "a figure of nobody's" in told(answer="It is 77777.")
    assert "a failed task is not named" in told(
        answer="Fine.", gaps=tuple(gap.model_copy(update={"impact": ""}) for gap in end.result.gaps)
    )
    assert "a failed task is no gap" in told(gaps=())
    assert "a placeholder" in told(answer="TODO")
    assert {"settled by a judge who never sat", "settled on what nobody claims"} <= told(conflicts=(judged,))


def _with(event: ev.Event, fact: ev.AnyFact) -> ev.Event:
    return ev.Event(event.seq, event.at, event.run_id, event.task_id, event.attempt, fact)
