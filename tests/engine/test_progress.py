"""Tasks that come no further are found out and ended, and what a task cannot be done without is asked for."""

from app.domain import events as ev
from app.domain.team import Team
from app.domain.worker import Worker
from tests.support.service import Service, plan_of, report, task
from tests.support.stub_answers import Answer, as_json, call, tool_calls
from tests.support.stub_provider import StubProvider
from tests.support.stub_script import SeenRequest

ONE = plan_of(task("t1", "analyst"))
PLACEHOLDER = as_json(report("TBD"))


def crew(*must_use: str | tuple[str, ...]) -> Team:
    told = {"description": "Tries.", "instructions": "Try."}
    analyst = Worker(
        name="analyst", model="fast", tools=("calculate", "read_input"), must_use=must_use, fallback="senior", **told
    )
    return Team(name="desk", workers=(analyst, Worker(name="senior", model="deep", **told)))


async def test_attempts_that_end_with_the_same_words_end_the_task_as_soon_as_nothing_new_is_left(
    service: Service, stub: StubProvider
) -> None:
    stub.on("work", PLACEHOLDER)
    stub.on("refine", lambda seen: as_json({"instruction": f"Do t1, take {seen.call}.", "change": ""}))

    run_id = await service.submit(team=crew(), plan=ONE, limits={"attempts": 10})
    run = await service.ended(run_id)

    assert (run["status"], run["stop_reason"]) == ("failed", "no_results")
    state = (await service.folded(run_id)).tasks["t1"]
    assert state.error is not None
    assert state.error.code == "no_progress"
    assert state.error.message.endswith("Attempt 3 ended with the same words.")
    tried = [(each.worker, each.model, each.instruction) for each in state.attempts]
    assert tried == [
        ("analyst", "claude-haiku-5-5", "Do t1."),
        ("analyst", "claude-haiku-5-5", "Do t1, take 1."),
        ("analyst", "claude-sonnet-5-5", "Do t1, take 1."),
        ("senior", "claude-opus-5-5", "Do t1, take 1."),
    ]
    assert len(stub.of("refine")) == 1


async def test_a_worker_is_told_which_call_its_task_needs_and_may_still_make_it(
    service: Service, stub: StubProvider
) -> None:
    def answer(seen: SeenRequest) -> Answer:
        if seen.call == 2:
            return tool_calls(call("calculate", {"expression": "6 * 7"}))
        return as_json(report("It is 42."))

    stub.on("work", answer)

    run_id = await service.submit(team=crew(("calculate", "read_input")), plan=ONE)
    run = await service.ended(run_id)

    assert (run["status"], run["result"]["answer"]) == ("succeeded", "It is 42.")
    [rejected] = [each.data for each in await service.events(run_id) if isinstance(each.data, ev.TaskRejected)]
    assert [flaw.code for flaw in rejected.errors] == ["result_rejected"]
    assert "calculate or read_input" in stub.of("work")[0].body["system"][0]["text"]
    assert "no call of calculate or read_input" in stub.of("work")[1].body["messages"][-1]["content"][0]["text"]


async def test_a_worker_that_never_makes_the_call_has_failed(service: Service, stub: StubProvider) -> None:
    stub.on("work", as_json(report("It is 42, I am sure.")))

    run_id = await service.submit(team=crew("calculate"), plan=ONE, limits={"attempts": 1})
    run = await service.ended(run_id)

    assert run["status"] == "failed"
    error = (await service.folded(run_id)).tasks["t1"].error
    assert error is not None
    assert error.code == "result_rejected"
    assert "no call of calculate" in error.message


async def test_the_same_call_in_another_attempt_is_no_news_either(service: Service, stub: StubProvider) -> None:
    stub.on("work", lambda _: tool_calls(call("calculate", {"expression": "6 *"})))
    stub.on("refine", lambda seen: as_json({"instruction": f"Do t1, take {seen.call}.", "change": ""}))
    only = Team(name="desk", workers=(crew().workers[0].model_copy(update={"fallback": None, "model": "own-model"}),))

    run_id = await service.submit(team=only, plan=ONE, limits={"attempts": 10})
    await service.ended(run_id)

    state = (await service.folded(run_id)).tasks["t1"]
    assert state.error is not None
    assert (state.error.code, len(state.attempts)) == ("no_progress", 2)
    assert len(stub.of("work")) == 8
