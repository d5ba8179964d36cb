from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest

from app.domain import events as ev
from app.domain.coverage import Coverage
from app.domain.job import Limits
from app.domain.nested import Allowance, Parent, child_id
from app.domain.policy.allowances import share_in
from app.domain.policy.budget import Room
from app.domain.policy.children import (
    CANCEL_PATIENCE_S,
    HAND_OVER_CEILING_S,
    ends_by,
    heard_of,
    limits_of_child,
    output_of,
    problem_of,
)
from app.domain.policy.commands import Converse, RunChild
from app.domain.results import Conflict, Gap, Output, Result, TaskReport
from app.domain.team import Team, TeamRef
from app.domain.team_rules import Condition, Route
from app.domain.topics import Topic
from app.domain.worker import Worker
from tests.support.story import Story, brief

OFFICE = Team(
    name="office",
    workers=(
        Worker(name="survey", description="Surveys.", team="crew", fallback="clerk"),
        Worker(name="clerk", description="Files.", instructions="File it.", fallback="survey"),
    ),
    routing=(Route(when=Condition(contains=("plot",)), worker="survey"),),
)
TASKS = [
    {"id": "north", "instruction": "Survey.", "worker": "survey"},
    {"id": "files", "instruction": "File.", "worker": "clerk"},
]
NORTH = Topic("work", "north", 1)
DONE = Output(summary="dry", text="The plot is dry.")


NOTHING_KEPT = Allowance()


def begun(allowance: Allowance = NOTHING_KEPT, **limits: Any) -> Story:
    """A run whose nested run is under way."""
    story = Story(replace(brief(**limits), team=OFFICE))
    story.queued()
    story.started()
    story.tell(ev.PlanCreated.model_validate({"tasks": TASKS}))
    story.settle()
    team = TeamRef(name="crew", version=1)
    story.tell(ev.ChildStarted(run="run_2", team=team, allowance=allowance), "north", 1)
    return story


def ended(status: Any = "succeeded", **fields: Any) -> ev.ChildEnded:
    return ev.ChildEnded(run="run_2", status=status, stop_reason="completed", **fields)


def test_an_attempt_of_a_team_has_its_run_begun_and_then_waits_while_others_go_on() -> None:
    story = Story(replace(brief(), team=OFFICE))
    story.queued()
    story.started()
    story.tell(ev.PlanCreated.model_validate({"tasks": TASKS}))
    story.settle()

    assert set(story.decide().commands) == {RunChild("north", 1), Converse(Topic("work", "files", 1))}
    assert set(begun().decide().commands) == {Converse(Topic("work", "files", 1))}


def test_a_run_that_only_waits_for_nested_runs_is_parked() -> None:
    story = begun()
    story.succeed("files")

    [parked] = story.decide().entries

    assert isinstance(parked.fact, ev.RunWaiting)
    assert parked.fact.reason == "children"
    assert parked.fact.until is not None


def test_what_a_nested_run_delivers_ends_its_task_once() -> None:
    story = begun()
    entries = heard_of(story.run, NORTH, ended(), DONE)

    story.record(*entries)

    assert [entry.fact.type for entry in entries] == ["child.ended", "task.succeeded"]
    output = story.state("north").output
    assert output is not None
    assert output.text == DONE.text
    assert heard_of(story.run, NORTH, ended(), DONE) == []


def test_what_comes_for_an_attempt_that_has_ended_is_counted_and_not_used() -> None:
    story = begun()
    story.tell(ev.TaskFailed(error=problem_of("run_2", "deadline_exceeded", "")), "north", 1)
    used = story.run.usage.model_copy(update={"llm_calls": 7})

    story.record(*heard_of(story.run, NORTH, ended(usage=used), DONE))

    assert story.state("north").status == "failed"
    assert story.run.usage.llm_calls == 7
    assert story.run.open_children == []


@pytest.mark.parametrize(
    ("stop_reason", "code"),
    [
        ("plan_invalid", "no_progress"),
        ("no_results", "no_progress"),
        ("budget_exhausted", "budget_exceeded"),
        ("deadline_exceeded", "timeout"),
        ("provider_unavailable", "provider_unavailable"),
        ("cancelled", "cancelled"),
    ],
)
def test_a_failed_nested_run_is_a_failed_attempt_of_a_code_that_says_what_follows(stop_reason: str, code: str) -> None:
    problem = problem_of("run_2", stop_reason, "It says why.")

    assert (problem.code, problem.message) == (code, f"The nested run run_2 ended with {stop_reason}. It says why.")


def test_its_limits_are_its_teams_within_what_its_parent_has_left() -> None:
    run = begun(depth=3, tokens=100_000).run

    limits = limits_of_child(run, Limits(depth=5, tokens=None, timeout_s=900), Allowance(tokens=40_000), 60.0)

    assert (limits.depth, limits.tokens, limits.timeout_s, limits.cost_usd) == (2, 40_000, 60.0, None)


def test_it_ends_in_time_for_its_parent_to_hear_of_it() -> None:
    run = begun(timeout_s=600).run
    assert run.wrap_up_at is not None

    assert ends_by(run, NORTH) == run.wrap_up_at - timedelta(seconds=HAND_OVER_CEILING_S)


def test_a_budget_is_dealt_out_to_the_tasks_that_are_still_to_be_paid_for() -> None:
    run = begun(tokens=100_000).run

    assert share_in(Room(60_000, Decimal("1.00")), run, None) == Allowance(tokens=60_000, cost_usd=Decimal("1.000000"))
    assert share_in(Room(60_000, None), run, 25_000) == Allowance(tokens=25_000)
    assert share_in(Room(15_000, None), run, None) is None


def test_what_is_kept_for_a_nested_run_is_given_back_at_its_end() -> None:
    story = begun(Allowance(tokens=30_000), tokens=100_000)
    assert story.run.allotted.tokens == 30_000

    story.record(*heard_of(story.run, NORTH, ended(), DONE))

    assert story.run.allotted.tokens == 0


def test_a_cancelled_run_waits_for_the_ends_of_its_nested_runs_but_not_for_ever() -> None:
    story = begun()
    story.tell(ev.RunCancelRequested(reason="no longer wanted"))
    assert story.decide().entries == ()
    assert story.decide().commands == ()

    story.wait(CANCEL_PATIENCE_S)
    cancelled = story.decide().entries[-1].fact

    assert isinstance(cancelled, ev.RunCancelled)
    assert [(each.run, each.task, each.status) for each in cancelled.children] == [("run_2", "north", None)]


def test_a_resume_costs_a_nested_run_none_of_its_time() -> None:
    story = begun()
    since = story.state("north").attempt.since
    story.wait(60)
    story.resumed()

    assert story.state("north").attempt.since == since


def test_its_answer_comes_up_as_one_result_with_its_own_gaps_and_conflicts() -> None:
    gap = Gap(task="t2", reason="timeout", impact="The south is missing.")
    conflict = Conflict(id="c1", topic="the height", claims=(), status="unresolved")
    result = Result(
        answer="The plot is dry.",
        confidence=0.7,
        gaps=(gap,),
        conflicts=(conflict,),
        coverage=Coverage(required=2, delivered=1),
        outputs=(TaskReport(task="t1", worker="researcher", status="succeeded", summary="dry", sources=("a.csv",)),),
    )

    output = output_of("run_2", "partial", "gaps", result)

    assert output is not None
    assert (output.text, output.confidence, output.partial, output.sources) == (
        "The plot is dry.",
        0.7,
        True,
        ("a.csv",),
    )
    assert output.nested is not None
    assert (output.nested.gaps, output.nested.conflicts) == ((gap,), (conflict,))


def test_without_an_answer_what_its_tasks_delivered_comes_up_and_without_that_nothing() -> None:
    report = TaskReport(task="t1", worker="researcher", status="succeeded", summary="dry", text="All dry.")
    result = Result(answer=None, coverage=Coverage(required=1, delivered=1), outputs=(report,))

    output = output_of("run_2", "partial", "synthesis_failed", result)

    assert output is not None
    assert output.text.endswith("t1: All dry.")
    assert output_of("run_2", "failed", "no_results", None) is None


def test_on_the_last_level_a_team_has_no_worker_that_is_a_team_and_nothing_leads_to_one() -> None:
    last = OFFICE.at_depth(1)

    assert [(worker.name, worker.fallback) for worker in last.workers] == [("clerk", None)]
    assert last.routing == ()
    assert OFFICE.at_depth(2) is OFFICE


def test_an_attempt_always_has_the_same_nested_run_and_another_one_another() -> None:
    parent = Parent(run="run_1", task="north", attempt=1)

    assert child_id(parent) == child_id(parent.model_copy())
    assert child_id(parent) != child_id(parent.model_copy(update={"attempt": 2}))


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"team": "crew", "tools": ["calculate"]}, "is a team: its own workers have tools"),
        ({"team": "Crew"}, "match"),
        ({}, "needs instructions, or a team"),
    ],
)
def test_a_worker_is_an_agent_or_a_team(fields: dict[str, Any], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        Worker.model_validate({"name": "counsel", "description": "Reviews."} | fields)
