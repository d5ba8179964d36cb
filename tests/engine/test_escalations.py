"""What becomes of a task that its worker stops at, and the ladder that every failed attempt climbs."""

from typing import Any

import pytest

from app.domain import events as ev
from app.domain.task_state import TaskState
from app.domain.team import Team
from app.domain.worker import Worker
from tests.support.service import CREW, Service, plan_of, report, synthesis, task
from tests.support.stub_answers import Answer, as_json, server_error, text
from tests.support.stub_provider import StubProvider
from tests.support.stub_script import SeenRequest

ONE = plan_of(task("t1", "junior"))
UNUSABLE = text('{"summary": ""}')
STUCK = as_json(report("half of it", escalation={"reason": "confidence_too_low", "message": "I cannot tell."}))
EMPTY_HANDED = as_json(report("", escalation={"reason": "out_of_scope", "message": "Not mine."}))


def crew(**changes: Any) -> Team:
    """A team with a worker that may fail, and one that may take over; the third has its own model."""
    return Team(
        name="desk",
        workers=(
            Worker(name="junior", description="Tries.", instructions="Try.", model="fast", fallback="senior"),
            Worker(name="senior", description="Knows.", instructions="Do it.", model="deep"),
            Worker(name="local", description="Is cheap.", instructions="Do it.", model="own-model"),
        ),
        **changes,
    )


def ruling(decision: str, worker: str | None = None, instruction: str | None = None) -> Answer:
    return as_json({"decision": decision, "worker": worker, "instruction": instruction, "reason": "so it is"})


async def task_of(service: Service, run_id: str) -> TaskState:
    return (await service.folded(run_id)).tasks["t1"]


async def test_a_ruling_may_have_a_stronger_model_try_with_another_instruction(
    service: Service, stub: StubProvider
) -> None:
    stub.on("work", replies=[STUCK], reply=as_json(report("done")))
    stub.on("rule", ruling("retry_stronger_model", instruction="Do the first half of t1."))

    run_id = await service.submit(team=crew(), plan=ONE)
    run = await service.ended(run_id)

    assert (run["status"], run["result"]["answer"]) == ("succeeded", "done")
    first, second = (await task_of(service, run_id)).attempts
    assert first.escalation is not None
    assert (first.escalation.decision, first.error and first.error.code) == ("retry_stronger_model", "no_progress")
    assert (first.model, second.model) == ("claude-haiku-5-5", "claude-sonnet-5-5")
    assert (second.instruction, second.refined_from, second.change) == ("Do the first half of t1.", 1, "so it is")
    assert "Do the first half of t1." in stub.of("work")[-1].body["messages"][0]["content"][0]["text"]


async def test_a_ruling_may_give_the_task_to_another_worker(service: Service, stub: StubProvider) -> None:
    stub.on("work:junior", EMPTY_HANDED)
    stub.on("work:senior", as_json(report("done")))
    stub.on("rule", ruling("reassign", "senior"))

    run_id = await service.submit(team=crew(), plan=ONE)
    run = await service.ended(run_id)

    assert (run["status"], run["result"]["answer"]) == ("succeeded", "done")
    assert run["result"]["coverage"]["substituted"] == ["t1"]
    assert [output["worker"] for output in run["result"]["outputs"]] == ["senior"]
    [passed_on] = [each.data for each in await service.events(run_id) if isinstance(each.data, ev.TaskReassigned)]
    assert (passed_on.worker, passed_on.decision, passed_on.change) == ("senior", "reassign", "so it is")


async def test_a_ruling_may_take_what_there_is_and_says_so(service: Service, stub: StubProvider) -> None:
    stub.on("work:junior", STUCK)
    stub.on("work", as_json(report("fine")))
    stub.on("rule", ruling("accept_partial"))
    stub.on("synthesize", as_json(synthesis("the answer", "t1", "t2")))

    run_id = await service.submit(team=crew(), plan=plan_of(task("t1", "junior"), task("t2", "senior")))
    run = await service.ended(run_id)

    assert run["status"] == "succeeded"
    half, _ = run["result"]["outputs"]
    assert (half["text"], half["partial"]) == ("half of it", True)
    [asked] = stub.of("synthesize")
    assert '"partial": true' in asked.body["messages"][0]["content"][0]["text"]
    state = await task_of(service, run_id)
    assert state.attempt.escalation is not None
    assert state.attempt.escalation.decision == "accept_partial"


async def test_a_ruling_may_give_up_and_costs_no_further_attempt(service: Service, stub: StubProvider) -> None:
    stub.on("work", STUCK)
    stub.on("rule", ruling("give_up"))

    run_id = await service.submit(team=crew(), plan=ONE)
    run = await service.ended(run_id)

    assert (run["status"], run["stop_reason"]) == ("failed", "no_results")
    assert len(stub.of("work")) == 1
    state = await task_of(service, run_id)
    assert state.attempt.escalation is not None
    assert state.attempt.escalation.decision == "give_up"


async def test_the_supervisor_is_told_what_is_possible_and_nothing_else(service: Service, stub: StubProvider) -> None:
    stub.on("work", replies=[EMPTY_HANDED], reply=as_json(report("done")))
    stub.on("rule", ruling("reassign", "senior"))

    await service.ended(await service.submit(team=crew(), plan=ONE))

    [asked] = stub.of("rule")
    schema = asked.body["output_config"]["format"]["schema"]["properties"]
    possible = ["retry_stronger_model", "reassign", "split", "ask_human", "give_up"]
    assert schema["decision"]["enum"] == possible, "there is nothing partial to accept"
    assert schema["worker"]["anyOf"][0]["enum"] == ["senior", "local"]
    opening = asked.body["messages"][0]["content"][0]["text"]
    assert "Not mine." in opening
    assert "accept_partial" not in opening


@pytest.mark.parametrize(
    "bad", [ruling("ask_the_boss"), ruling("accept_partial"), ruling("reassign", "junior"), text("I would say: no.")]
)
async def test_a_ruling_that_is_impossible_is_refused_and_asked_for_once_more(
    service: Service, stub: StubProvider, bad: Answer
) -> None:
    stub.on("work:junior", EMPTY_HANDED)
    stub.on("work:senior", as_json(report("done")))
    stub.on("rule", replies=[bad], reply=ruling("reassign", "senior"))

    run_id = await service.submit(team=crew(), plan=ONE)
    run = await service.ended(run_id)

    assert run["status"] == "succeeded"
    assert len(stub.of("rule")) == 2
    [rejected] = [each.data for each in await service.events(run_id) if isinstance(each.data, ev.RulingRejected)]
    assert rejected.note is not None


async def test_without_a_usable_ruling_the_ladder_is_climbed(service: Service, stub: StubProvider) -> None:
    stub.on("work:junior", EMPTY_HANDED)
    stub.on("work:senior", as_json(report("done")))
    stub.on("rule", ruling("ask_the_boss"))
    stub.on("refine", as_json({"instruction": "Do less of t1.", "change": "less"}))

    run_id = await service.submit(team=crew(), plan=ONE, limits={"attempts": 4})
    await service.ended(run_id)

    tried = [(each.worker, each.model, each.instruction) for each in (await task_of(service, run_id)).attempts]
    assert tried == [
        ("junior", "claude-haiku-5-5", "Do t1."),
        ("junior", "claude-haiku-5-5", "Do less of t1."),
        ("junior", "claude-sonnet-5-5", "Do less of t1."),
        ("senior", "claude-opus-5-5", "Do less of t1."),
    ]


async def test_where_there_is_nothing_to_choose_nobody_is_asked(service: Service, stub: StubProvider) -> None:
    stub.on("work", EMPTY_HANDED)

    run_id = await service.submit(team=crew(), plan=ONE, limits={"attempts": 1})
    await service.ended(run_id)

    assert stub.of("rule") == []
    error = (await task_of(service, run_id)).error
    assert error is not None
    assert error.code == "attempts_exhausted"


LADDERS: dict[str, tuple[tuple[str, ...], str, list[tuple[str, str]]]] = {
    "the fallback at once": (("fallback_worker",), "junior", [("junior", "haiku"), ("senior", "opus")]),
    "no further attempt": (("give_up",), "junior", [("junior", "haiku")]),
    "stronger models only": (
        ("stronger_model", "stronger_model", "give_up"),
        "junior",
        [("junior", "haiku"), ("junior", "sonnet"), ("junior", "opus")],
    ),
    "what is not possible is passed over": (("stronger_model", "fallback_worker"), "local", [("local", "own-model")]),
}


@pytest.mark.parametrize("name", LADDERS)
async def test_a_team_has_a_ladder_of_its_own(service: Service, stub: StubProvider, name: str) -> None:
    ladder, worker, expected = LADDERS[name]
    stub.on("work", UNUSABLE)

    team = crew(ladder=ladder, limits={"attempts": 5})
    run_id = await service.submit(team=team, plan=plan_of(task("t1", worker)))
    await service.ended(run_id)

    tried = [(each.worker, each.model) for each in (await task_of(service, run_id)).attempts]
    assert [(worker, model.removeprefix("claude-").removesuffix("-5-5")) for worker, model in tried] == expected
    assert stub.of("refine") == []


async def test_after_the_last_rung_the_instruction_is_refined_again(service: Service, stub: StubProvider) -> None:
    stub.on("work", UNUSABLE)
    stub.on("refine", lambda seen: as_json({"instruction": f"Try number {seen.call}.", "change": ""}))

    run_id = await service.submit(team=CREW, plan=plan_of(task("t1")), limits={"attempts": 5})
    await service.ended(run_id)

    attempts = (await task_of(service, run_id)).attempts
    assert [each.model for each in attempts] == ["claude-sonnet-5-5"] * 2 + ["claude-opus-5-5"] * 3
    assert len(stub.of("refine")) == 3


async def test_a_transient_failure_takes_no_rung(service: Service, stub: StubProvider) -> None:
    faults = iter([server_error()] * 3 + [UNUSABLE] * 2)

    def answer(_: SeenRequest) -> Answer:
        return next(faults, as_json(report("done")))

    stub.on("work", answer)
    stub.on("refine", as_json({"instruction": "Do less of t1.", "change": ""}))

    run_id = await service.submit(team=crew(), plan=ONE)
    run = await service.ended(run_id)

    assert run["status"] == "succeeded"
    attempts = (await task_of(service, run_id)).attempts
    assert [each.model for each in attempts] == ["claude-haiku-5-5"] * 3
    assert [each.instruction for each in attempts] == ["Do t1.", "Do t1.", "Do less of t1."]


@pytest.mark.parametrize("fallback", ["junior", "nobody"])
def test_a_fallback_is_another_worker_of_the_team(fallback: str) -> None:
    worker = {"name": "junior", "description": "Tries.", "instructions": "Try.", "fallback": fallback}

    with pytest.raises(ValueError, match="fallback"):
        Team.model_validate({"name": "desk", "workers": [worker]})


def test_a_team_that_uses_nothing_new_is_stored_as_before() -> None:
    assert "ladder" not in CREW.definition
    assert "fallback" not in CREW.definition
    assert Team.model_validate_json(crew(ladder=("refine",)).definition) == crew(ladder=("refine",))


def test_a_worker_must_use_only_tools_that_it_has() -> None:
    worker = {"name": "junior", "description": "Tries.", "instructions": "Try.", "tools": ["calculate"]}

    impossible: list[Any] = [["look_up"], [["calculate", "look_up"]], [[]]]
    for must_use in impossible:
        with pytest.raises(ValueError, match="must use"):
            Team.model_validate({"name": "desk", "workers": [worker | {"must_use": must_use}]})
    team = Team.model_validate({"name": "desk", "workers": [worker | {"must_use": [["calculate"]]}]})
    assert Team.model_validate_json(team.definition) == team
    assert "must_use" not in CREW.definition
