"""What users of such systems have lived through, and what happens here instead."""

from tests.support.fixtures import Services
from tests.support.service import CREW, Service, plan_of, report, synthesis, task
from tests.support.stub_answers import Answer, as_json, held, text
from tests.support.stub_provider import StubProvider
from tests.support.stub_script import SeenRequest

DEAD = 15
ALL = 22
DONE = as_json(report("done"))


async def test_a_run_in_which_most_workers_are_dead_says_so_by_name(service: Service, stub: StubProvider) -> None:
    dead = {f"t{number}" for number in range(DEAD)}

    def answer(seen: SeenRequest) -> Answer:
        said = seen.body["messages"][0]["content"][0]["text"]
        return text('{"summary": ""}') if any(f"Do {name}." in said for name in dead) else DONE

    living = [f"t{number}" for number in range(DEAD, ALL)]
    stub.on("work", answer)
    stub.on("synthesize", as_json(synthesis("what there is", *living, without=sorted(dead))))
    plan = plan_of(*(task(f"t{number}") for number in range(ALL)))

    run_id = await service.submit(team=CREW, plan=plan, limits={"tasks": ALL, "concurrency": ALL, "attempts": 1})
    run = await service.ended(run_id, timeout_s=60)

    assert (run["status"], run["stop_reason"]) == ("partial", "gaps")
    assert {gap["task"] for gap in run["result"]["gaps"]} == dead == set(run["result"]["coverage"]["missing"])
    assert {gap["reason"] for gap in run["result"]["gaps"]} == {"output_invalid"}
    assert (run["result"]["coverage"]["required"], run["result"]["coverage"]["delivered"]) == (ALL, ALL - DEAD)


async def test_fifty_ready_tasks_never_make_a_tenth_call_where_nine_are_allowed(
    services: Services, stub: StubProvider
) -> None:
    service = await services.start(model_calls_at_once=9)
    stub.on("work", held(DONE))
    stub.on("synthesize", as_json(synthesis("all of it", "t0")))
    plan = plan_of(*(task(f"t{number}") for number in range(50)))

    run_id = await service.submit(team=CREW, plan=plan, limits={"tasks": 50, "concurrency": 50})
    await stub.until(lambda: stub.in_flight == 9)
    stub.release()
    run = await service.ended(run_id, timeout_s=60)

    assert run["status"] == "succeeded"
    assert stub.most_in_flight == 9
