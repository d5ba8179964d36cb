"""Selecting: who is a candidate, when a judge is asked, what the answer then rests on, and what is told of it."""

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.domain import events as ev
from app.domain.fold import fold
from app.domain.plan import Task
from app.domain.policy.agenda import ANSWERING, REVIEWING, SELECTING
from app.domain.policy.rounds import gaps_to_close
from app.domain.policy.splitting import parts_allowed
from app.domain.reduction_tree import ROOM_CHARACTERS
from app.domain.results import Result
from app.domain.selection import Selection
from app.domain.team import Team
from app.domain.team_rules import ReviewRules, Stragglers
from app.domain.usage import Usage
from tests.support.rehearsal import rehearse
from tests.support.script import Script, scripts
from tests.support.story import TEAM, Story, before_each, brief, called, task, text_block

MANY = settings(
    max_examples=60, deadline=None, derandomize=True, database=None, suppress_health_check=[HealthCheck.too_slow]
)


def tries(*names: str) -> list[Task]:
    return [task(name, required=False) for name in names]


def selecting(*tasks: Task, team: Team = TEAM) -> Story:
    story = Story(replace(brief(), team=team))
    story.queued()
    story.started()
    story.planned(*tasks, strategy="select")
    return story


def all_done(*names: str, team: Team = TEAM) -> Story:
    story = selecting(*tries(*names), team=team)
    for name in names:
        story.succeed(name)
    return story


def result_of(story: Story) -> Result:
    assert story.run.result is not None
    return story.run.result


def names(story: Story) -> list[str]:
    """What the answer in the making rests on."""
    return [each.task.id for each in story.run.reconcilable]


def test_the_judge_is_asked_once_and_then_the_answer_is_made_from_its_choice_alone() -> None:
    story = all_done("a", "b")
    assert story.talking() == [SELECTING]
    story.select("b", "a")

    assert (story.talking(), names(story)) == ([ANSWERING], ["b"])
    story.synthesize()
    story.settle()
    result = result_of(story)
    assert (story.run.status, result.strategy) == ("succeeded", "select")
    assert result.selection == Selection(task="b", reason="It is better.", candidates=("a", "b"))
    assert ([each.task for each in result.outputs], result.gaps) == (["a", "b"], ())


def test_of_one_candidate_that_delivered_nobody_is_asked_and_the_others_leave_no_gap_in_the_answer() -> None:
    story = selecting(*tries("a", "b"))
    story.succeed("a")
    story.fail("b")

    assert (story.talking(), story.run.lacked) == ([ANSWERING], [])
    story.synthesize()
    story.settle()
    assert story.run.status == "succeeded"
    selection = result_of(story).selection
    assert selection is not None
    assert (selection.task, selection.candidates, selection.judged) == ("a", ("a",), False)


def test_what_others_rest_on_is_no_candidate_and_comes_along_with_the_chosen_one() -> None:
    story = selecting(task("outline"), task("notes"), *[task(n, "outline", required=False) for n in "ab"])
    for name in ("outline", "notes", "a", "b"):
        story.succeed(name)

    assert [each.task.id for each in story.run.candidates] == ["notes", "a", "b"]
    story.select("a", "notes", "b")
    assert names(story) == ["outline", "a"]


def test_a_run_in_which_no_candidate_delivers_fails_whatever_else_did() -> None:
    story = selecting(task("outline"), *[task(n, "outline", required=False) for n in "ab"])
    story.succeed("outline")
    story.fail("a")
    story.fail("b")
    story.settle()

    assert (story.run.status, story.run.stop_reason) == ("failed", "no_results")
    assert story.run.error is not None
    assert story.run.error.message.startswith("No candidate delivered a result: a ended with model_refusal, b ended")
    assert "resynthesize with the strategy merge" in story.run.error.message
    assert [each.task for each in result_of(story).outputs] == ["outline", "a", "b"]


def test_the_message_names_the_candidates_that_did_not_deliver_and_no_other_task() -> None:
    story = selecting(
        task("outline"), task("map"), *[task(n, "outline", required=False) for n in "ab"], task("c", "map")
    )
    for name in ("outline", "a", "b"):
        story.succeed(name) if name == "outline" else story.fail(name)
    story.fail("map")
    story.settle()

    assert story.run.error is not None
    assert story.run.error.message.startswith("No candidate delivered a result: a ended with model_refusal, b ended")
    assert "map" not in story.run.error.message.split("What other")[0]


def test_a_dead_required_candidate_keeps_the_run_from_succeeding() -> None:
    story = selecting(*tries("a", "b"), task("c"))
    story.succeed("a")
    story.succeed("b")
    story.fail("c")
    story.select("a", "b")

    assert [each.task.id for each in story.run.lacked] == ["c"]
    story.synthesize()
    story.settle()
    assert (story.run.status, story.run.stop_reason, result_of(story).coverage.missing) == ("partial", "gaps", ("c",))


@pytest.mark.parametrize("ending", ["useless", "refused", "budget"])
def test_a_choice_that_cannot_be_had_is_said_and_the_answer_made_from_all(ending: str) -> None:
    story = all_done("a", "b")
    match ending:
        case "useless":
            for note in ("Again.", None):
                story.hear("select", [text_block("?")])
                story.tell(ev.SelectionRejected(errors=(), note=note))
        case "refused":
            story.hear("select", [text_block("no")], "refusal")
        case _:
            story.tell(ev.BudgetExhausted(limit="tokens", call="select", allowed=1, needed=1, left=0))

    assert story.settle() == ["selection.failed"]
    assert (story.talking(), names(story)) == ([ANSWERING], ["a", "b"])
    story.synthesize()
    story.settle()
    result = result_of(story)
    reason = "budget_exhausted" if ending == "budget" else "synthesis_failed"
    assert (story.run.status, story.run.stop_reason) == ("partial", reason)
    assert (result.strategy, result.answer) == ("merge", "All told.")
    assert result.selection is not None
    assert (result.selection.task, result.selection.candidates) == (None, ("a", "b"))


def test_a_judge_does_not_get_the_time_that_is_kept_for_the_answer() -> None:
    story = all_done("a", "b")
    assert story.decide().wake_at == story.run.wrap_up_at
    assert story.run.wrap_up_at is not None
    story.wait((story.run.wrap_up_at - story.now).total_seconds())

    [(failed, *_)] = story.decide().entries
    assert isinstance(failed, ev.SelectionFailed)
    assert failed.error.code == "timeout"
    story.settle()
    assert (story.talking(), names(story)) == ([ANSWERING], ["a", "b"])
    story.synthesize()
    story.settle()
    assert (story.run.status, story.run.stop_reason) == ("partial", "deadline_exceeded")
    assert (result_of(story).strategy, result_of(story).answer) == ("merge", "All told.")


@pytest.mark.parametrize(("share", "shortened"), [(3, ()), (2, ("b",))])
def test_what_the_judge_saw_in_short_is_told_and_changes_no_status(share: int, shortened: tuple[str, ...]) -> None:
    story = selecting(*tries("a", "b", "c"))
    for name in "abc":
        story.succeed(name, text="x" * (ROOM_CHARACTERS // share - 100) if name == "b" else "short")
    story.select("a", "b", "c")
    story.synthesize()
    story.settle()

    assert (story.run.status, result_of(story).coverage.shortened) == ("succeeded", shortened)
    assert (result_of(story).coverage.required, result_of(story).coverage.delivered) == (0, 0)


def overtaken() -> Story:
    """A run whose answer is made from b, which was chosen before c had landed."""
    story = selecting(*tries("a", "b", "c"), team=_dropping())
    story.start("c")
    story.succeed("a")
    story.succeed("b")
    story.wait(40)
    story.settle()
    story.select("b", "a")
    story.synthesize(answer="All of b.")
    story.succeed("c")
    return story


def test_another_choice_for_which_no_time_is_left_keeps_the_answer_there_is() -> None:
    story = overtaken()
    assert story.talking() == [SELECTING]
    assert story.run.wrap_up_at is not None
    story.wait((story.run.wrap_up_at - story.now).total_seconds())
    story.settle()

    assert (story.run.status, result_of(story).answer, result_of(story).strategy) == (
        "succeeded",
        "All of b.",
        "select",
    )


def test_a_straggler_that_lands_while_the_judge_is_asked_is_chosen_among_later() -> None:
    story = selecting(*tries("a", "b", "c"), team=_dropping())
    story.start("c")
    story.succeed("a")
    story.succeed("b")
    story.wait(40)
    assert story.settle() == ["task.dropped"]
    story.succeed("c")

    assert [each.task.id for each in story.run.candidates] == ["a", "b"]
    story.select("a", "b")
    story.synthesize()
    assert (story.settle(), story.talking()) == ([], [SELECTING])
    story.select("c", "a", "b")
    story.synthesize(answer="All of c.")
    story.settle()
    result = result_of(story)
    assert (result.answer, result.selection and result.selection.task) == ("All of c.", "c")


def test_candidates_are_not_dropped_before_one_of_them_has_delivered() -> None:
    outline, *drafts = task("outline"), *(task(n, "outline", required=False) for n in "ab")
    story = selecting(outline, *drafts, team=_dropping(quorum=0.3))
    story.succeed("outline")
    story.start("a")
    story.start("b")
    story.wait(40)
    assert story.settle() == []
    story.succeed("a")

    assert story.settle() == ["task.dropped"]


def test_when_another_choice_cannot_be_had_the_answer_there_is_goes_out_with_its_own() -> None:
    story = overtaken()
    assert story.talking() == [SELECTING]
    story.hear("select", [text_block("no")], "refusal")
    story.settle()

    result = result_of(story)
    assert (story.run.status, result.answer, result.strategy) == ("succeeded", "All of b.", "select")
    assert result.selection is not None
    assert (result.selection.task, [gap.task for gap in result.gaps]) == ("b", ["c"])


def _dropping(quorum: float = 0.5) -> Team:
    return TEAM.model_copy(update={"stragglers": Stragglers(policy="drop", quorum=quorum, after_s=30)})


def test_an_answer_that_the_critic_refuses_is_revised_without_another_choice() -> None:
    story = all_done("a", "b", team=TEAM.model_copy(update={"review": ReviewRules(critic=True)}))
    story.select("a", "b")
    story.synthesize()
    assert story.talking() == [REVIEWING]
    story.hear("review", [text_block("no")])
    story.tell(ev.ReviewCompleted(verdict="needs_revision", notes="Shorter."))

    assert (story.talking(), gaps_to_close(story.run)) == ([ANSWERING], ["a"])


def test_what_a_further_round_adds_to_the_chosen_one_takes_its_place_once_it_has_delivered() -> None:
    story = all_done("a", "b")
    story.select("a", "b")
    assert story.run.plan is not None
    more = task("a-1", "a", required=False)
    plan = story.run.plan.model_copy(update={"revision": 2, "tasks": (*story.run.plan.tasks, more)})
    story.synthesize()
    revised = ev.PlanRevised.from_to(story.run.plan, plan, "More.").model_copy(update={"round": 2})
    story.tell(revised)

    assert [each.task.id for each in story.run.candidates] == ["a", "b"]
    story.succeed("a-1")
    assert [each.task.id for each in story.run.candidates] == ["b", "a-1"]
    assert (story.settle(), story.talking()) == ([], [SELECTING])
    story.select("a-1", "b")
    assert names(story) == ["a", "a-1"]


def test_candidates_are_not_split() -> None:
    story = selecting(task("outline"), *[task(n, "outline", required=False) for n in "ab"])

    assert parts_allowed(story.run, story.state("a")) == 0
    assert parts_allowed(story.run, story.state("outline")) > 1


def test_a_merge_is_asked_nothing_more() -> None:
    story = Story(brief())
    story.begin(task("a"), task("b"))
    story.succeed("a")
    story.succeed("b")

    assert (story.run.candidates, story.talking()) == ([], [ANSWERING])


@st.composite
def runs_that_select(draw: st.DrawFn) -> tuple[Script, Story]:
    script = draw(scripts())
    script = replace(script, plan=script.plan.model_copy(update={"strategy": "select"}))
    return script, rehearse(script)


@MANY
@given(runs_that_select())
def test_an_answer_rests_on_what_was_chosen_and_on_what_that_rests_on(told: tuple[Script, Story]) -> None:
    _, story = told
    for run, event in before_each(story):
        if isinstance(event.data, ev.SynthesisCompleted) and run.selection is not None and run.selection.task:
            may = {each.task.id for each in run.reconcilable}
            assert run.selection.task in may
            assert {name for each in event.data.statements for name in each.tasks} <= may
            assert may.isdisjoint({each.task.id for each in run.candidates} - {run.selection.task})


@MANY
@given(runs_that_select())
def test_a_choice_is_made_once_for_the_same_candidates_and_never_by_two_processes(told: tuple[Script, Story]) -> None:
    _, story = told
    seen = [frozenset(each.candidates) for each in story.run.answering.selections]
    assert len(seen) == len(set(seen))
    for run, event in before_each(story):
        if isinstance(event.data, ev.SelectionCompleted | ev.SelectionFailed):
            assert {*event.data.candidates} == {each.task.id for each in run.candidates}
            assert len(event.data.candidates) > 1


@MANY
@given(runs_that_select())
def test_a_result_tells_the_choice_its_answer_was_made_from(told: tuple[Script, Story]) -> None:
    _, story = told
    result = story.run.result
    if result is None or result.answer is None:
        return
    selection = result.selection
    assert selection is not None
    assert (result.strategy == "merge") == (selection.task is None)
    assert {*selection.candidates} <= {each.task for each in result.outputs}
    if story.run.status == "succeeded":
        assert selection.task is not None


@MANY
@given(runs_that_select(), st.data())
def test_a_run_broken_off_goes_on_with_the_choice_it_had(told: tuple[Script, Story], data: st.DataObject) -> None:
    script, story = told
    cut = data.draw(st.integers(1, len(story.log) - 1))
    again = rehearse(script, story.log[:cut])
    before = fold(script.brief, story.log[:cut]).answering.selections
    assert again.run.answering.selections[: len(before)] == before


def test_the_calls_of_a_choice_count_for_the_run() -> None:
    story = all_done("a", "b")
    before = story.run.usage
    story.tell(called("select", Usage(llm_calls=1, output_tokens=7)).completed(stop_reason="end_turn", content=[]))

    assert (story.run.usage.output_tokens, story.run.usage.llm_calls) == (before.output_tokens + 7, 3)
