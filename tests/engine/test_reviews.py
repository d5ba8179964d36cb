"""The critic: an answer goes out once it is accepted, or as partial."""

from collections.abc import Mapping
from typing import Any

from app.domain import events as ev
from app.domain.team_rules import ReviewRules
from tests.support.service import CREW, Service, plan_of, report, synthesis, task
from tests.support.stub_answers import as_json, refusal
from tests.support.stub_provider import StubProvider

TWO = plan_of(task("a", "researcher"), task("b", "analyst"))
ONE = plan_of(task("a", "researcher"))
CRITICAL = CREW.model_copy(update={"name": "critical", "review": ReviewRules(critic=True, criteria=("It is short.",))})


def review(verdict: str = "accepted", *, met: bool | None = None, notes: str = "Fine.") -> dict[str, Any]:
    looks = [{"criterion": "c1", "met": verdict == "accepted" if met is None else met, "note": "so"}]
    return {"verdict": verdict, "criteria": looks, "notes": notes}


REFUSED = review("needs_revision", notes="Name the year.")


def worked(stub: StubProvider, *answers: str) -> None:
    stub.on("work", as_json(report("found")))
    replies = [as_json(synthesis(answer, "a", "b")) for answer in answers]
    stub.on("synthesize", replies=replies[:-1], reply=replies[-1])


async def test_a_rubric_brings_a_critic_that_sees_what_was_asked_and_delivered_and_no_reasoning(
    service: Service, stub: StubProvider
) -> None:
    worked(stub, "All told.")
    stub.on("review", as_json(review()))

    run_id = await service.submit(plan=TWO, rubric="It names the year.")
    run = await service.ended(run_id)

    assert run["status"] == "succeeded"
    assert run["result"]["review"] == {
        "verdict": "accepted",
        "rounds": 1,
        "notes": "Fine.",
        "criteria": [{"criterion": "It names the year.", "met": True, "note": "so"}],
    }
    [asked] = stub.of("review")
    assert "It names the year." in str(asked.body["system"])
    assert all(said in str(asked.body["messages"]) for said in ("All told.", "found", "Find out."))
    phases = {event.type for event in await service.events(run_id)}
    assert "review.completed" in phases


async def test_an_answer_that_is_refused_is_made_again_with_what_the_critic_says(
    service: Service, stub: StubProvider
) -> None:
    worked(stub, "Too short.", "Long enough.")
    stub.on("review", replies=[as_json(REFUSED)], reply=as_json(review()))

    run = await service.ended(await service.submit(team=CRITICAL, plan=TWO))

    assert (run["status"], run["result"]["answer"]) == ("succeeded", "Long enough.")
    assert (run["result"]["review"]["verdict"], run["result"]["review"]["rounds"]) == ("accepted", 2)
    first, second = stub.of("synthesize")
    assert "Name the year." not in str(first.body)
    assert "Name the year." in str(second.body["messages"])


async def test_a_review_that_never_accepts_ends_with_the_answer_as_partial(
    service: Service, stub: StubProvider
) -> None:
    worked(stub, "First.", "Second.", "Third.")
    stub.on("review", as_json(REFUSED))

    run = await service.ended(await service.submit(team=CRITICAL, plan=TWO))

    assert (run["status"], run["stop_reason"]) == ("partial", "review_failed")
    assert (run["result"]["answer"], run["result"]["review"]["verdict"]) == ("Second.", "needs_revision")
    assert (len(stub.of("synthesize")), len(stub.of("review"))) == (2, 2)


async def test_a_critic_that_cannot_be_had_accepts_nothing(service: Service, stub: StubProvider) -> None:
    worked(stub, "All told.")
    stub.on("review", refusal())

    run = await service.ended(await service.submit(team=CRITICAL, plan=TWO))

    assert (run["status"], run["stop_reason"], run["result"]["answer"]) == ("partial", "review_failed", "All told.")
    assert run["result"]["review"] == {"verdict": "none", "rounds": 0, "notes": "", "criteria": []}


async def test_a_verdict_that_contradicts_itself_is_sent_back_once(service: Service, stub: StubProvider) -> None:
    worked(stub, "All told.")
    stub.on("review", replies=[as_json(review(met=False))], reply=as_json(review()))

    run = await service.ended(await service.submit(team=CRITICAL, plan=TWO))

    assert (run["status"], run["result"]["review"]["verdict"]) == ("succeeded", "accepted")
    assert "cannot be accepted" in str(stub.of("review")[1].body["messages"][-1])


async def test_of_a_verdict_that_goes_on_contradicting_itself_what_it_says_in_particular_counts(
    service: Service, stub: StubProvider
) -> None:
    worked(stub, "All told.")
    stub.on("review", as_json(review(met=False)))

    run = await service.ended(await service.submit(team=CRITICAL, plan=TWO))

    assert (run["status"], run["stop_reason"]) == ("partial", "review_failed")
    assert (run["result"]["review"]["verdict"], run["result"]["review"]["criteria"][0]["met"]) == (
        "needs_revision",
        False,
    )


async def test_the_result_of_a_single_task_is_looked_at_too_and_revised_by_the_supervisor(
    service: Service, stub: StubProvider
) -> None:
    stub.on("work", as_json(report("It is 1998.")))
    stub.on("synthesize", as_json(synthesis("In 1998, that is.", "a")))
    stub.on("review", replies=[as_json(REFUSED)], reply=as_json(review()))

    run = await service.ended(await service.submit(team=CRITICAL, plan=ONE))

    assert (run["status"], run["result"]["answer"]) == ("succeeded", "In 1998, that is.")
    assert len(stub.of("synthesize")) == 1


async def test_an_only_result_that_is_refused_and_cannot_be_revised_goes_out_as_it_was(
    service: Service, stub: StubProvider
) -> None:
    stub.on("work", as_json(report("It is old.")))
    stub.on("synthesize", refusal())
    stub.on("review", as_json(REFUSED))

    run = await service.ended(await service.submit(team=CRITICAL, plan=ONE))

    assert (run["status"], run["stop_reason"]) == ("partial", "review_failed")
    assert (run["result"]["answer"], run["result"]["review"]["notes"]) == ("It is old.", "Name the year.")


async def test_what_the_critic_misses_may_be_found_out_in_another_round(service: Service, stub: StubProvider) -> None:
    told: Mapping[str, Any] = {
        "title": "", "instruction": "Find the year.", "success_criterion": "", "worker": "writer", "depends_on": [],
    }  # fmt: skip
    more = {"task": "a", "impact": "No year.", "follow_up": told}
    stub.on("work", as_json(report("found")))
    answers = [synthesis("First.", "a", "b"), synthesis("Second.", "a", "b", gaps=[more])]
    stub.on("synthesize", replies=list(map(as_json, answers)), reply=as_json(synthesis("Third.", "a", "b", "a-1")))
    stub.on("review", replies=[as_json(REFUSED)], reply=as_json(review()))

    run_id = await service.submit(team=CRITICAL, plan=TWO)
    run = await service.ended(run_id)

    assert (run["status"], run["result"]["answer"], run["result"]["rounds"]) == ("succeeded", "Third.", 2)
    looks = [event.data for event in await service.events(run_id) if isinstance(event.data, ev.ReviewCompleted)]
    assert [look.verdict for look in looks] == ["needs_revision", "accepted"]
