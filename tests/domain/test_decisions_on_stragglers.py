from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from app.domain import events as ev
from app.domain.errors import IllegalMove
from app.domain.policy.agenda import ANSWERING, left_behind
from app.domain.policy.conditions import Conditions
from app.domain.results import Problem
from app.domain.team import Team
from app.domain.team_rules import Stragglers
from app.domain.topics import Topic
from tests.support.story import PAIR, TEAM, Story, brief, called, statuses, task, text_block

FOUR = [task(name) for name in "abcd"]
FIRST, SECOND = Topic("work", "a", 1), Topic("work", "a", 2)


def crew(team: Team = PAIR, plan: Any = None, limits: Any = None, **rules: Any) -> Story:
    """A run of such a team whose tasks have begun."""
    story = Story(replace(brief(**(limits or {})), team=team.model_copy(update={"stragglers": Stragglers(**rules)})))
    story.begin(*(plan or FOUR))
    story.settle()
    return story


def of_attempt(story: Story, number: int, *facts: ev.AnyFact) -> None:
    """A reply in an attempt at `a`, and what followed from it."""
    reply = called("work").completed(stop_reason="end_turn", content=[text_block("said")])
    for fact in (reply, *facts):
        story.tell(fact, "a", number)


def delivered(story: Story, number: int) -> None:
    of_attempt(story, number, ev.TaskSucceeded(summary="a done", text=f"By attempt {number}."))


def dropping(**changes: Any) -> Story:
    """A run in which all but `a` is done."""
    settings: dict[str, Any] = {"policy": "drop", "after_s": 30}
    story = crew(**settings | changes)
    story.wait(5)
    for name in "bcd":
        story.succeed(name)
    return story


def hedged(**changes: Any) -> Story:
    """A run in which a second worker tries `a`."""
    settings: dict[str, Any] = {"policy": "hedge", "after_s": 30}
    story = crew(**settings | changes)
    for name in "bcd":
        story.succeed(name)
    story.wait(30)
    assert story.settle() == ["task.started"]
    return story


# --- drop


def test_a_straggler_is_dropped_once_all_else_is_done_and_goes_on_beside_the_answer() -> None:
    story = dropping()
    assert (story.talking(), story.decide().wake_at) == ([FIRST], story.now + timedelta(seconds=25))
    story.wait(25)

    assert story.settle() == ["task.dropped"]
    assert story.run.phase == "synthesizing"
    assert sorted(story.talking()) == [ANSWERING, FIRST]


def test_nothing_is_dropped_while_something_else_may_still_be_done() -> None:
    story = crew(policy="drop", after_s=30, plan=[*FOUR, task("e", "b")])
    story.wait(40)
    for name in "cd":
        story.succeed(name)

    assert story.settle() == []  # Both `a` and `b` are overdue, but half is not enough.
    story.succeed("b")
    assert story.settle() == ["task.started"]
    story.succeed("e")
    assert story.settle() == ["task.dropped"]


@pytest.mark.parametrize(("quorum", "dropped"), [(0.8, False), (0.75, True), (None, True)])
def test_enough_must_have_been_delivered(quorum: float | None, dropped: bool) -> None:
    story = dropping(quorum=quorum)
    story.wait(60)

    assert ("task.dropped" in story.settle()) == dropped


def test_two_stragglers_are_dropped_together_when_the_later_one_is_due() -> None:
    story = crew(policy="drop", after_s=30, quorum=0.5, limits={"concurrency": 3})
    story.succeed("b")
    story.wait(10)
    story.settle()
    story.succeed("c")
    story.wait(20)
    assert story.settle() == []
    story.wait(10)

    assert story.settle() == ["task.dropped", "task.dropped"]


def test_without_a_time_the_others_are_the_measure() -> None:
    story = dropping(after_s=None)
    assert story.decide().wake_at == story.now + timedelta(seconds=10)  # Three times five, of which five are over.
    story.wait(10)

    assert story.settle() == ["task.dropped"]


def test_what_waits_for_a_dropped_task_goes_on_without_it_or_is_skipped() -> None:
    story = crew(policy="drop", after_s=30, plan=[*FOUR, task("e", "a"), task("f", "a", on_missing_input="proceed")])
    for name in "bcd":
        story.succeed(name)
    story.wait(30)

    assert story.settle() == ["task.dropped", "task.skipped", "task.started"]
    assert story.run.phase == "executing"
    story.succeed("f")
    assert sorted(story.talking()) == [ANSWERING, FIRST]


def dropped() -> Story:
    story = dropping()
    story.wait(25)
    story.settle()
    return story


def test_a_dropped_task_that_has_not_landed_by_the_answer_is_a_gap() -> None:
    story = dropped()
    story.synthesize()

    assert story.settle() == ["task.cancelled", "run.partial"]
    assert story.run.stop_reason == "gaps"
    assert story.run.result is not None
    assert [(gap.task, gap.reason) for gap in story.run.result.gaps] == [("a", "timeout")]
    assert story.run.result.coverage.missing == ("a",)
    assert [report.status for report in story.run.result.outputs] == ["cancelled", *["succeeded"] * 3]


def test_an_optional_task_may_be_dropped_and_the_run_succeeds() -> None:
    story = crew(policy="drop", after_s=30, plan=[task("a", required=False), *FOUR[1:]])
    for name in "bcd":
        story.succeed(name)
    story.wait(30)
    story.settle()
    story.synthesize()
    story.settle()

    assert story.run.status == "succeeded"
    assert statuses(story.run)["a"] == "cancelled"


def test_a_straggler_that_lands_while_the_answer_is_made_is_used_in_another_one() -> None:
    story = dropped()
    delivered(story, 1)
    assert [each.task.id for each in story.run.reconcilable] == ["b", "c", "d"]  # The answer that is under way.
    assert story.talking() == [ANSWERING]
    story.synthesize()
    assert (story.settle(), story.talking()) == ([], [ANSWERING])
    assert story.talk(ANSWERING).turns == ()
    assert [each.task.id for each in story.run.reconcilable] == ["a", "b", "c", "d"]
    story.synthesize(answer="All told, and a.")
    story.settle()

    assert (story.run.status, story.run.stop_reason) == ("succeeded", "completed")
    assert story.run.result is not None
    assert story.run.result.answer == "All told, and a."
    assert story.run.result.gaps == ()


def test_one_that_lands_between_the_answer_and_the_end_is_used_too() -> None:
    story = dropped()
    story.synthesize()
    delivered(story, 1)

    assert (story.settle(), story.talking()) == ([], [ANSWERING])
    assert [each.task.id for each in story.run.reconcilable] == ["a", "b", "c", "d"]


@pytest.mark.parametrize("ending", ["time", "useless", "fatal", "budget"])
def test_the_answer_there_is_goes_out_when_no_other_can_be_had(ending: str) -> None:
    story = dropped()
    delivered(story, 1)
    story.synthesize()
    match ending:
        case "time":
            story.wait(880)
        case "useless":
            for note in ("Again.", None):
                story.hear("synthesize", [text_block("?")])
                story.tell(ev.SynthesisRejected(errors=(), note=note))
        case "fatal":
            story.fail_call("synthesize", "provider_auth")
        case _:
            spent: dict[str, Any] = {"allowed": 1, "needed": 1, "left": 0}
            story.tell(ev.BudgetExhausted(limit="tokens", call="synthesize", **spent))
    story.settle()

    assert story.run.status == "partial"
    assert story.run.result is not None
    assert story.run.result.answer == "All told."
    assert [(gap.task, gap.reason) for gap in story.run.result.gaps] == [("a", "timeout")]
    assert story.run.result.outputs[0].text == "By attempt 1."
    assert story.run.result.coverage.missing == ()


def test_the_last_part_of_the_time_is_for_the_answer_alone() -> None:
    story = dropped()
    story.wait(845)
    assert sorted(story.talking()) == [ANSWERING]

    assert story.settle() == ["task.cancelled"]
    assert story.talking() == [ANSWERING]
    assert story.error("a") == "timeout"


def test_the_time_that_a_person_takes_is_not_the_stragglers() -> None:
    story = dropping()
    question = story.ask("a")
    story.wait(200)
    story.answer(question)
    assert story.settle() == ["task.started"]
    story.wait(29)
    assert "task.dropped" not in story.settle()
    story.wait(1)

    assert "task.dropped" in story.settle()


def test_a_straggler_that_its_provider_holds_is_not_dropped() -> None:
    story = dropping()
    story.fail_call("work", "rate_limited", "a", again_in=100)
    story.wait(40)

    assert "task.dropped" not in story.settle()


def test_nothing_is_dropped_by_a_team_that_waits() -> None:
    story = crew(policy="wait")
    for name in "bcd":
        story.succeed(name)
    story.wait(800)

    assert "task.dropped" not in story.settle()


# --- hedge


def test_a_straggler_is_tried_by_the_fallback_side_by_side() -> None:
    story = crew(policy="hedge", after_s=30)
    assert story.decide().wake_at == story.now + timedelta(seconds=30)
    story.wait(30)
    assert story.settle() == ["task.started"]  # A place that is free: five may run.

    assert [topic for topic in story.talking() if topic.task_id == "a"] == [FIRST, SECOND]
    first, second = story.state("a").attempts
    assert (first.worker, second.worker, second.beside) == ("able", "baker", 1)
    assert second.instruction == first.instruction


def test_a_worker_without_a_fallback_tries_again_itself_on_a_stronger_model_or_the_same() -> None:
    story = hedged(team=TEAM)
    assert [(each.worker, each.model) for each in story.state("a").attempts] == [
        ("able", "balanced"),
        ("able", "deep"),
    ]
    local = Team(name="crew", workers=(TEAM.workers[0].model_copy(update={"model": "own"}),))
    assert [each.model for each in hedged(team=local).state("a").attempts] == ["own", "own"]


@pytest.mark.parametrize("winner", [1, 2])
def test_the_first_result_counts_and_the_other_attempt_is_stopped_and_paid_for(winner: int) -> None:
    story = hedged()
    loser = 3 - winner
    delivered(story, winner)
    assert [*left_behind(story.run)] == [Topic("work", "a", loser)]
    assert Topic("work", "a", loser) not in story.talking()
    story.tell(called("work").failed(Problem(code="cancelled", message="stopped")), "a", loser)

    assert story.settle() == ["attempt.cancelled"]
    assert [each.status for each in story.state("a").attempts] == (
        ["succeeded", "cancelled"] if winner == 1 else ["cancelled", "succeeded"]
    )
    assert [each.usage.llm_calls for each in story.state("a").attempts] == [1, 1]
    assert story.state("a").worker == ("able", "baker")[winner - 1]
    story.synthesize()
    story.settle()
    assert story.run.result is not None
    assert story.run.result.coverage.substituted == (() if winner == 1 else ("a",))


def test_what_the_other_attempt_says_after_that_changes_nothing() -> None:
    story = hedged()
    delivered(story, 2)

    with pytest.raises(IllegalMove):
        story.tell(ev.TaskSucceeded(summary="late"), "a", 1)
    with pytest.raises(IllegalMove):
        story.tell(ev.TaskEscalated(reason="out_of_scope", message="late"), "a", 1)


@pytest.mark.parametrize("failing", [1, 2])
def test_one_of_two_may_fail_and_the_ladder_waits_for_the_other(failing: int) -> None:
    story = hedged()
    failure = called("work").failed(Problem(code="context_exceeded", message="too long"))
    story.tell(failure, "a", failing)

    assert story.settle() == ["attempt.failed"]
    assert story.talking() == [Topic("work", "a", 3 - failing)]
    story.tell(called("work").failed(Problem(code="max_steps", message="too many")), "a", 3 - failing)
    assert story.settle()[0] == "task.retrying"
    assert story.attempt_errors("a")[failing - 1] == "context_exceeded"
    assert story.state("a").next.first == Topic("refine", "a", 3)
    story.refine("a", "do a with care")
    story.settle()
    assert story.state("a").attempt.number == 3


def test_no_rung_repeats_what_a_hedge_has_tried() -> None:
    story = hedged(team=TEAM.model_copy(update={"ladder": ("stronger_model", "refine")}))
    for number in (1, 2):
        story.tell(called("work").failed(Problem(code="max_steps", message="!")), "a", number)
    story.settle()

    assert story.state("a").next.model is None  # The stronger model has tried already.
    assert story.state("a").next.first == Topic("refine", "a", 3)


def test_an_escalation_is_ruled_on_once_nothing_runs_beside_it() -> None:
    story = hedged(limits={"attempts": 4})
    escalation = ev.TaskEscalated(reason="out_of_scope", message="not mine", partial="half")
    of_attempt(story, 1, escalation)
    assert (story.settle(), story.talking()) == ([], [SECOND])
    of_attempt(story, 2, ev.TaskEscalated(reason="out_of_scope", message="nor mine", partial="half"))

    assert story.settle() == ["attempt.failed"]
    assert story.talking() == [Topic("rule", "a", 2)]
    assert story.attempt_errors("a") == ["no_progress", None]


def test_an_escalation_that_waited_is_ruled_on_when_the_other_attempt_has_failed() -> None:
    story = hedged(limits={"attempts": 4})
    of_attempt(story, 1, ev.TaskEscalated(reason="out_of_scope", message="not mine", partial="half"))
    story.tell(called("work").failed(Problem(code="max_steps", message="!")), "a", 2)

    assert story.settle() == ["attempt.failed"]
    assert story.talking() == [Topic("rule", "a", 1)]


def test_a_hedge_needs_a_place_an_attempt_and_a_provider_that_takes_requests() -> None:
    for limits in ({"concurrency": 4}, {"attempts": 1}):
        story = crew(policy="hedge", after_s=30, limits=limits)
        story.wait(40)
        assert "task.started" not in story.settle()
    braked = crew(policy="hedge", after_s=30)
    braked.conditions = Conditions(brakes={"balanced": braked.now + timedelta(seconds=50)})
    braked.wait(40)
    assert braked.settle() == []
    assert braked.decide().wake_at == braked.now + timedelta(seconds=10)
    waiting = crew(policy="hedge", after_s=30)
    waiting.wait(29)
    for name in "abcd":
        waiting.fail_call("work", "rate_limited", name, again_in=4)
    waiting.wait(3)
    assert waiting.settle() == []


def test_a_task_with_tokens_of_its_own_is_not_hedged() -> None:
    story = crew(policy="hedge", after_s=30, plan=[task("a", budget={"tokens": 5_000})])
    story.wait(40)

    assert story.settle() == []


def test_each_attempt_has_one_beside_it_at_most() -> None:
    story = hedged(limits={"attempts": 10})
    story.tell(called("work").failed(Problem(code="max_steps", message="!")), "a", 2)
    assert story.settle() == ["attempt.failed"]
    story.wait(20)

    assert story.settle() == []
    assert story.talking() == [FIRST]


def test_a_cancelled_run_stops_both() -> None:
    story = hedged()
    story.cancel_requested()

    assert story.settle() == ["attempt.cancelled", "task.cancelled", "run.cancelled"]
    assert [each.status for each in story.state("a").attempts] == ["cancelled", "cancelled"]


def test_a_resumed_process_goes_on_with_both() -> None:
    story = hedged()
    story.resumed()

    assert story.talking() == [FIRST, SECOND]
    assert {each.since for each in story.state("a").running} == {story.now}


# --- the time of a task


def test_a_task_has_a_time_for_all_its_attempts() -> None:
    story = crew(policy="wait", plan=[task("a", budget={"deadline_s": 50}), task("b")])
    story.succeed("b")
    story.wait(30)
    story.fail_call("work", "max_steps", "a")
    story.settle()
    story.refine("a", "do a with care")
    story.settle()
    assert story.decide().wake_at == story.now + timedelta(seconds=20)
    story.wait(20)

    assert story.settle()[0] == "task.failed"
    assert story.error("a") == "timeout"


def test_no_attempt_is_waited_for_that_would_begin_after_it() -> None:
    story = crew(policy="wait", plan=[task("a", budget={"deadline_s": 50}), task("b")])
    story.fail_call("work", "rate_limited", "a", not_before=60)

    assert story.settle()[0] == "task.failed"
    assert story.error("a") == "rate_limited"


def test_a_task_that_is_tried_twice_side_by_side_ends_at_its_time() -> None:
    story = hedged(plan=[task("a", budget={"deadline_s": 50}), *FOUR[1:]])
    story.wait(20)

    assert story.settle()[:2] == ["attempt.cancelled", "task.failed"]


@pytest.mark.parametrize(
    ("rules", "why"),
    [
        ({"policy": "hedge", "quorum": 0.5}, "quorum goes with"),
        ({"policy": "wait", "after_s": 5}, "after_s goes with"),
        ({"policy": "drop", "quorum": 1}, "less than 1"),
        ({"policy": "drop", "after_s": 0}, "greater than 0"),
        ({"policy": "chase"}, "policy"),
    ],
)
def test_rules_that_mean_nothing_are_refused(rules: dict[str, Any], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        Stragglers(**rules)


def test_a_team_that_waits_is_stored_as_before() -> None:
    assert "stragglers" not in TEAM.definition
    for rules in (Stragglers(policy="drop", after_s=3), Stragglers(policy="hedge")):
        team = TEAM.model_copy(update={"stragglers": rules})
        assert Team.model_validate_json(team.definition) == team
