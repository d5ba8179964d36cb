"""What the counters make of facts: what is counted, and that no client can make more series than there is room for."""

import math
from dataclasses import replace

import pytest
from hypothesis import given, settings

from app.domain import events as ev
from app.domain.crew import Means
from app.domain.events import event_from
from app.domain.plan import Plan, Task
from app.domain.planned_worker import PlannedWorker
from app.domain.results import Problem
from app.domain.snapshot import Snapshot
from app.domain.usage import Usage
from app.metrics.meters import MODELS, TEAMS, WORKERS, Meters
from tests.domain.test_events import TYPES, written
from tests.support.rehearsal import runs
from tests.support.story import TEAM, Story, brief, called, task


def value(meters: Meters, name: str, **labels: str) -> float | None:
    return meters.registry.get_sample_value(f"chargehand_{name}", labels)


def total(meters: Meters, name: str, **labels: str) -> float:
    samples = (each for metric in meters.registry.collect() for each in metric.samples)
    return sum(
        each.value for each in samples if each.name == f"chargehand_{name}" and labels.items() <= each.labels.items()
    )


def series(meters: Meters, name: str, label: str) -> set[str]:
    samples = (each for metric in meters.registry.collect() for each in metric.samples)
    return {each.labels[label] for each in samples if each.name == f"chargehand_{name}"}


@settings(max_examples=40, deadline=None)
@given(runs())
def test_what_is_counted_adds_up_to_what_the_run_says_of_itself(story: Story) -> None:
    meters = Meters()
    meters.heard_facts(story.run, story.log)

    usage = story.run.usage
    assert total(meters, "model_calls_total") == usage.llm_calls
    assert total(meters, "tool_calls_total") == usage.tool_calls
    assert math.isclose(total(meters, "model_cost_usd_total"), float(usage.cost_usd), abs_tol=1e-9)
    assert total(meters, "model_tokens_total") == usage.input_tokens + usage.output_tokens
    attempts = sum(len(state.attempts) for state in story.run.every_task)
    assert total(meters, "task_attempts_total") == attempts
    assert total(meters, "run_start_seconds_count") == min(attempts, 1)
    assert total(meters, "runs_ended_total", status=story.run.status) == total(meters, "runs_ended_total") == 1


@pytest.mark.parametrize("kind", TYPES)
def test_every_fact_can_be_heard_whatever_is_known_of_its_run(kind: str) -> None:
    Meters().heard_facts(Snapshot(brief()), [event_from(written(kind))])


def test_the_latencies_are_those_of_the_run() -> None:
    story, meters = Story(brief()), Meters()
    story.queued()
    story.wait(3)
    story.started()
    story.planned(task("a"), task("b"))
    story.wait(4)
    story.start("a")
    story.wait(5)
    story.start("b")
    meters.heard_facts(story.run, story.log)

    assert (value(meters, "run_queue_seconds_count"), value(meters, "run_queue_seconds_sum")) == (1, 3)
    assert (value(meters, "run_start_seconds_count"), value(meters, "run_start_seconds_sum")) == (1, 7)


def test_tokens_of_the_cache_are_counted_once() -> None:
    story, meters = Story(brief()), Meters()
    story.begin(task("a"))
    usage = Usage(llm_calls=1, input_tokens=100, cache_read_tokens=60, cache_write_tokens=30, output_tokens=7)
    reply = called("work", usage).completed(stop_reason="end_turn", content=[])
    story.start("a")
    story.record(story.topic("work", "a").entry(reply))
    meters.heard_facts(story.run, story.log[-1:])

    kinds = series(meters, "model_tokens_total", "kind")
    assert {kind: total(meters, "model_tokens_total", kind=kind) for kind in kinds} == {
        "input": 10,
        "cache_read": 60,
        "cache_write": 30,
        "output": 7,
    }


def test_a_call_that_never_left_is_none() -> None:
    story, meters = Story(brief()), Meters()
    story.begin(task("a"))
    story.start("a")
    story.fail_call("work", "rate_limited", "a", 5, sent=False)
    meters.heard_facts(story.run, story.log[-1:])

    assert series(meters, "model_calls_total", "model") == series(meters, "model_call_errors_total", "code") == set()


def test_so_many_teams_and_workers_have_series_of_their_own_and_those_of_the_operator_always() -> None:
    meters = Meters()
    ours = TEAM.model_copy(update={"name": "ours"})
    meters.expect([ours], [])
    for number in range(2 * TEAMS):
        meters.heard_facts(*begun_by(f"team-{number}", f"worker-{number}"))
    for number in range(2 * WORKERS):
        meters.heard_facts(*begun_by("team-1", f"another-{number}"))
    meters.heard_facts(*begun_by("ours", "able"))

    teams, workers = (series(meters, "task_attempts_total", label) for label in ("team", "worker"))
    assert len(teams) == TEAMS + 2
    assert {"ours", "team-0", "other"} <= teams
    assert len(workers) == WORKERS + 2
    assert value(meters, "task_attempts_total", team="ours", worker="able") == 1


def begun_by(team: str, worker: str) -> tuple[Snapshot, list[ev.Event]]:
    """A run of a team in which a worker begins a task."""
    run = Snapshot(replace(brief(), team=TEAM.model_copy(update={"name": team})))
    started = written("task.started")
    return run, [event_from(started | {"data": started["data"] | {"worker": worker}})]


def test_workers_that_plans_bring_along_share_one_series() -> None:
    run, events = begun_by("crew", "expert-on-lettuce")
    brought = PlannedWorker(name="expert-on-lettuce")
    run = replace(run, plan=Plan(tasks=(Task(id="a", instruction="do", worker=brought.name),), workers=(brought,)))
    meters = Meters()
    meters.heard_facts(run, events)

    assert series(meters, "task_attempts_total", "worker") == {"dynamic"}


def test_models_that_teams_name_are_bounded_and_tools_that_models_make_up_have_no_name() -> None:
    meters, run = Meters(), replace(Snapshot(brief()), brief=replace(brief(), means={"look": Means("read")}))
    meters.expect([], ["model-1"])
    call, tool = written("llm.completed"), written("tool.completed")
    for number in range(2 * MODELS):
        meters.heard_facts(run, [event_from(call | {"data": call["data"] | {"model": f"model-{number}"}})])
    for name in ("look", "rm -rf", "the secret plan"):
        meters.heard_facts(run, [event_from(tool | {"data": tool["data"] | {"name": name, "provider": False}})])

    assert len(series(meters, "model_calls_total", "model")) == MODELS + 2
    assert series(meters, "tool_calls_total", "tool") == {"look", "other"}


def test_codes_of_later_releases_share_one_series() -> None:
    failed = written("task.failed")
    problem = Problem(code="solar_flare", message="!").model_dump(mode="json")
    meters = Meters()
    meters.heard_facts(Snapshot(brief()), [event_from(failed | {"data": failed["data"] | {"error": problem}})])

    assert series(meters, "attempt_failures_total", "code") == {"other"}
