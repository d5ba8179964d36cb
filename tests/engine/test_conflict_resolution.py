"""Conflicts that a team has a judge look at, or another task: from the contradiction to the answer."""

import json
from typing import Any

from app.domain import events as ev
from app.domain.team import Team
from app.domain.worker import Worker
from tests.support.api import Api
from tests.support.service import CREW, Service, plan_of, report, synthesis, task
from tests.support.stub_answers import Answer, as_json, refusal, text
from tests.support.stub_provider import StubProvider
from tests.support.stub_script import SeenRequest

TWO = plan_of(task("a", "researcher"), task("b", "analyst"))
YEAR: dict[str, Any] = {
    "topic": "the year",
    "claims": [{"task": "a", "claim": "2009"}, {"task": "b", "claim": "2011"}],
    "status": "unresolved", "resolution": None, "method": None, "confidence": None,
}  # fmt: skip
TIED = YEAR | {
    "claims": [*YEAR["claims"], {"task": "tie-c1", "claim": "2011"}],
    "status": "resolved", "resolution": "2011", "method": "tie_break", "confidence": 0.9,
}  # fmt: skip


CHECKER = Worker(name="checker", description="Looks again.", instructions="Look.", tools=("query_data",))
"""Reads what the others read, and has written none of the claims."""


def crew(*methods: str, **fields: Any) -> Team:
    workers = (*CREW.workers, CHECKER)
    return CREW.model_copy(update={"name": "careful", "workers": workers, "conflict_resolution": methods} | fields)


def disputed(stub: StubProvider, *, then: dict[str, Any]) -> None:
    stub.on("work:researcher", as_json(report("It was 2009.")))
    stub.on("work:analyst", as_json(report("It was 2011.")))
    first = synthesis("It was 2009 or 2011.", "a", "b", conflicts=[YEAR])
    stub.on("synthesize", replies=[as_json(first)], reply=as_json(then))


def opening_of(seen: SeenRequest) -> str:
    return str(seen.body["messages"][0]["content"][0]["text"])


def judgement(seen: SeenRequest, claim: str | None) -> Answer:
    """What a judge says who holds with a claim, by the letter under which it is shown."""
    shown = json.loads(opening_of(seen).split("<conflict>\n")[1].split("\n</conflict>")[0])
    letters = {each["claim"]: letter for letter, each in shown["claims"].items()}
    holds = letters[claim] if claim is not None else "undecided"
    told = {"conflict": shown["conflict"], "reason": "The register says so.", "holds": holds, "confidence": 0.8}
    return as_json({"judgements": [told], "notes": "Decided."})


async def test_a_judge_decides_and_the_answer_is_made_again(service: Service, stub: StubProvider) -> None:
    disputed(stub, then=synthesis("All told, 2011.", "b", conflicts=[]))
    stub.on("arbitrate", lambda seen: judgement(seen, "2011"))

    run_id = await service.submit(team=crew("judge"), plan=TWO)
    run = await service.ended(run_id)

    assert (run["status"], run["result"]["answer"]) == ("succeeded", "All told, 2011.")
    [conflict] = run["result"]["conflicts"]
    assert (conflict["id"], conflict["status"], conflict["method"]) == ("c1", "resolved", "judge")
    assert (conflict["resolution"], conflict["confidence"]) == ("2011", 0.8)
    assert (len(stub.of("arbitrate")), len(stub.of("synthesize"))) == (1, 2)
    [judged] = [event.data for event in await service.events(run_id) if isinstance(event.data, ev.ConflictJudged)]
    assert (judged.resolution, judged.reason, judged.sitting) == ("2011", "The register says so.", 1)
    asked = opening_of(stub.of("arbitrate")[0])
    assert not any(name in asked for name in ("researcher", "analyst", '"task"'))


async def test_a_judge_nobody_understands_leaves_the_conflict_open(service: Service, stub: StubProvider) -> None:
    disputed(stub, then=synthesis("Never asked."))
    stub.on("arbitrate", text("It is hard to say."))

    run_id = await service.submit(team=crew("judge"), plan=TWO)
    run = await service.ended(run_id)

    assert (run["status"], run["result"]["answer"]) == ("succeeded", "It was 2009 or 2011.")
    assert run["result"]["conflicts"][0]["status"] == "unresolved"
    assert len(stub.of("arbitrate")) == 2
    [left] = [event.data for event in await service.events(run_id) if isinstance(event.data, ev.ConflictLeftOpen)]
    assert (left.id, left.method, left.reason) == ("c1", "judge", "output_invalid")


async def test_a_task_breaks_the_tie_that_a_judge_could_not_decide(service: Service, stub: StubProvider) -> None:
    disputed(stub, then=synthesis("All told, 2011.", "b", "tie-c1", conflicts=[TIED]))
    stub.on("arbitrate", lambda seen: judgement(seen, None))
    stub.on("work:checker", as_json(report("By the register it was 2011.")))

    run_id = await service.submit(team=crew("judge", "tie_break"), plan=TWO)
    run = await service.ended(run_id)

    assert (run["status"], run["result"]["answer"], run["result"]["rounds"]) == ("succeeded", "All told, 2011.", 2)
    [conflict] = run["result"]["conflicts"]
    assert (conflict["id"], conflict["method"], conflict["resolution"]) == ("c1", "tie_break", "2011")
    assert len(stub.of("synthesize")) == 2
    asked = opening_of(stub.of("work:checker")[0])
    assert "the year" in asked
    assert not any(claim in asked for claim in ("2009", "2011"))


async def test_a_task_that_breaks_no_tie_leaves_it_to_people(service: Service, stub: StubProvider, api: Api) -> None:
    disputed(stub, then=synthesis("All told, 2009.", "a", conflicts=[]))
    stub.on("work:checker", refusal())

    run_id = await service.submit(team=crew("tie_break", conflicts="ask_human"), plan=TWO)
    await service.until(run_id, lambda row: row["status"] == "waiting")
    [question] = (await api.get(f"/v1/runs/{run_id}/questions"))["data"]
    await api.client.post(f"/v1/runs/{run_id}/questions/{question['id']}/answer", json={"answer": "2009"})
    run = await service.ended(run_id)

    assert (run["status"], run["result"]["answer"]) == ("succeeded", "All told, 2009.")
    assert run["result"]["conflicts"][0]["method"] == "human"
    assert [gap["task"] for gap in run["result"]["gaps"]] == ["tie-c1"]
    [left] = [event.data for event in await service.events(run_id) if isinstance(event.data, ev.ConflictLeftOpen)]
    assert (left.method, left.reason) == ("tie_break", "model_refusal")
