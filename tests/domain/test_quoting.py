from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from pydantic import ValidationError
from pydantic_core import from_json

from app.domain import events as ev
from app.domain.brief import Brief
from app.domain.job import Limits, dry
from app.domain.plan import Plan, Task, TaskBudget
from app.domain.quote import Grounds, History, Quote, TokenPrices, Typical
from app.domain.quoting import ENOUGH, quote_of
from app.domain.schedule import time_for
from app.domain.snapshot import Snapshot
from app.domain.team import Team, TeamRef
from app.domain.team_rules import FindingRules
from app.domain.usage import Amount, Usage
from app.domain.values import changed
from app.domain.worker import Worker
from tests.domain.test_run_properties import MANY, MORE
from tests.support.found import FINDERS
from tests.support.rehearsal import rehearse, runs
from tests.support.script import Script, scripts
from tests.support.story import START, Story, brief, plan_of, task

CHEAP = TokenPrices(
    read=Decimal("0.000001"),
    written=Decimal("0.000005"),
    cheapest_read=Decimal("0.0000001"),
    dearest_read=Decimal("0.00000125"),
    dearest_written=Decimal("0.000005"),
    search=Decimal("0.01"),
)
DEAR = TokenPrices(*(10 * getattr(CHEAP, name) for name in TokenPrices.__slots__))
ABLE = Worker(name="able", description="Does things.", instructions="Do them.", model="fast", max_steps=4)
PRICES: Mapping[str, TokenPrices | None] = {"fast": CHEAP, "balanced": CHEAP, "deep": DEAR}
GROUNDS = Grounds(prices=PRICES, reply_tokens=16_000)
THREE = plan_of(task("a"), task("b"), task("c", "a", "b"))
ALONE = plan_of(task("a"))


def quote(
    plan: Plan = THREE, *, grounds: Grounds = GROUNDS, spent: Usage | None = None, worker: Worker = ABLE, **limits: Any
) -> Quote:
    """The quote of a run that has planned for two seconds."""
    run = Snapshot(Brief("run_1", "Find out.", Team(name="crew", workers=(worker,)), Limits(**limits)))
    run = changed(run, started_at=START, usage=spent or Usage())
    return quote_of(run, plan, grounds, START + timedelta(seconds=2))


def money(found: Quote) -> tuple[Decimal, Decimal, Decimal]:
    assert found.cost_usd is not None
    return found.cost_usd.least, found.cost_usd.likely, found.cost_usd.most


def history(count: int = ENOUGH, answers: int = ENOUGH) -> History:
    past = Typical(Amount(tokens=5_000, cost_usd=Decimal("0.01")), 10, count)
    answer = Typical(Amount(tokens=3_000, cost_usd=Decimal("0.02")), 4, answers)
    return History({("able", "fast"): past}, answer, runs=7)


@pytest.mark.parametrize(("concurrency", "seconds"), [(1, 27), (2, 15), (6, 12)])
def test_tasks_last_as_long_as_their_needs_and_the_places_allow(concurrency: int, seconds: float) -> None:
    lasts = {"a": 1.0, "b": 6.0, "c": 2.0, "d": 5.0, "e": 4.0, "f": 9.0}
    tasks = [task("a"), task("b"), task("c", "b"), task("d"), task("e", "a", "c"), task("f")]

    assert time_for(tasks, lasts, concurrency) == seconds


def test_history_tells_what_is_likely_once_there_is_enough_of_it() -> None:
    found = quote(grounds=replace(GROUNDS, history=history()))

    assert (found.basis, found.runs_considered) == ("history", 7)
    assert found.tokens.likely == 3 * 5_000 + 3_000
    assert money(found)[1] == Decimal("0.05")
    assert found.duration_s.likely == 2 + 10 + 10 + 4


@pytest.mark.parametrize("known", [history(ENOUGH - 1), history(answers=ENOUGH - 1), History(runs=7)])
def test_without_enough_of_it_the_basis_is_the_limits(known: History) -> None:
    found = quote(grounds=replace(GROUNDS, history=known))

    assert (found.basis, found.runs_considered) == ("limits", 7)


def test_a_task_on_another_model_is_another_kind_of_task() -> None:
    worker = ABLE.model_copy(update={"model": "deep"})

    assert quote(grounds=replace(GROUNDS, history=history()), worker=worker).basis == "limits"


def test_a_single_task_that_says_it_all_needs_no_answer() -> None:
    known = replace(GROUNDS, history=history(answers=0))

    assert quote(ALONE, grounds=known).tokens.likely == 5_000
    assert quote(ALONE.model_copy(update={"final_instruction": "In verse."}), grounds=known).basis == "limits"


def test_what_planning_took_is_a_part_of_every_figure() -> None:
    spent = Usage(llm_calls=1, input_tokens=900, output_tokens=100, cost_usd=Decimal("0.5"))
    without, found = quote(), quote(spent=spent)

    assert (found.planning.tokens, found.planning.cost_usd, found.planning.duration_s) == (1_000, Decimal("0.5"), 2)
    for name in ("least", "likely", "most"):
        assert getattr(found.tokens, name) - getattr(without.tokens, name) == 1_000
        assert getattr(found.cost_usd, name) - getattr(without.cost_usd, name) == Decimal("0.5")


def test_nothing_is_above_the_limits_of_the_run() -> None:
    found = quote(tokens=2_000, cost_usd="0.001", timeout_s=5)

    assert (found.tokens.likely, found.tokens.most) == (2_000, 2_000)
    assert money(found)[1:] == (Decimal("0.001"), Decimal("0.001"))
    assert (found.duration_s.likely, found.duration_s.most) == (5, 5)


def test_the_budget_of_a_task_bounds_what_it_may_take() -> None:
    bounded = task("a", budget=TaskBudget(tokens=7_000))
    free, found = quote(ALONE), quote(plan_of(bounded))

    assert free.tokens.most > 100_000
    assert found.tokens.most == 7_000
    assert money(found)[2] == 7_000 * DEAR.dearest_written


def test_more_attempts_and_steps_may_take_more() -> None:
    few = quote(ALONE, attempts=1, worker=ABLE.model_copy(update={"max_steps": 1}))

    assert few.tokens.most < quote(ALONE, attempts=1).tokens.most < quote(ALONE, attempts=3).tokens.most


def test_searches_cost_their_fee_and_what_they_bring() -> None:
    looking = ABLE.model_copy(update={"tools": ("look",)})
    without = quote(ALONE, attempts=1, worker=looking)
    found = quote(ALONE, attempts=1, worker=looking, grounds=replace(GROUNDS, searches={"look": 5}))

    assert found.tokens.most > without.tokens.most + 5 * 4 * 10_000
    assert money(found)[2] >= money(without)[2] + 5 * 4 * DEAR.search


def test_an_optional_task_is_not_among_the_least() -> None:
    optional = THREE.model_copy(update={"tasks": tuple(t.model_copy(update={"required": False}) for t in THREE.tasks)})

    assert quote(optional).tokens.least < quote().tokens.least


@pytest.mark.parametrize("model", ["fast", "balanced", "deep"])
def test_without_a_price_of_a_model_that_may_be_asked_there_is_none(model: str) -> None:
    found = quote(grounds=replace(GROUNDS, prices={**PRICES, model: None}))

    assert found.cost_usd is None
    assert found.tokens.likely


def test_a_plan_gets_its_quote_as_it_joins_the_log_and_keeps_it() -> None:
    story = Story(Brief("run_1", "Find out.", Team(name="crew", workers=(ABLE,)), Limits(), grounds=GROUNDS))
    story.queued()
    story.started()
    story.planned(*THREE.tasks)

    [planned] = [event.data for event in story.log if isinstance(event.data, ev.PlanCreated)]
    assert planned.quote is not None
    assert story.run.quote == planned.quote
    assert Story(replace(story.run.brief, grounds=None), story.log).run.quote == planned.quote


def test_where_nothing_is_known_that_a_quote_could_rest_on_there_is_none() -> None:
    story = Story(Brief("run_1", "Find out.", Team(name="crew", workers=(ABLE,)), Limits()))
    story.queued()
    story.started()
    story.planned(task("a"))

    assert story.run.quote is None


@MORE
@given(runs())
def test_the_figures_of_every_quote_are_in_order_and_within_the_limits(story: Story) -> None:
    found, limits = story.run.quote, story.run.brief.limits
    assert (found is None) == (story.run.plan is None)
    if found is None or found.cost_usd is None:
        return
    for part in (found.cost_usd, found.tokens, found.duration_s):
        assert 0 <= part.least <= part.likely <= part.most
    assert found.tokens.most <= max(limits.tokens or found.tokens.most, found.planning.tokens)
    assert found.duration_s.most <= max(limits.timeout_s, found.planning.duration_s)


@MORE
@given(runs())
def test_no_run_takes_more_than_its_quote_and_one_that_does_it_all_no_less(story: Story) -> None:
    run, found = story.run, story.run.quote
    if found is None:
        return
    assert found.cost_usd is not None
    assert run.usage.amount.tokens <= found.tokens.most
    assert run.usage.cost_usd <= found.cost_usd.most
    if run.status == "succeeded":
        assert run.usage.amount.tokens >= found.tokens.least
        assert run.usage.cost_usd >= found.cost_usd.least
    assert run.started_at is not None
    assert run.finished_at is not None
    assert (run.finished_at - run.started_at).total_seconds() >= found.duration_s.least


@MANY
@given(scripts())
def test_a_dry_run_ends_at_its_plan_and_starts_nothing(script: Script) -> None:
    story = rehearse(replace(script, limits=dry(script.limits)))

    types = [event.type for event in story.log]
    assert {event.data.purpose for event in story.log if isinstance(event.data, ev.ModelCall)} <= {"plan"}
    assert not any(kind.startswith(("task.", "tool.", "synthesis.")) for kind in types)
    assert story.run.tasks == {}
    if story.run.plan is not None and not story.run.cancel_requested:
        assert (story.run.status, story.run.stop_reason) == ("succeeded", "planned")
        assert story.run.quote is not None
    else:
        assert story.run.status in ("failed", "cancelled")


@MANY
@given(scripts())
def test_a_dry_run_has_the_plan_and_the_quote_of_the_run_itself(script: Script) -> None:
    script = replace(script, crashes=frozenset(), cancel_at=None, approvers=("approve",))
    rehearsed, story = rehearse(replace(script, limits=dry(script.limits))), rehearse(script)

    assert [each.data for each in rehearsed.log if isinstance(each.data, ev.PlanCreated)] == [
        each.data for each in story.log if isinstance(each.data, ev.PlanCreated)
    ]
    assert rehearsed.run.quote == story.run.quote


def test_releases_that_know_no_dry_runs_cannot_read_one_and_so_execute_none() -> None:
    queued = ev.RunQueued(objective="Find out.", team=TeamRef(name="crew", version=1), limits=dry(Limits()))
    told = from_json(queued.model_dump_json())

    assert ev.RunQueued.model_validate(told) == queued
    with pytest.raises(ValidationError, match="dry_run"):
        Limits.model_validate(told["limits"])
    assert set(Limits().model_dump()) == set(told["limits"]) - {"dry_run"}


def test_tasks_of_plans_are_quoted_whatever_their_order() -> None:
    turned = tuple(reversed(THREE.tasks))

    assert quote(THREE.model_copy(update={"tasks": turned})).tokens == quote().tokens
    assert time_for(turned, dict.fromkeys("abc", 1.0), 2) == 2
    assert isinstance(turned[0], Task)


def test_a_plan_that_selects_has_the_judge_in_its_quote() -> None:
    tasks = (task("a", required=False), task("b", required=False))
    merged = quote(plan_of(*tasks))
    selecting = quote(plan_of(*tasks).model_copy(update={"strategy": "select"}))

    assert selecting.tokens.least == merged.tokens.least
    assert selecting.tokens.likely > merged.tokens.likely
    assert selecting.tokens.most > merged.tokens.most


def test_groups_of_results_are_in_the_quote_of_a_plan_that_reduces() -> None:
    merges = plan_of(*(task(f"t{number}") for number in range(1, 62)))
    reduces = merges.model_copy(update={"strategy": "reduce"})
    merged, reduced = (quote(plan, tasks=100, concurrency=3) for plan in (merges, reduces))

    assert reduced.tokens.least - merged.tokens.least == 3 * (10 + 5)
    assert reduced.tokens.likely > merged.tokens.likely
    assert reduced.tokens.most > merged.tokens.most
    assert reduced.duration_s.likely > merged.duration_s.likely


def test_a_plan_that_reduces_few_results_most_probably_puts_nothing_together_first() -> None:
    known = replace(GROUNDS, history=history())
    merged, reduced = (
        quote(THREE.model_copy(update={"strategy": strategy}), grounds=known) for strategy in ("merge", "reduce")
    )

    assert (reduced.tokens.least, reduced.tokens.likely) == (merged.tokens.least, merged.tokens.likely)
    assert (reduced.basis, reduced.duration_s.likely) == ("history", merged.duration_s.likely)
    assert reduced.tokens.most > merged.tokens.most


def test_second_looks_at_findings_are_in_the_quote() -> None:
    plan = Plan(tasks=(task("a"), task("b")))
    without = FINDERS.model_copy(update={"findings": FindingRules(second_looks=0)})
    quotes = []
    for team in (without, FINDERS):
        run = Snapshot(replace(brief(), team=team, grounds=GROUNDS))
        quotes.append(quote_of(run, plan, GROUNDS, START))

    assert quotes[0].tokens.least == quotes[1].tokens.least
    assert quotes[0].tokens.likely < quotes[1].tokens.likely
    assert quotes[0].tokens.most < quotes[1].tokens.most
