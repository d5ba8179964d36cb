"""Suites through the API of a service whose model does as it is told."""

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
import pytest

from app.client import Client as Api
from app.domain.team import Team
from app.evaluation.client import Client, NoRun, ServiceUnusable
from app.evaluation.report import SuiteReport
from app.evaluation.running import run_suites
from app.evaluation.sides import Side
from app.evaluation.suite_file import SuiteInvalid, read_suite
from tests.evaluation.cases import names, written
from tests.support.api import transport_to
from tests.support.service import CREW, Service, plan_of, report, synthesis, task
from tests.support.stub_answers import as_json
from tests.support.stub_provider import StubProvider

HEAD = "name: small\nteam: crew\nbars: {pass_share: 0}\njudge: {team: crew, worker: writer}\ncases:\n"
PLAN = "plan: {tasks: [{id: a, worker: researcher, instruction: Count the pieces., success_criterion: A number.}]}"


@asynccontextmanager
async def harness(service: Service, team: Team = CREW) -> AsyncIterator[Client]:
    await service.stored(team)
    async with transport_to(service.runtime) as transport, Api("http://api.test", transport=transport) as api:
        yield Client(api, api, pause_s=0.01)


async def ran(
    service: Service, folder: Path, cases: str, *sides: Side, repeat: int = 1, head: str = HEAD
) -> SuiteReport:
    file = read_suite(written(folder, head + cases))
    async with harness(service) as client:
        [found] = await run_suites(client, [file], sides or [Side()], repeat)
        return found


def answering(text: str) -> Callable[[httpx2.Request], httpx2.Response]:
    return lambda _: httpx2.Response(200, text=text)


async def test_cases_are_graded_by_what_the_api_shows_of_their_runs(
    service: Service, stub: StubProvider, tmp_path: Path
) -> None:
    stub.on("plan", as_json(plan_of(task("a", "researcher"), task("b", "analyst"), task("c", "writer", ["a", "b"]))))
    stub.on("work", as_json(report("The north sold 4,100 pieces.")))
    stub.on("synthesize", as_json(synthesis("North sold 4,100 pieces.", "a", "b", "c")))
    cases = """
  - id: right
    objective: Count the pieces.
    expect:
      workers: [researcher, analyst, writer]
      plan: {tasks: {least: 3, most: 3}, parallel_share: 0.6, shape: hybrid}
      facts: [{number: 4100}, {at: "$.tasks[?@.id=='c'].attempts[0].worker", equals: writer}]
      most: {llm_calls: 5}
  - id: wrong
    objective: Count the pieces again.
    expect: {workers: [writer], facts: [{number: 4200}], most: {llm_calls: 4}}
"""

    found = await ran(service, tmp_path, cases)

    right, wrong = found.sides[0].cases
    assert (right.outcome, wrong.outcome) == ("passed", "failed")
    assert names(wrong.checks) == ["workers", "fact 1: number", "most.llm_calls"]
    assert (right.took.llm_calls, right.used_workers, wrong.routed) == (5, ("analyst", "researcher", "writer"), False)
    assert found.sides[0].totals.routing_accuracy == 0.5
    assert right.elapsed_ms >= right.took.wall_s * 1000
    assert found.met


async def test_a_job_that_is_only_planned_costs_its_plan(service: Service, stub: StubProvider, tmp_path: Path) -> None:
    stub.on("plan", as_json(plan_of(task("a", "analyst"))))

    found = await ran(
        service, tmp_path, "  - {id: a, objective: Count., plan_only: true, expect: {workers: [analyst]}}\n", repeat=2
    )

    assert [(case.outcome, case.repeat, case.took.llm_calls) for case in found.sides[0].cases] == [
        ("passed", 1, 1),
        ("passed", 2, 1),
    ]
    assert [seen.role for seen in stub.log] == ["plan", "plan"]


async def test_a_run_that_fails_is_graded_and_one_that_is_refused_is_an_error(
    service: Service, stub: StubProvider, tmp_path: Path
) -> None:
    stub.on("plan", as_json({"goal": "g", "tasks": []}))
    cases = (
        "  - {id: expected, objective: Count., expect: {status: [failed], stop_reason: plan_empty}}\n"
        "  - {id: unexpected, objective: Count., plan_only: true, expect: {}}\n"
        "  - {id: odd, objective: Count., plan: {tasks: [{id: a, worker: nobody, instruction: A.}]}, expect: {}}\n"
    )

    found = await ran(service, tmp_path, cases)

    assert [case.outcome for case in found.sides[0].cases] == ["passed", "failed", "error"]
    assert "plan_invalid" in str(found.sides[0].cases[2].error)
    assert not found.met  # Whatever the bars say.


async def test_a_run_that_nobody_can_help_or_that_takes_too_long_is_stopped_and_an_error(
    service: Service, stub: StubProvider, tmp_path: Path
) -> None:
    stub.on("work", as_json(report("Nothing."), latch="for good"))
    text = (
        HEAD.replace("cases:", "defaults: {wait_s: 0.2}\ncases:")
        + f"  - {{id: a, objective: Count., {PLAN}, expect: {{}}}}\n"
    )
    async with harness(service) as client:
        [found] = await run_suites(client, [read_suite(written(tmp_path, text))], [Side()], 1)

        case = found.sides[0].cases[0]
        assert case.outcome == "error"
        assert "has not ended within 0.2 s" in str(case.error)
        run = await service.ended(str(case.error).split()[0])
        assert run["status"] == "cancelled"


def verdict(met: bool) -> dict[str, bool]:
    return {"criterion_1": True, "criterion_2": met}


@pytest.mark.parametrize("met", [True, False])
async def test_a_judge_is_a_run_of_its_own_whose_verdict_is_graded(
    service: Service, stub: StubProvider, tmp_path: Path, met: bool
) -> None:
    stub.on("work:researcher", as_json(report("The north sold 4,100 pieces.")))
    stub.on("work:writer", as_json(report("Both are judged.")))
    stub.on(
        "synthesize",
        as_json(
            synthesis(
                "Both are judged.", "judge", data=verdict(met), data_sources=[{"pointer": "/", "tasks": ["judge"]}]
            )
        ),
    )
    rubric = "{criteria: [It is short., It names the north.]}"

    found = await ran(service, tmp_path, f"  - {{id: a, objective: Count., {PLAN}, expect: {{rubric: {rubric}}}}}\n")

    case = found.sides[0].cases[0]
    assert case.outcome == ("passed" if met else "failed"), case
    assert names(case.checks) == ([] if met else ["rubric 2"])
    assert (case.judge is not None, case.took.llm_calls) == (True, 1)
    told = json.dumps(stub.of("work:writer")[0].body)
    assert "It names the north." in told
    assert "The north sold 4,100 pieces." in told


async def test_a_judge_that_there_is_not_is_told_before_anything_runs(
    service: Service, stub: StubProvider, tmp_path: Path
) -> None:
    case = "  - {id: a, objective: Count., expect: {rubric: {criteria: [It is short.]}}}\n"

    with pytest.raises(SuiteInvalid, match=r"suite\.yaml:4: crew has no worker nobody; it has: "):
        await ran(service, tmp_path, case, head=HEAD.replace("worker: writer", "worker: nobody"))

    assert stub.log == []


async def test_a_judge_without_a_verdict_is_an_error(service: Service, stub: StubProvider, tmp_path: Path) -> None:
    stub.on("work", as_json(report("The north sold 4,100 pieces.")))
    stub.on("synthesize", as_json(synthesis("No idea.", "judge", data={}, data_sources=[])))

    found = await ran(
        service, tmp_path, f"  - {{id: a, objective: Count., {PLAN}, expect: {{rubric: {{criteria: [Short.]}}}}}}\n"
    )

    case = found.sides[0].cases[0]
    assert case.outcome == "error"
    assert "no verdict: the judge's run run_" in str(case.error)


async def test_two_sides_are_compared_and_other_models_carry_the_teams_plan_out(
    service: Service, stub: StubProvider, tmp_path: Path
) -> None:
    stub.on("plan", as_json(plan_of(task("a", "researcher"), task("b", "writer", ["a"]))))
    stub.on("work", as_json(report("The north sold 4,100 pieces.")))
    stub.on("synthesize", as_json(synthesis("North sold 4,100 pieces.", "a", "b")))

    found = await ran(
        service, tmp_path, "  - {id: a, objective: Count., expect: {facts: [{number: 4100}]}}\n",
        Side(), Side(None, {"researcher": "fast"}), repeat=2,
    )  # fmt: skip

    assert [side.totals.passed for side in found.sides] == [2, 2]
    assert [case.took.llm_calls for side in found.sides for case in side.cases] == [4, 4, 4, 4]
    models = {seen.body["model"] for seen in stub.of("work:researcher")}
    assert models == {"claude-sonnet-5-5", "claude-haiku-5-5"}
    calls = next(each for each in found.comparison if each.name == "llm_calls")
    assert (calls.difference, calls.shown) == (0, False)


@pytest.mark.parametrize(
    ("cases", "side", "said"),
    [
        ("  - {id: a, objective: Count., expect: {workers: [wirter]}}\n", Side(), ":6: no worker is called wirter"),
        ("  - {id: a, objective: Count., expect: {}}\n", Side("nobody"), ":2: the service has no team nobody"),
        ("  - {id: a, objective: Count., expect: {}}\n", Side(None, {"x": "fast"}), "no worker is called x; crew has"),
        (
            "  - {id: a, objective: Count., plan_only: true, expect: {}}\n",
            Side(None, {"writer": "fast"}),
            ":6: the case cannot be run with other models",
        ),
    ],
)
async def test_what_the_service_does_not_have_is_refused_before_anything_runs(
    service: Service, stub: StubProvider, tmp_path: Path, cases: str, side: Side, said: str
) -> None:
    with pytest.raises(SuiteInvalid) as refused:
        await ran(service, tmp_path, cases, side)

    assert said in str(refused.value)
    assert stub.log == []


def client_that(answer: Callable[[httpx2.Request], httpx2.Response]) -> Client:
    """A client of something that is no service."""
    api = Api("http://x.test", patience_s=0.05, pause_s=0.01, transport=httpx2.MockTransport(answer))
    return Client(api, api, pause_s=0)


async def test_a_request_is_sent_again_under_its_key_while_the_service_is_busy() -> None:
    keys: list[str] = []

    def busy(request: httpx2.Request) -> httpx2.Response:
        keys.append(request.headers["idempotency-key"])
        problem = {"code": "too_many_readers", "detail": "Come back."}
        return httpx2.Response(503, json=problem, headers={"Retry-After": "0"})

    with pytest.raises(NoRun, match="HTTP 503: too_many_readers: Come back"):
        await client_that(busy).done({}, 1)

    assert len(keys) > 1
    assert len(set(keys)) == 1


async def test_a_service_that_cannot_be_reached_or_is_none_is_told_in_a_line() -> None:
    def down(request: httpx2.Request) -> httpx2.Response:
        raise httpx2.ConnectError("refused")

    with pytest.raises(ServiceUnusable, match=r"cannot use the service at http://x\.test: refused"):
        await client_that(down).team("general")
    with pytest.raises(ServiceUnusable, match="HTTP 200: no answer of this API"):
        await client_that(answering("<html>")).team("general")
