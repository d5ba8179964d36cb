"""What a team tries on conflicts that an answer leaves unresolved: a judge, a task that breaks the tie."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from app.domain import events as ev
from app.domain.answering import LEFT_OPEN
from app.domain.crew import Means
from app.domain.policy.agenda import ARBITRATING, open_topics
from app.domain.policy.resolution import SITTINGS_ALLOWED
from app.domain.results import Claim, Conflict
from app.domain.team import Team
from app.domain.team_rules import ConflictMethod
from app.domain.topics import Topic
from app.domain.worker import Worker
from tests.support.story import USELESS, WORKER, Story, brief, task, text_block

CLAIMS = (Claim(task="a", claim="2009"), Claim(task="b", claim="2011"))
YEAR = Conflict(id="c1", topic="the year", claims=CLAIMS, status="unresolved")
TOWN = Conflict(id="c2", topic="the town", claims=CLAIMS, status="unresolved")
WITH_TIE = (*CLAIMS, Claim(task="tie-c1", claim="2011"))
SYNTHESIS = Topic("synthesize")
MEANS = {
    "fetch_page": Means("read", "web"),
    "read_input": Means("read", "inputs"),
    "query_data": Means("read", "inputs"),
    "send": Means("once"),
}


def worker(name: str, *tools: str, kind: str | None = None) -> Worker:
    return WORKER.model_copy(update={"name": name, "tools": tools, "kind": kind})


def told(
    *methods: ConflictMethod,
    found: tuple[Conflict, ...] = (YEAR,),
    limits: Mapping[str, int] | None = None,
    means: Mapping[str, Means] | None = None,
    **team: Any,
) -> Story:
    """A run whose tasks contradict each other, with an answer that says so."""
    fields = {"name": "crew", "workers": (WORKER,), "conflict_resolution": methods} | team
    story = Story(replace(brief(**(limits or {})), team=Team(**fields), means=means or {}))
    story.begin(task("a"), task("b"))
    story.succeed("a", text="It was 2009.")
    story.succeed("b", text="It was 2011.")
    for conflict in found:
        story.tell(ev.ConflictFound.of(conflict))
    story.synthesize(answer="2009 or 2011.", conflicts=found)
    return story


def judge(story: Story, **said: str | None) -> None:
    story.hear("arbitrate", [text_block("so it is")])
    sitting = story.run.answering.sittings + 1
    for name, resolution in said.items():
        story.tell(ev.ConflictJudged(id=name, resolution=resolution, reason="so", confidence=0.8, sitting=sitting))


def refused(story: Story, note: str | None) -> None:
    story.hear("arbitrate", [text_block("?")])
    story.tell(ev.JudgementRejected(errors=(USELESS,), note=note))


def left(story: Story) -> list[tuple[str, str, str]]:
    facts = [event.data for event in story.log if isinstance(event.data, ev.ConflictLeftOpen)]
    return [(fact.id, fact.method, fact.reason) for fact in facts]


def test_nothing_is_tried_unless_the_team_says_so() -> None:
    assert told().settle() == ["run.succeeded"]


def test_what_the_supervisor_has_resolved_is_left_alone() -> None:
    done = YEAR.model_copy(update={"status": "resolved", "resolution": "2009", "method": "evidence"})

    assert told("judge", "tie_break", found=(done,)).settle() == ["run.succeeded"]


def test_a_judge_is_asked_once_and_what_it_decides_leads_to_another_answer() -> None:
    story = told("judge")
    assert (story.settle(), story.talking()) == ([], [ARBITRATING])

    judge(story, c1="2011")
    assert story.talking() == [SYNTHESIS]
    [settled] = story.run.answering.settled
    assert (settled.topic, settled.answer, settled.method, settled.confidence) == ("the year", "2011", "judge", 0.8)
    story.synthesize(answer="2011.")
    assert story.settle() == ["run.succeeded"]


def test_what_a_judge_cannot_decide_goes_out_as_it_is() -> None:
    story = told("judge")
    judge(story, c1=None)

    assert story.settle() == ["run.succeeded"]
    assert story.run.result is not None
    assert story.run.result.conflicts == (YEAR,)


def test_nobody_is_asked_twice_about_the_same_whatever_the_next_answer_says() -> None:
    story = told("judge")
    judge(story, c1="2011")
    story.synthesize(answer="2009 or 2011.", conflicts=(YEAR,))

    assert story.settle() == ["run.succeeded"]


def test_a_judgement_that_cannot_be_had_leaves_the_conflict_open_and_that_is_said() -> None:
    story = told("judge", conflicts="fail")
    refused(story, "Again.")
    assert story.talking() == [ARBITRATING]
    refused(story, None)

    assert story.settle() == ["conflict.left_open", "run.partial"]
    assert left(story) == [("c1", "judge", "output_invalid")]


def test_a_judge_that_declines_is_no_reason_to_fail() -> None:
    story = told("judge")
    story.hear("arbitrate", [], "refusal")

    assert story.settle() == ["conflict.left_open", "run.succeeded"]
    assert left(story) == [("c1", "judge", "model_refusal")]


def test_nothing_is_tried_when_the_time_for_work_is_over() -> None:
    story = told("judge", "tie_break")
    assert story.run.wrap_up_at is not None
    story.now = story.run.wrap_up_at

    assert story.settle() == ["conflict.left_open", "conflict.left_open", "run.succeeded"]
    assert {reason for _, _, reason in left(story)} == {"deadline_exceeded"}


def test_what_a_judge_has_decided_at_the_last_moment_is_still_heeded() -> None:
    story = told("judge")
    judge(story, c1="2011")
    assert story.run.wrap_up_at is not None
    story.now = story.run.wrap_up_at

    assert story.talking() == [SYNTHESIS]


def test_answers_that_bring_ever_new_conflicts_do_not_keep_the_judge_sitting() -> None:
    story = told("judge")
    for number in range(1, SITTINGS_ALLOWED + 1):
        judge(story, **{f"c{number}": "2011"})
        new = YEAR.model_copy(update={"id": f"c{number + 1}", "topic": f"topic {number}"})
        story.tell(ev.ConflictFound.of(new))
        story.synthesize(answer="2009 or 2011.", conflicts=(new,))

    assert story.settle() == ["conflict.left_open", "run.succeeded"]
    assert left(story) == [(f"c{SITTINGS_ALLOWED + 1}", "judge", "limit_reached")]


def test_a_task_is_planned_that_is_told_the_question_and_neither_the_claims_nor_whose_they_are() -> None:
    story = told("tie_break", workers=(WORKER, worker("other")))
    [revised] = (entry.fact for entry in story.decide().entries)

    assert isinstance(revised, ev.PlanRevised)
    assert (revised.round, revised.ties, revised.added, revised.redispatched) == (2, {"c1": "tie-c1"}, ("tie-c1",), {})
    made = revised.by_id["tie-c1"]
    assert (made.worker, made.required, made.depends_on) == ("other", False, ())
    assert "the year" in made.instruction
    assert "do a" in made.context
    assert not any(each.claim in f"{made.title} {made.instruction} {made.context}" for each in CLAIMS)
    assert story.settle() == ["plan.revised", "task.started"]


def test_no_tie_is_broken_where_the_answer_is_made_from_one_chosen_result() -> None:
    story = told("tie_break")
    assert story.run.plan is not None
    story.run = replace(story.run, plan=story.run.plan.model_copy(update={"strategy": "select"}))

    [(fact, *_)] = [entry for entry in story.decide().entries if isinstance(entry.fact, ev.ConflictLeftOpen)]
    assert isinstance(fact, ev.ConflictLeftOpen)
    assert (fact.method, fact.reason) == ("tie_break", "strategy_select")


def test_what_that_task_finds_is_put_together_with_all_there_is() -> None:
    story = told("tie_break")
    story.settle()
    story.succeed("tie-c1")
    assert story.talking() == [SYNTHESIS]
    decided = {"claims": WITH_TIE, "status": "resolved", "resolution": "2011", "method": "tie_break"}
    story.synthesize(answer="2011.", conflicts=(YEAR.model_copy(update=decided),))

    assert story.settle() == ["run.succeeded"]
    assert story.run.result is not None
    assert (story.run.result.rounds, story.run.result.coverage.required) == (2, 2)


def test_a_tie_that_is_not_broken_stays_as_it_is_and_is_not_tried_again() -> None:
    story = told("tie_break", limits={"rounds": 5})
    story.settle()
    story.succeed("tie-c1")
    story.synthesize(answer="2009 or 2011.", conflicts=(YEAR,))

    assert story.settle() == ["conflict.left_open", "run.succeeded"]
    assert left(story) == [("c1", "tie_break", "undecided")]


def test_what_a_tie_break_brought_is_no_gap_when_the_answer_made_with_it_cannot_be_used() -> None:
    story = told("tie_break")
    story.settle()
    story.succeed("tie-c1")
    for note in ("Again.", None):
        story.hear("synthesize", [text_block("no answer")])
        story.tell(ev.SynthesisRejected(errors=(USELESS,), note=note))

    assert story.settle() == ["conflict.left_open", "run.partial"]
    assert left(story) == [("c1", "tie_break", "synthesis_failed")]
    result = story.run.result
    assert result is not None
    assert (story.run.stop_reason, result.answer, result.gaps) == ("synthesis_failed", "2009 or 2011.", ())


def test_a_task_that_finds_nothing_leaves_the_conflict_open_and_that_is_said() -> None:
    story = told("tie_break")
    story.settle()
    story.fail("tie-c1")

    assert story.settle() == ["conflict.left_open", "run.succeeded"]
    assert left(story) == [("c1", "tie_break", "model_refusal")]
    assert story.run.result is not None
    assert [gap.task for gap in story.run.result.gaps] == ["tie-c1"]
    assert story.run.result.answer == "2009 or 2011."


@pytest.mark.parametrize("limits", [{"rounds": 1}, {"tasks": 2}])
def test_no_task_is_planned_beyond_the_limits(limits: dict[str, int]) -> None:
    story = told("tie_break", limits=limits)

    assert story.settle() == ["conflict.left_open", "run.succeeded"]
    assert left(story) == [("c1", "tie_break", "limit_reached")]


def test_where_there_is_room_for_some_the_first_are_tried() -> None:
    story = told("tie_break", found=(YEAR, TOWN), limits={"tasks": 3})

    assert story.settle() == ["conflict.left_open", "plan.revised", "task.started"]
    assert left(story) == [("c2", "tie_break", "limit_reached")]
    assert story.run.answering.ties == {"c1": "tie-c1"}


def test_methods_are_tried_in_the_order_of_the_team_and_the_answer_is_made_once() -> None:
    story = told("judge", "tie_break", found=(YEAR, TOWN))
    judge(story, c1="2011", c2=None)

    assert story.settle() == ["plan.revised", "task.started"]
    assert story.run.answering.ties == {"c2": "tie-c2"}
    story.fail("tie-c2")
    assert story.settle() == ["conflict.left_open"]
    assert story.talking() == [SYNTHESIS]


def test_a_judge_comes_after_a_task_that_did_not_decide() -> None:
    story = told("tie_break", "judge")
    story.settle()
    story.succeed("tie-c1")
    story.synthesize(answer="2009 or 2011.", conflicts=(YEAR,))

    assert story.talking() == [ARBITRATING]


def test_people_are_asked_about_what_is_left_and_about_nothing_else() -> None:
    story = told("judge", found=(YEAR, TOWN), conflicts="ask_human")
    assert story.settle() == []
    judge(story, c1="2011", c2=None)
    assert story.talking() == [SYNTHESIS]
    story.synthesize(answer="2011, here or there.", conflicts=(TOWN,))

    assert story.settle() == ["question.asked", "run.waiting"]
    [question] = story.run.questions.values()
    assert "the town" in question.question
    story.answer(question, LEFT_OPEN)
    story.resumed()
    assert story.settle() == ["run.succeeded"]


def test_a_critic_looks_once_everything_was_tried() -> None:
    story = told("judge", review={"critic": True})
    assert list(open_topics(story.run)) == [ARBITRATING]
    judge(story, c1=None)

    assert (story.talking(), list(open_topics(story.run))) == ([Topic("review")], [Topic("review")])


def test_the_same_conflict_in_other_words_is_known_by_the_task_that_was_to_decide_it() -> None:
    story = told("tie_break")
    story.settle()
    story.succeed("tie-c1")
    in_other_words = YEAR.model_copy(update={"topic": "founded in", "claims": (CLAIMS[0], WITH_TIE[-1])})
    with_its_claim = YEAR.model_copy(update={"claims": WITH_TIE})

    same = [story.run.answering.same_as(each) for each in (in_other_words, with_its_claim, TOWN)]
    assert [found and found.id for found in same] == ["c1", "c1", None]


@pytest.mark.parametrize(
    ("others", "who"),
    [
        ((), "able"),
        ((worker("web", "fetch_page"),), "able"),
        ((worker("web", "fetch_page"), worker("reader", "read_input")), "reader"),
        ((worker("idle"),), "able"),
        ((worker("form", "read_input").model_copy(update={"output_schema": {"type": "object"}}),), "able"),
        ((worker("sender", "send", "read_input"),), "able"),
    ],
)
def test_somebody_else_decides_who_reads_the_same_and_may_do_no_more(others: tuple[Worker, ...], who: str) -> None:
    workers = (WORKER.model_copy(update={"tools": ("query_data",)}), *others)
    story = told("tie_break", workers=workers, tool_isolation="shared", means=MEANS)
    story.settle()

    assert story.run.tasks["tie-c1"].task.worker == who


def test_those_of_a_kind_come_first() -> None:
    workers = (worker("able", kind="hand"), worker("other"), worker("second", kind="hand"))
    story = told("tie_break", workers=workers)
    story.settle()

    assert (story.run.tasks["tie-c1"].task.worker, story.run.tasks["tie-c1"].worker) == ("second", "second")


def test_whoever_plays_the_critic_and_the_judge_is_among_the_models_that_a_team_uses() -> None:
    team = Team.model_validate({"name": "crew", "workers": [WORKER], "review": {"model": "model-of-the-critic"}})

    assert team.used_models == {"deep", "balanced", "model-of-the-critic"}


def test_a_judge_for_whom_the_budget_has_no_room_leaves_the_answer_as_it_is_and_that_is_told() -> None:
    story = told("judge", "tie_break", limits={"tokens": 10_000})
    story.tell(ev.BudgetExhausted(limit="tokens", allowed=10_000, needed=2_000, left=100, call="arbitrate"))

    assert story.settle() == ["conflict.left_open", "conflict.left_open", "run.succeeded"]
    assert left(story) == [("c1", "judge", "budget_exceeded"), ("c1", "tie_break", "budget_exceeded")]
    assert story.run.result is not None
    assert (story.run.result.answer, story.run.result.conflicts) == ("2009 or 2011.", (YEAR,))
