"""More results than one answer can be made from, from the plan to the answer."""

import re
from typing import Any

from app.domain import events as ev
from app.domain.spans import Spans
from tests.engine.test_reviews import review
from tests.support.service import Service, plan_of, report, synthesis, task
from tests.support.story import as_json as told
from tests.support.stub_answers import Answer, as_json, text
from tests.support.stub_provider import StubProvider
from tests.support.stub_script import SeenRequest

MANY = plan_of(*(task(f"t{number}") for number in range(1, 32)), strategy="reduce")
LIMITS = {"tasks": 40, "concurrency": 8}
AGAINST = {"topic": "the year", "claims": [{"task": "t1", "claim": "2009"}, {"task": "t2", "claim": "2011"}]}
BOTH = {"topic": "the year", "claims": AGAINST["claims"], "status": "unresolved"}


def tasks_in(seen: SeenRequest) -> list[str]:
    """The tasks whose results a request shows."""
    return re.findall(r'<result>\s*{"task": "([^"]+)"', opening_of(seen))


def opening_of(seen: SeenRequest) -> str:
    return str(seen.body["messages"][0]["content"][0]["text"])


def reduction(*tasks: str, **fields: Any) -> dict[str, Any]:
    """A group put together."""
    statements = [{"text": "They are done.", "tasks": list(tasks)}]
    return {"text": "All are done.", "statements": statements, "contradictions": [], "uncertain": []} | fields


def put_together(seen: SeenRequest) -> Answer:
    """The first group contradicts itself."""
    if "t1" in tasks_in(seen):
        return as_json(reduction("t1", "t2", contradictions=[AGAINST]))
    return as_json(reduction("t31"))


async def test_results_are_put_together_in_groups_and_the_answer_made_from_these(
    service: Service, stub: StubProvider
) -> None:
    stub.on("work", as_json(report("done in 2009 or 2011")))
    stub.on("reduce", put_together)
    stub.on("synthesize", as_json(synthesis("In 2009, or in 2011.", "t1", "t2", "t31", conflicts=[BOTH])))
    stub.on("review", as_json(review()))

    run_id = await service.submit(plan=MANY, limits=LIMITS, rubric="It names the year.")
    run = await service.ended(run_id)

    result = run["result"]
    assert (run["status"], result["answer"], result["strategy"]) == ("succeeded", "In 2009, or in 2011.", "reduce")
    assert [(each["level"], each["group"], each["skipped"]) for each in result["reductions"]] == [
        (1, 1, None),
        (1, 2, None),
    ]
    assert [statement["tasks"] for statement in result["statements"]] == [["t1", "t2", "t31"]]
    assert [conflict["topic"] for conflict in result["conflicts"]] == ["the year"]
    shown = sorted(stub.of("reduce"), key=lambda seen: tasks_in(seen)[-1])
    assert sorted(map(len, map(tasks_in, shown))) == [15, 16]
    [asked], [looked] = stub.of("synthesize"), stub.of("review")
    assert [opening_of(seen).count("<reduction>") for seen in (asked, looked)] == [2, 2]
    assert opening_of(asked).count("<conflict>") == 1
    assert tasks_in(asked) == tasks_in(looked) == []
    spans = Spans()
    for event in await service.events(run_id):
        spans.take(told(event))
    groups = [span for span in spans.frames() if span["name"] == "reduction"]
    assert {(span["kind"], span["parent_id"], span["status"]) for span in groups} == {("synthesis", "synthesis", "ok")}
    assert sorted(len(span["attributes"]["tasks"]) for span in groups) == [15, 16]


async def test_a_group_that_cannot_be_put_together_stands_for_itself_and_the_run_is_partial(
    service: Service, stub: StubProvider
) -> None:
    stub.on("work", as_json(report("done")))
    stub.on(
        "reduce", lambda seen: as_json(reduction("t31")) if "t31" in tasks_in(seen) else text("I would rather not.")
    )
    stub.on("synthesize", as_json(synthesis("All are done.", "t1", "t31")))

    run_id = await service.submit(plan=MANY, limits=LIMITS)
    run = await service.ended(run_id)

    assert (run["status"], run["stop_reason"]) == ("partial", "synthesis_failed")
    first = [f"t{number}" for number in range(1, 17)]
    assert run["result"]["coverage"]["shortened"] == first
    assert [each["skipped"] for each in run["result"]["reductions"]] == ["rejected", None]
    [asked] = stub.of("synthesize")
    assert tasks_in(asked) == first
    events = [event.data for event in await service.events(run_id)]
    assert sum(isinstance(fact, ev.ReductionRejected) for fact in events) == 2
    assert sum(isinstance(fact, ev.ReductionSkipped) for fact in events) == 1
