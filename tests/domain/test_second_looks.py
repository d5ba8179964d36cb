from collections.abc import Collection
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.agents.rereading import reread
from app.domain import events as ev
from app.domain.brief import Brief
from app.domain.errors import IllegalMove
from app.domain.plan import Plan
from app.domain.replay import Findings, drive
from app.domain.second_looks import EXCLUDED, all_results, results_kept, with_models, without_ties
from app.domain.snapshot import Snapshot
from app.domain.timing import timing_of
from tests.domain.test_reporting import reported
from tests.support.rehearsal import rehearse
from tests.support.script import POLICIES, scripts
from tests.support.story import PAIR, Story, brief, plan_of, started, statuses, task, text_block

MANY = settings(
    max_examples=100, deadline=None, derandomize=True, database=None, suppress_health_check=[HealthCheck.too_slow]
)
DIAMOND = (task("a"), task("b", "a"), task("c", "a"), task("d", "b", "c"))


def ended(*undelivered: str) -> Story:
    """A run of four tasks in a diamond, some of which delivered nothing."""
    story = started(*DIAMOND)
    for name in "abcd":
        if story.state(name).ended:
            continue
        story.fail(name) if name in undelivered else story.succeed(name)
        story.settle()
    story.cancel_requested()
    story.settle()
    return story


def kept(run: Snapshot, *begin_at: str, plan: Plan | None = None) -> list[str]:
    assert run.plan is not None
    return [each.task for each in results_kept(run, plan or run.plan, begin_at).tasks]


def begun_with(reused: ev.ResultsReused, plan: Plan, told: Brief | None = None) -> Story:
    """A run that begins with these results, up to its plan."""
    story = Story(replace(told or brief(), reused=reused))
    story.queued(plan)
    story.tell(reused)
    story.started()
    story.settle()
    return story


@pytest.mark.parametrize(
    ("begin_at", "left"), [((), "abcd"), (("d",), "abc"), (("b",), "ac"), (("b", "c"), "a"), (("a",), "")]
)
def test_a_fork_does_a_task_again_with_everything_that_rests_on_it(begin_at: Collection[str], left: str) -> None:
    assert kept(ended().run, *begin_at) == list(left)


def test_a_fork_does_what_has_not_delivered_and_what_was_done_without_it() -> None:
    assert kept(ended("b").run) == ["a", "c"]
    proceeding = started(task("a"), task("b", "a", on_missing_input="proceed"))
    proceeding.fail("a")
    proceeding.settle()
    proceeding.succeed("b")

    assert kept(proceeding.run) == []


def test_another_plan_has_new_and_changed_tasks_done_and_keeps_what_is_told_the_same() -> None:
    [a, b, c, d] = DIAMOND
    retitled = a.model_copy(update={"title": "another title", "required": False})
    changed = c.model_copy(update={"instruction": "do it otherwise"})
    plan = plan_of(retitled, b, changed, task("e", "b"), task("f", "a", "b"))

    assert kept(ended().run, plan=plan) == ["a", "b"]
    assert kept(ended().run, plan=plan_of(retitled, b, c, d.model_copy(update={"depends_on": ("c", "b")}))) == [*"abcd"]


def test_a_run_begins_with_results_and_does_the_rest() -> None:
    source = ended().run
    assert source.plan is not None
    story = begun_with(results_kept(source, source.plan, ["d"]), source.plan)

    assert statuses(story.run) == {"a": "succeeded", "b": "succeeded", "c": "succeeded", "d": "running"}
    assert story.run.usage.llm_calls == 0
    assert story.run.tasks["a"].output == source.tasks["a"].output
    assert story.run.tasks["a"].attempts == ()
    story.succeed("d")
    story.settle()
    story.synthesize()
    story.settle()
    assert story.run.result is not None
    assert (story.run.status, story.run.result.coverage.delivered) == ("succeeded", 4)


def test_an_answer_alone_is_made_from_all_that_was_delivered_without_a_worker() -> None:
    source = ended("b").run
    assert source.plan is not None
    story = begun_with(all_results(source, source.plan), source.plan)

    assert [topic.purpose for topic in story.talking()] == ["synthesize"]
    story.wait(3)
    story.synthesize()
    story.settle()
    assert statuses(story.run) == {"a": "succeeded", "b": "failed", "c": "succeeded", "d": "skipped"}
    assert (story.run.status, story.run.stop_reason) == ("partial", "gaps")
    assert story.run.usage.llm_calls == 1
    assert timing_of(story.run, story.now).critical_path_ms == 3_000


def test_what_is_excluded_is_a_gap_that_says_so() -> None:
    source = ended().run
    assert source.plan is not None
    story = begun_with(all_results(source, source.plan, ["c"]), source.plan)
    story.synthesize()
    story.settle()

    assert story.run.result is not None
    [gap] = story.run.result.gaps
    assert (gap.task, gap.reason) == ("c", EXCLUDED.code)
    assert story.run.result.outputs[2].error == EXCLUDED


def test_a_task_that_was_to_decide_a_conflict_is_left_out_of_what_is_chosen_among() -> None:
    story = started(task("a"), task("b"), task("tie-c1"), task("tie-c2"), task("c", "tie-c2"))
    run = replace(story.run, answering=replace(story.run.answering, ties={"c1": "tie-c1", "c2": "tie-c2"}))
    assert run.plan is not None
    plan = without_ties(run, run.plan)

    assert [*plan.by_id] == ["a", "b", "tie-c2", "c"]


def test_an_answer_anew_takes_only_what_its_plan_has() -> None:
    source = ended().run
    assert source.plan is not None
    fewer = source.plan.model_copy(update={"tasks": source.plan.tasks[:3]})

    assert [each.task for each in all_results(source, fewer).tasks] == ["a", "b", "c"]


def test_who_did_a_task_and_what_was_assumed_for_it_are_taken_along() -> None:
    story = Story(replace(brief(), team=PAIR, limits=brief().limits))
    story.begin(task("a"), task("b"))
    story.start("a")
    question = story.ask("a")
    story.now = question.expires_at
    story.settle()
    story.hear("work", [text_block("done")], name="a")
    story.tell(ev.TaskSucceeded(summary="done"), "a", 2)
    story.fail("b", "timeout")
    story.settle()
    source = story.run
    assert source.plan is not None

    again = begun_with(results_kept(source, source.plan, ()), source.plan, story.run.brief)

    assert [each.assumption for each in again.run.assumptions] == ["this one"]
    assert again.run.tasks["a"].worker == source.tasks["a"].worker


def test_results_are_reused_behind_the_job_and_nowhere_else() -> None:
    story = Story(brief())
    story.queued()
    story.cancel_requested()

    with pytest.raises(IllegalMove):
        story.tell(ev.ResultsReused(run="run_0"))


def test_other_models_are_those_of_the_members_named() -> None:
    team = with_models(PAIR, {"supervisor": "fast", "baker": "deep"})

    assert team.supervisor.model == "fast"
    assert [worker.model for worker in team.workers] == [PAIR.workers[0].model, "deep"]
    assert with_models(PAIR, {}) is PAIR


@MANY
@given(st.data())
def test_whatever_became_of_a_run_its_forks_end_and_do_nothing_twice(data: Any) -> None:
    script = data.draw(scripts(POLICIES))
    source = rehearse(script).run
    plan = source.plan or script.plan
    begin_at = data.draw(st.sets(st.sampled_from([each.id for each in plan.tasks])))
    reused = results_kept(source, plan, begin_at)
    assert not begin_at & {each.task for each in reused.tasks}
    # An edit of the fork's plan would do another thing than what was taken over.
    again = replace(script, reused=reused, plan=plan, own_plan=True, approvers=("approve",))

    story = rehearse(again)

    assert story.run.ended
    names = {each.task for each in reused.tasks}
    assert not names & {event.task_id for event in story.log}
    assert {name for name, state in story.run.tasks.items() if state.delivered} >= names or story.run.plan is None
    drive(story.run.brief, story.log, reread, findings := Findings())
    assert findings.shown == []
    if story.run.plan is not None:
        for each in reused.tasks:
            assert story.run.tasks[each.task].output == each.output
    path = reported(story, reused).critical_path
    timing = timing_of(story.run, story.now)
    assert path.planning_ms + path.tasks_ms + path.synthesis_ms == timing.critical_path_ms
