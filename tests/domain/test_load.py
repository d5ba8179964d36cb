from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain import events as ev
from app.domain.breaker_names import worker_breaker
from app.domain.brief import Brief
from app.domain.job import Limits
from app.domain.plan import Task
from app.domain.policy.breakers import Breaker, trip
from app.domain.policy.conditions import Conditions
from app.domain.policy.load import HALF_LIFE_S, Load, Pace, by_load
from app.domain.results import Problem
from app.domain.team import Team
from tests.support.story import BAKER, START, TEAM, WORKER, Story, task

LOADS = st.builds(Load, st.integers(0, 9), st.builds(Pace, st.floats(0, 500), st.sampled_from([0.0, 0.5, 3.0])))


def busy(attempts: int, each_s: float | None = None) -> Load:
    return Load(attempts, Pace() if each_s is None else Pace(each_s, 1))


def kind_of_two(**changes: Any) -> Team:
    """Two workers that do the same work; `changes` concern the team."""
    workers = [each.model_copy(update={"kind": "cook"}) for each in (WORKER, BAKER)]
    return Team.model_validate(Team(name="crew", workers=tuple(workers)).model_dump() | changes)


def begun(*tasks: Task, team: Team | None = None, concurrency: int = 8, **load: Load) -> Story:
    """A run of such a team, with the load of others as given."""
    story = Story(Brief("run_1", "Find out.", team or kind_of_two(), Limits(concurrency=concurrency)))
    story.begin(*tasks)
    story.conditions = Conditions(load=load)
    return story


def starters(story: Story) -> list[str]:
    """Who starts now."""
    return [fact.worker for fact, *_ in story.decide().entries if isinstance(fact, ev.TaskStarted)]


@pytest.mark.parametrize(
    ("able", "baker", "first"),
    [
        (busy(0), busy(0), "able"),
        (busy(1), busy(0), "baker"),
        (busy(5), busy(4), "able"),  # Less than a fifth sooner.
        (busy(6), busy(4), "baker"),
        (busy(0, 10), busy(0, 9), "able"),
        (busy(0, 60), busy(0, 5), "baker"),
        (busy(0, 60), busy(5, 5), "baker"),
        (busy(0, 60), busy(12, 5), "able"),
        (busy(0, 60), busy(0), "able"),  # Nothing is known that would speak for the other.
        (busy(1, 60), busy(0), "baker"),
        (busy(0), busy(0, 60), "able"),
        (busy(0, 0.001), busy(0, 0.0001), "able"),  # Such differences are noise.
    ],
)
def test_the_one_that_is_likely_to_be_done_first_goes_first(able: Load, baker: Load, first: str) -> None:
    assert by_load("able", ["baker"], {"able": able, "baker": baker})[0] == first


def test_without_any_load_the_chosen_worker_and_then_the_order_of_the_team_stand() -> None:
    assert by_load("c", ["a", "b"], {}) == ["c", "a", "b"]


@given(st.lists(LOADS, min_size=3, max_size=3))
def test_whoever_has_taken_a_task_does_not_lose_the_next_one_to_a_lighter_load_of_its_own(loads: list[Load]) -> None:
    """More for one worker never makes that worker more likely to be taken."""
    named = dict(zip(("a", "b", "c"), loads, strict=True))
    first = by_load("a", ["b", "c"], named)[0]

    for other in {"a", "b", "c"} - {first}:
        heavier = named | {other: replace(named[other], attempts=named[other].attempts + 1)}
        assert by_load("a", ["b", "c"], heavier)[0] == first


def test_what_attempts_took_fades_and_is_forgotten() -> None:
    pace = Pace().after(100)

    assert pace.faded(HALF_LIFE_S).after(10).each_s == pytest.approx(40)
    assert pace.faded(4 * HALF_LIFE_S).each_s == pytest.approx(100)
    assert pace.faded(4 * HALF_LIFE_S + 1).each_s is None


@given(st.floats(0, 500), st.floats(0, 500), st.floats(0, 100))
def test_paces_of_replicas_add_up_whenever_they_are_read(one: float, other: float, elapsed_s: float) -> None:
    there, here = Pace().after(one), Pace().after(other)

    apart = there.faded(elapsed_s).plus(here.faded(elapsed_s))

    assert apart.each_s == pytest.approx(there.plus(here).faded(elapsed_s).each_s)


def test_failing_fast_is_no_pace() -> None:
    assert Pace().after(10).after(0, failed=True).each_s == 10
    assert Pace().after(10).after(30, failed=True).each_s == 20


def test_a_task_goes_to_the_less_loaded_worker_of_the_kind() -> None:
    story = begun(task("a"), able=busy(2))

    story.settle()

    assert story.state("a").attempt.worker == "baker"
    assert story.state("a").attempt.model == "balanced"


def test_tasks_that_start_together_are_shared_out() -> None:
    assert starters(begun(*map(task, "abcd"))) == ["able", "baker", "able", "baker"]


def test_what_the_run_itself_has_under_way_counts() -> None:
    story = begun(task("a"), task("b", "c"), task("c"))
    story.start("a")
    story.start("c")
    story.tell(ev.TaskSucceeded(summary="s", text="t"), "c", 1)

    assert starters(story) == ["baker"]


def test_workers_without_a_kind_are_left_alone() -> None:
    story = begun(*map(task, "ab"), team=TEAM.model_copy(update={"workers": (WORKER, BAKER)}), able=busy(9))

    assert starters(story) == ["able", "able"]


def test_what_a_rule_sends_to_its_worker_stays_there() -> None:
    rules = [{"when": {"contains": ["do a"]}, "worker": "able"}]

    assert starters(begun(task("a"), task("b"), team=kind_of_two(routing=rules), able=busy(9))) == ["able", "baker"]


def test_whoever_has_begun_a_task_in_place_of_another_goes_on_with_it() -> None:
    story = begun(task("a"), able=busy(2))
    story.settle()
    story.conditions = Conditions(load={"baker": busy(9)})
    failed = Problem(code="provider_unavailable", message="busy")
    story.tell(ev.TaskRetrying(error=failed, next_attempt=2, not_before=story.now, refine=False), "a", 1)

    assert starters(story) == ["baker"]


def test_whom_a_ruling_chooses_is_not_replaced() -> None:
    story = begun(task("a"))
    story.start("a")
    story.conditions = Conditions(load={"baker": busy(9)})
    failed = Problem(code="no_progress", message="no")
    passed_on = ev.TaskReassigned(
        error=failed, next_attempt=2, not_before=story.now, decision="reassign", worker="baker"
    )
    story.tell(passed_on, "a", 1)

    assert starters(story) == ["baker"]


def test_a_worker_that_a_breaker_keeps_from_work_is_not_taken_however_idle() -> None:
    story = begun(task("a"), able=busy(9))
    shut = trip(Breaker(worker_breaker("crew", "baker")), START)
    story.conditions = replace(story.conditions, breakers={shut.name: shut})

    assert starters(story) == ["able"]


def test_one_of_its_kind_stands_in_for_a_worker_that_a_breaker_keeps_from_work() -> None:
    story = begun(task("a"), baker=busy(9))
    shut = trip(Breaker(worker_breaker("crew", "able")), START)
    story.conditions = replace(story.conditions, breakers={shut.name: shut})

    assert starters(story) == ["baker"]


def refused(match: str, first: dict[str, Any], second: dict[str, Any], **team: Any) -> None:
    workers = [
        {"name": name, "description": "Works.", "instructions": "Work."} | fields
        for name, fields in (("one", first), ("two", second))
    ]
    with pytest.raises(ValueError, match=match):
        Team.model_validate({"name": "crew", "workers": workers} | team)


def test_a_kind_of_one_worker_is_refused_as_a_slip() -> None:
    refused("the kind clerk has one worker only: one", {"kind": "clerk"}, {"kind": "clark"})


def test_workers_of_one_kind_deliver_in_one_form() -> None:
    refused("the kind clerk have different output_schema", {"kind": "clerk", "output_schema": {}}, {"kind": "clerk"})


def test_workers_of_one_kind_may_share_tools_and_others_may_not() -> None:
    refused("exclusive, and look belongs to one", {"tools": ["look"]}, {"tools": ["look"]})
    workers = [each.model_copy(update={"kind": "cook", "tools": ("look",)}) for each in (WORKER, BAKER)]

    assert Team(name="crew", workers=tuple(workers)).peers_of("able") == ("baker",)


def test_a_team_without_kinds_is_stored_as_before() -> None:
    team = kind_of_two()

    assert "kind" not in TEAM.definition
    assert Team.model_validate_json(team.definition) == team
