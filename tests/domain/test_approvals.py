"""Approval of plans: which wait for it, what people may do meanwhile, and what follows."""

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from pydantic import ValidationError

from app.domain import events as ev
from app.domain.approvals import ApprovalRefused, Decided, EditInvalid, NotWaiting, PlanChanged
from app.domain.errors import IllegalMove
from app.domain.job import Limits, dry, with_approval
from app.domain.plan_decisions import approve, edit, reject
from app.domain.quote import MoneyRange, Quote, SecondsRange, TokensRange
from app.domain.team import Team
from app.domain.team_rules import ApprovalRules
from tests.support.script import GROUNDS
from tests.support.story import TEAM, Story, brief, plan_of, task


def story(*, asked: bool = False, **rules: Any) -> Story:
    """A run that has just started, of a team with these rules."""
    told = brief(timeout_s=10_000)
    limits = with_approval(told.limits) if asked else told.limits
    team = TEAM.model_copy(update={"approval": ApprovalRules(**rules)})
    found = Story(replace(told, team=team, limits=limits))
    found.queued()
    found.started()
    return found


def waiting(**rules: Any) -> Story:
    """A run whose plan waits for approval, parked."""
    found = story(asked=True, **rules)
    found.planned(task("a"), task("b", "a"))
    assert found.settle() == ["plan.approval_requested", "run.waiting"]
    return found


def priced(likely: str | None) -> ev.PlanCreated:
    """A plan with a quote."""
    cost = likely and MoneyRange(least=Decimal(0), likely=Decimal(likely), most=Decimal(9))
    quote = Quote(
        cost_usd=cost or None,
        tokens=TokensRange(least=0, likely=1, most=2),
        duration_s=SecondsRange(least=0, likely=1, most=2),
        basis="limits",
        runs_considered=0,
    )
    return ev.PlanCreated.of(plan_of(task("a"))).model_copy(update={"quote": quote})


def test_without_a_word_of_job_or_team_nobody_is_asked() -> None:
    run = story()
    run.planned(task("a"))

    assert run.settle() == ["task.started"]


@pytest.mark.parametrize(
    ("asked", "rules", "likely", "cause"),
    [
        (True, {}, "1", "job"),
        (False, {"required": True}, "1", "team"),
        (False, {"above_cost_usd": Decimal("0.5")}, "0.51", "cost"),
        (False, {"above_cost_usd": Decimal("0.5")}, None, "cost"),
        (False, {"above_cost_usd": Decimal("0.5")}, "0.5", None),
        (True, {"above_cost_usd": Decimal("0.5")}, "0.1", "job"),
    ],
)
def test_a_plan_waits_for_approval_where_job_or_team_want_it(
    asked: bool, rules: dict[str, Any], likely: str | None, cause: str | None
) -> None:
    run = story(asked=asked, **rules)
    run.tell(priced(likely))
    run.settle()

    found = [event.data.cause for event in run.log if isinstance(event.data, ev.PlanApprovalRequested)]
    assert found == ([cause] if cause else [])
    assert run.state("a").status == ("pending" if cause else "running")


def test_a_dry_run_asks_nobody() -> None:
    told = brief()
    team = TEAM.model_copy(update={"approval": ApprovalRules(required=True)})
    run = Story(replace(told, team=team, limits=dry(told.limits)))
    run.queued()
    run.started()
    run.planned(task("a"))

    assert run.settle() == ["run.succeeded"]


def test_what_is_waited_for_leaves_time_for_the_work() -> None:
    run = story(asked=True, timeout_s=50_000)
    run.wait(100)
    run.planned(task("a"))
    run.settle()

    assert run.run.approval is not None
    assert run.run.wrap_up_at is not None
    assert run.run.approval.expires_at == run.now + (run.run.wrap_up_at - run.now) * 0.75
    assert run.run.waiting is not None
    assert (run.run.waiting.reason, run.run.waiting.until) == ("plan_approval", run.run.approval.expires_at)


def test_an_approved_plan_is_carried_out_whatever_comes_into_it_later() -> None:
    run = waiting()
    run.record(*approve(run.run, None, run.now))
    run.resumed()
    assert run.settle() == ["task.started"]

    run.split("a", task("x"), task("y"))

    assert run.settle() == ["task.started", "task.started"]


def test_a_rejected_run_ends_where_it_waits() -> None:
    run = waiting()
    run.record(*reject(run.run, None, run.now, "Too dear."))

    assert run.settle() == ["task.cancelled", "task.cancelled", "run.failed"]
    assert run.run.error is not None
    assert (run.run.stop_reason, run.run.error.message) == ("plan_rejected", "The plan was rejected: Too dear.")
    assert run.run.waiting is None


@pytest.mark.parametrize(
    ("default", "types"),
    [
        ("approve", ["plan.approved", "task.started"]),
        ("reject", ["plan.rejected", "task.cancelled", "task.cancelled", "run.failed"]),
    ],
)
def test_when_nobody_decides_in_time_the_default_is_taken(default: str, types: list[str]) -> None:
    run = waiting(default=default, timeout_s=100)
    run.wait(99)
    run.resumed()
    assert run.settle() == []
    run.wait(1)

    assert run.settle() == types
    assert run.run.approval is not None
    assert run.run.approval.by == "default"


def test_an_edit_takes_the_place_of_the_plan_and_goes_on_waiting() -> None:
    run = waiting()
    before = run.run.approval
    tasks = (task("b"), task("c", "b"), task("d"))

    run.record(*edit(run.run, {1}, run.now, {"tasks": tasks}, "a is done already"))

    assert run.run.plan is not None
    assert (run.run.plan.revision, list(run.run.tasks), run.run.replaced) == (2, ["b", "c", "d"], {})
    assert [state.position for state in run.run.tasks.values()] == [0, 1, 2]
    assert run.run.approval == before
    assert run.decide().entries == ()
    edited = run.log[-1].data
    assert isinstance(edited, ev.PlanEdited)
    assert (edited.added, edited.removed, edited.changed) == (("c", "d"), ("a",), ("b",))
    run.record(*edit(run.run, {2}, run.now, {"tasks": (task("a"), *tasks)}, None))
    run.record(*approve(run.run, {3}, run.now))
    run.resumed()
    assert run.settle() == ["task.started"] * 3


def test_an_edited_plan_has_a_quote_of_its_own() -> None:
    run = waiting()
    known = replace(run.run, brief=replace(run.run.brief, grounds=GROUNDS))
    [entry] = edit(known, None, run.now, {"tasks": tuple(task(name) for name in "abcd")}, None)
    run.record(entry)

    assert run.run.quote is not None
    assert run.run.quote.planning.duration_s == 0


def test_an_edit_that_changes_nothing_is_none() -> None:
    run = waiting()
    assert run.run.plan is not None

    assert edit(run.run, {1}, run.now, {"tasks": run.run.plan.tasks, "goal": ""}, "why not") == []


def test_a_plan_that_could_not_be_carried_out_is_refused() -> None:
    run = waiting()

    with pytest.raises(EditInvalid) as refused:
        edit(run.run, {1}, run.now, {"tasks": (task("a", "nobody"),)}, None)

    assert [flaw.code for flaw in refused.value.flaws] == ["dependency_unknown"]


def test_a_decision_is_about_the_revision_that_was_read() -> None:
    run = waiting()
    run.record(*edit(run.run, {1}, run.now, {"goal": "less"}, None))

    with pytest.raises(PlanChanged):
        approve(run.run, {1}, run.now)
    with pytest.raises(PlanChanged):
        reject(run.run, {1}, run.now, None)
    with pytest.raises(PlanChanged):
        edit(run.run, {1}, run.now, {"goal": "more"}, None)
    with pytest.raises(IllegalMove):
        run.tell(ev.PlanApproved(revision=1, by="default"))
    assert approve(run.run, {1, 2}, run.now)


def refusal(run: Story) -> ApprovalRefused:
    """What an approval meets."""
    with pytest.raises(ApprovalRefused) as refused:
        approve(run.run, None, run.now)
    return refused.value


def test_a_plan_is_decided_on_once() -> None:
    run = waiting()
    run.record(*approve(run.run, None, run.now))

    found = refusal(run)
    assert isinstance(found, Decided)
    assert (found.status, found.by) == ("approved", "client")
    with pytest.raises(IllegalMove):
        run.tell(ev.PlanRejected(revision=1))


def test_a_decision_comes_too_late_when_the_time_is_up() -> None:
    run = waiting(timeout_s=100)
    run.now += timedelta(seconds=100)

    found = refusal(run)
    assert isinstance(found, Decided)
    assert (found.status, found.by) == ("rejected", "default")


def test_what_waits_for_no_approval_takes_none() -> None:
    run = story(asked=True)
    assert isinstance(refusal(run), NotWaiting)
    run = story()
    run.planned(task("a"))
    run.settle()
    assert isinstance(refusal(run), NotWaiting)
    run = waiting()
    run.cancel_requested()
    assert isinstance(refusal(run), NotWaiting)
    assert run.settle() == ["task.cancelled", "task.cancelled", "run.cancelled"]


def test_no_log_has_a_task_begin_before_its_plan_is_approved_or_a_request_behind_its_begin() -> None:
    run = waiting()
    run.resumed()
    with pytest.raises(IllegalMove, match="before the plan has been approved"):
        run.start("a")
    run = story()
    run.planned(task("a"))
    run.start("a")
    with pytest.raises(IllegalMove, match="once its tasks have begun"):
        run.tell(ev.PlanApprovalRequested(revision=1, cause="job", expires_at=run.now, default="reject"))


def test_a_release_without_approvals_reads_no_run_that_wants_one() -> None:
    told = with_approval(brief().limits).model_dump(mode="json")

    with pytest.raises(ValidationError, match="approval"):
        Limits.model_validate(told)  # As release 0.1 does.
    assert story(asked=True).run.brief.wants_approval


def test_a_team_that_says_nothing_about_approval_is_stored_as_before() -> None:
    assert "approval" not in TEAM.definition
    ruled = TEAM.model_copy(update={"approval": ApprovalRules(above_cost_usd=Decimal("1.50"))})
    assert Team.model_validate_json(ruled.definition) == ruled
    with pytest.raises(ValidationError, match="goes without required"):
        ApprovalRules(required=True, above_cost_usd=Decimal(1))
