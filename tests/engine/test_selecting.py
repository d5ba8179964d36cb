"""Selecting: several tasks try the same thing, a judge chooses blindly, and the answer is made from its choice."""

from typing import Any

from app.domain import events as ev
from app.domain.team_rules import ReviewRules
from tests.engine.test_budgets import FILLED, at_most
from tests.support.choices import candidates_in, choice, choosing, chosen, may_rest_on
from tests.support.service import CREW, Service, plan_of, report, synthesis, task
from tests.support.stub_answers import Answer, as_json, refusal
from tests.support.stub_provider import StubProvider
from tests.support.stub_script import SeenRequest

SAME = {"title": "", "instruction": "Write a slogan for the bakery.", "success_criterion": "It names the bread."}
TRIES = plan_of(
    task("first", "writer", **SAME), task("second", "writer", **SAME), task("third", "analyst", **SAME),
    strategy="select",
)  # fmt: skip
JUDGED = CREW.model_copy(update={"name": "judged", "review": ReviewRules(model="fast", criteria=("It is short.",))})


def slogans(stub: StubProvider) -> None:
    """Workers whose slogans differ, and a supervisor that passes on what it gets."""
    stub.on("work:writer", replies=[as_json(report("Bread from six."))], reply=as_json(report("Warm since 1998.")))
    stub.on("work:analyst", as_json(report("Sold by the analyst.")))
    stub.on("synthesize", passed_on)


def passed_on(seen: SeenRequest) -> Answer:
    """The answer that is the only result, word for word."""
    [name] = may_rest_on(seen)
    found = seen.body["messages"][0]["content"][0]["text"]
    said = next(words for words in ("Warm since 1998.", "Bread from six.", "Sold by the analyst.") if words in found)
    return as_json(synthesis(said, name))


def chosen_in(log: list[Any]) -> list[ev.SelectionCompleted]:
    return [event.data for event in log if isinstance(event.data, ev.SelectionCompleted)]


def optional(plan: dict[str, Any]) -> dict[str, Any]:
    return plan | {"tasks": [each | {"required": False} for each in plan["tasks"]]}


async def test_a_judge_chooses_blindly_and_the_answer_is_its_choice_word_for_word(
    service: Service, stub: StubProvider
) -> None:
    stub.on("plan", as_json(TRIES))
    slogans(stub)
    stub.on("select", choosing("Warm since 1998."))

    run_id = await service.submit(team=JUDGED)
    run = await service.ended(run_id)

    result, [asked] = run["result"], stub.of("select")
    [told] = chosen_in(await service.events(run_id))
    assert (run["status"], result["strategy"], result["answer"]) == ("succeeded", "select", "Warm since 1998.")
    assert result["selection"] == told.model_dump(mode="json")
    assert result["selection"]["task"] in ("first", "second")
    assert sorted(result["selection"]["candidates"]) == ["first", "second", "third"]
    assert [each["criterion"] for each in result["selection"]["criteria"]] == [
        "It is short.", "It names the bread.",
    ]  # fmt: skip
    assert [each["task"] for each in result["outputs"]] == ["first", "second", "third"]
    assert (result["gaps"], result["conflicts"], result["coverage"]["required"]) == ([], [], 0)
    assert [statement["tasks"] for statement in result["statements"]] == [[result["selection"]["task"]]]
    shown = str(asked.body["messages"])
    assert "Write a slogan for the bakery." in shown
    assert not any(name in shown for name in ("first", "second", "third", "writer", '"analyst"', "confidence"))
    assert [each["candidate"] for each in candidates_in(asked)] == ["A", "B", "C"]
    assert asked.body["model"] == service.runtime.model.model_id("fast")


async def test_a_choice_that_contradicts_itself_is_sent_back_once(service: Service, stub: StubProvider) -> None:
    slogans(stub)
    stub.on("select", call=1, reply=lambda seen: choice(seen, "A", choice="B"))
    stub.on("select", choosing("Bread from six."))

    run_id = await service.submit(plan=TRIES)
    run = await service.ended(run_id)

    assert (run["status"], run["result"]["answer"]) == ("succeeded", "Bread from six.")
    types = [event.type for event in await service.events(run_id)]
    assert (types.count("selection.rejected"), types.count("selection.completed")) == (1, 1)
    assert "best by one criterion at least" in str(stub.of("select")[1].body["messages"][-1])


async def test_without_a_judge_the_answer_is_made_from_all_and_the_run_says_so(
    service: Service, stub: StubProvider
) -> None:
    stub.on("work", as_json(report("Bread.")))
    stub.on("select", refusal())
    stub.on("synthesize", as_json(synthesis("Bread, three times.", "first", "second", "third")))

    run_id = await service.submit(plan=TRIES)
    run = await service.ended(run_id)

    assert (run["status"], run["stop_reason"]) == ("partial", "synthesis_failed")
    assert (run["result"]["answer"], run["result"]["strategy"]) == ("Bread, three times.", "merge")
    assert run["result"]["selection"]["task"] is None
    assert "selection.failed" in {event.type for event in await service.events(run_id)}


async def test_of_one_that_delivered_nobody_is_asked(service: Service, stub: StubProvider) -> None:
    stub.on("work:writer", refusal())
    stub.on("work:analyst", as_json(report("Sold by the analyst.")))
    stub.on("synthesize", passed_on)

    run = await service.ended(await service.submit(plan=optional(TRIES)))

    assert (run["status"], run["result"]["answer"]) == ("succeeded", "Sold by the analyst.")
    assert stub.of("select") == []
    assert run["result"]["selection"] == {
        "task": "third", "reason": "It is the only candidate that delivered.", "candidates": ["third"],
        "criteria": [], "judged": False,
    }  # fmt: skip


async def test_a_budget_that_the_work_has_spent_still_has_room_for_the_judge_and_the_answer(
    service: Service, stub: StubProvider
) -> None:
    stub.on("work", at_most(report("Warm since 1998.")))
    stub.on("select", lambda seen: at_most(chosen(seen, "A"))(seen))
    stub.on("synthesize", lambda seen: at_most(synthesis("Warm since 1998.", *may_rest_on(seen)))(seen))
    plan = plan_of(*(task(f"t{n}", required=False, **SAME) for n in range(30)), strategy="select")

    run_id = await service.submit(team=FILLED, plan=plan, limits={"tokens": 200_000})
    run = await service.ended(run_id)

    result, usage = run["result"], run["usage"]
    assert (run["status"], run["stop_reason"], result["strategy"]) == ("partial", "budget_exhausted", "select")
    assert (len(stub.of("select")), len(stub.of("synthesize"))) == (1, 1)
    assert result["selection"]["task"] == result["selection"]["candidates"][0]
    assert 2 <= len(result["selection"]["candidates"]) < 30
    assert usage["input_tokens"] + usage["output_tokens"] <= 200_000
