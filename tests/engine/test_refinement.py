from collections.abc import Callable

import pytest

from tests.support.fixtures import Services
from tests.support.service import CREW, Service, plan_of, report, synthesis, task
from tests.support.stub_answers import Answer, as_json, held, overloaded, refusal, text, truncated
from tests.support.stub_provider import StubProvider

ONE = plan_of(task("t1"))
REFINING = CREW.model_copy(update={"ladder": ("refine",)})
UNUSABLE = text('{"summary": ""}')

FAULTS: dict[str, Callable[[], list[Answer]]] = {
    "an unusable result": lambda: [UNUSABLE, UNUSABLE],
    "a result that is cut": lambda: [truncated("{"), truncated("{")],
    "an escalation without a ruling": lambda: [
        as_json(report(escalation={"reason": "out_of_scope", "message": "Not mine."}))
    ],
}


def refined(instruction: str) -> Answer:
    return as_json({"instruction": instruction, "change": "It is narrower."})


@pytest.mark.parametrize("fault", FAULTS)
async def test_after_a_fault_that_would_come_again_the_next_attempt_has_a_new_instruction(
    service: Service, stub: StubProvider, fault: str
) -> None:
    failed = FAULTS[fault]()
    stub.on("work", replies=failed, reply=as_json(report("done")))
    stub.on("refine", refined("Do less of t1."))
    stub.on("rule", UNUSABLE)

    run_id = await service.submit(plan=ONE)
    run = await service.ended(run_id)

    assert (run["status"], run["result"]["answer"]) == ("succeeded", "done")
    first, second = (await service.folded(run_id)).tasks["t1"].attempts
    assert (first.instruction, second.instruction) == ("Do t1.", "Do less of t1.")
    assert (second.refined_from, second.change) == (1, "It is narrower.")
    last = stub.of("work")[len(failed)]
    assert len(last.body["messages"]) == 1
    assert "Do less of t1." in last.body["messages"][0]["content"][0]["text"]


async def test_the_supervisor_sees_what_was_tried_and_why_it_failed(service: Service, stub: StubProvider) -> None:
    stub.on("work", replies=[UNUSABLE, text('{"summary": "", "text": ""}')], reply=as_json(report()))
    stub.on("refine", refined("Do less of t1."))

    await service.ended(await service.submit(plan=ONE))

    [asked] = stub.of("refine")
    opening = asked.body["messages"][0]["content"][0]["text"]
    assert '"instruction": "Do t1."' in opening
    assert '"error": "output_invalid"' in opening


@pytest.mark.parametrize("same", ["Do t1.", "  Do   t1.\n"])
async def test_an_unchanged_instruction_ends_the_task_and_is_never_sent(
    service: Service, stub: StubProvider, same: str
) -> None:
    stub.on("work", UNUSABLE)
    stub.on("refine", refined(same))

    run_id = await service.submit(plan=ONE)
    run = await service.ended(run_id)

    assert (run["status"], run["stop_reason"]) == ("failed", "no_results")
    assert len(stub.of("work")) == 2
    error = (await service.folded(run_id)).tasks["t1"].error
    assert error is not None
    assert (error.code, "it was the same as before" in error.message) == ("output_invalid", True)


async def test_an_instruction_that_was_tried_before_counts_as_unchanged(service: Service, stub: StubProvider) -> None:
    stub.on("work", UNUSABLE)
    stub.on("refine", replies=[refined("Do less of t1."), refined("Do t1.")])

    run = await service.ended(await service.submit(team=REFINING, plan=ONE))

    assert run["stop_reason"] == "no_results"
    assert len(stub.of("work")) == 4


async def test_an_instruction_in_prose_is_taken(service: Service, stub: StubProvider) -> None:
    stub.on("work", replies=[UNUSABLE, UNUSABLE])
    stub.on("work", as_json(report()))
    stub.on("refine", text("Do only the first half of t1."))

    run_id = await service.submit(plan=ONE)
    await service.ended(run_id)

    assert (await service.folded(run_id)).tasks["t1"].attempts[-1].instruction == "Do only the first half of t1."


UNREFINED: dict[str, Answer] = {
    "refuses": refusal(),
    "breaks off": text('{"instruction": "Try'),
    "is away": overloaded(),
}


@pytest.mark.parametrize("supervisor", UNREFINED)
async def test_without_a_new_instruction_the_tasks_last_failure_stands(
    services: Services, stub: StubProvider, supervisor: str
) -> None:
    service = await services.start(retry_base_s=0.002)
    stub.on("work", UNUSABLE)
    stub.on("refine", UNREFINED[supervisor])

    run_id = await service.submit(plan=ONE)
    await service.ended(run_id)

    error = (await service.folded(run_id)).tasks["t1"].error
    assert error is not None
    assert (error.code, ". The instruction was not improved: " in error.message) == ("output_invalid", True)
    assert len(stub.of("work")) == 2


async def test_attempts_are_bounded(service: Service, stub: StubProvider) -> None:
    stub.on("work", UNUSABLE)
    stub.on("refine", lambda seen: refined(f"Try number {seen.call}."))

    run_id = await service.submit(team=REFINING, plan=ONE, limits={"attempts": 3})
    await service.ended(run_id)

    assert len((await service.folded(run_id)).tasks["t1"].attempts) == 3
    assert (len(stub.of("work")), len(stub.of("refine"))) == (6, 2)


@pytest.mark.parametrize("final", [refusal(), text("", stop_reason="model_context_window_exceeded")])
async def test_a_fault_that_no_instruction_can_mend_ends_the_task(
    service: Service, stub: StubProvider, final: Answer
) -> None:
    stub.on("work", final)

    run = await service.ended(await service.submit(plan=ONE))

    assert run["status"] == "failed"
    assert [seen.role for seen in stub.log] == ["work:writer"]


async def test_a_task_that_is_refined_holds_no_other_up(service: Service, stub: StubProvider) -> None:
    stub.on("work:researcher", UNUSABLE)
    stub.on("work", as_json(report("fine")))
    stub.on("refine", held(refined("Do t1.")))
    stub.on("synthesize", as_json(synthesis("the answer", "c")))
    plan = plan_of(task("t1", "researcher"), task("b", "analyst"), task("c", "writer", ["b"]))

    run_id = await service.submit(plan=plan, limits={"concurrency": 1})
    await stub.seen(1, role="work:writer")
    stub.release()
    run = await service.ended(run_id)

    delivered = [output["task"] for output in run["result"]["outputs"] if output["text"] == "fine"]
    assert (run["status"], delivered) == ("partial", ["b", "c"])
