"""Questions to people: asked by a ruling, answered through any process, and what is done when nobody answers."""

import asyncio
from typing import Any

import pytest

from app.domain import events as ev
from app.domain.team import Team
from tests.engine.test_escalations import EMPTY_HANDED, ONE, UNUSABLE, crew, ruling, task_of
from tests.support.api import Api
from tests.support.fixtures import Services
from tests.support.service import Service, plan_of, report, synthesis, task
from tests.support.stub_answers import Answer, as_json
from tests.support.stub_provider import StubProvider

DONE = as_json(report("done"))


def asking(action: str = "proceed", *choices: str, question: str | None = "Which year?") -> Answer:
    """A ruling that has a person asked."""
    assumption = "The calendar year is meant." if action == "proceed" else None
    return as_json(
        {
            "decision": "ask_human",
            "worker": None,
            "instruction": None,
            "question": question,
            "choices": list(choices) or None,
            "default_action": action,
            "assumption": assumption,
            "reason": "only they know",
        }
    )


def impatient(seconds: float = 0.3) -> Team:
    return crew(question_timeout_s=seconds)


async def asked_in(service: Service, run_id: str, count: int = 1) -> list[ev.QuestionAsked]:
    log = await service.until_logged(run_id, "question.asked", count)
    return [event.data for event in log if isinstance(event.data, ev.QuestionAsked)]


async def answer(api: Api, run_id: str, question_id: str, said: Any = "business year") -> tuple[int, Any]:
    sent = await api.client.post(f"/v1/runs/{run_id}/questions/{question_id}/answer", json={"answer": said})
    return sent.status_code, sent.json()


async def test_a_run_waits_without_a_slot_and_goes_on_with_the_answer(
    services: Services, stub: StubProvider, api: Api
) -> None:
    service = await services.start(runs_at_once=1)
    stub.on("work:junior", replies=[EMPTY_HANDED], reply=DONE)
    stub.on("rule", asking("proceed", "calendar year", "business year"))

    run_id = await service.submit(team=crew(), plan=ONE)
    [question] = await asked_in(service, run_id)
    parked = await service.until(run_id, lambda row: row["status"] == "waiting")
    assert (parked["waiting_for"], parked["progress"]["tasks"]["waiting"]) == ("answer", 1)
    other = await service.submit(team=crew(), plan=plan_of(task("t1", "senior")))
    stub.on("work:senior", DONE)
    assert (await service.ended(other))["status"] == "succeeded", "the only slot is free"

    [shown] = (await api.get(f"/v1/runs/{run_id}/questions"))["data"]
    assert shown["id"] == question.id
    assert (shown["task_id"], shown["question"], shown["status"], shown["answer"]) == (
        "t1",
        "Which year?",
        "open",
        None,
    )
    assert shown["choices"] == ["calendar year", "business year"]
    assert shown["default"] == {"action": "proceed", "assumption": "The calendar year is meant."}
    status, told = await answer(api, run_id, question.id)
    run = await service.ended(run_id)

    assert (status, told["status"], told["answer"], told["answered_by"]) == (200, "answered", "business year", None)
    assert (run["status"], run["result"]["answer"], run["result"]["assumptions"]) == ("succeeded", "done", [])
    first, second = (await task_of(service, run_id)).attempts
    assert first.escalation is not None
    assert first.escalation.decision == "ask_human"
    assert second.refined_from == 1
    assert "The answer: business year" in stub.of("work:junior")[-1].body["messages"][0]["content"][0]["text"]


async def test_other_tasks_go_on_meanwhile(service: Service, stub: StubProvider, api: Api) -> None:
    stub.on("work:junior", replies=[EMPTY_HANDED], reply=DONE)
    stub.on("work:senior", DONE)
    stub.on("rule", asking())
    stub.on("synthesize", as_json(synthesis("the answer", "t1", "t2", "t3")))
    plan = plan_of(task("t1", "junior"), task("t2", "senior"), task("t3", "senior", ["t2"]))

    run_id = await service.submit(team=crew(), plan=plan)
    [question] = await asked_in(service, run_id)
    await service.until_logged(run_id, "task.succeeded", 2)
    await service.until(run_id, lambda row: row["status"] == "waiting")
    await answer(api, run_id, question.id)

    assert (await service.ended(run_id))["result"]["answer"] == "the answer"


async def test_several_questions_at_once_are_told_apart(service: Service, stub: StubProvider, api: Api) -> None:
    stub.on("work:junior", replies=[EMPTY_HANDED, EMPTY_HANDED], reply=DONE)
    stub.on("rule", replies=[asking(question="Which year?")], reply=asking(question="Which town?"))
    stub.on("synthesize", as_json(synthesis("the answer", "t1", "t2")))

    run_id = await service.submit(team=crew(), plan=plan_of(task("t1", "junior"), task("t2", "junior")))
    first, second = await asked_in(service, run_id, 2)
    assert (await answer(api, run_id, second.id, "Bonn"))[0] == 200
    shown = (await api.get(f"/v1/runs/{run_id}/questions"))["data"]
    assert [(each["id"], each["status"]) for each in shown] == [(first.id, "open"), (second.id, "answered")]
    assert (await answer(api, run_id, first.id, "2025"))[0] == 200

    assert (await service.ended(run_id))["status"] == "succeeded"
    said = {each.task_id: each.answer for each in (await service.folded(run_id)).questions.values()}
    told = [seen.body["messages"][0]["content"][0]["text"] for seen in stub.of("work:junior")[-2:]]
    assert sorted(said.values(), key=str) == ["2025", "Bonn"]
    for name, words in said.items():
        [its] = [text for text in told if f"Do {name}." in text]
        assert f"The answer: {words}" in its


async def test_each_question_is_answered_once(service: Service, stub: StubProvider, api: Api) -> None:
    stub.on("work:junior", replies=[EMPTY_HANDED], reply=DONE)
    stub.on("rule", asking())

    run_id = await service.submit(team=crew(), plan=ONE)
    [question] = await asked_in(service, run_id)
    answers = await asyncio.gather(*(answer(api, run_id, question.id, f"answer {n}") for n in range(8)))
    await service.ended(run_id)
    late, told = await answer(api, run_id, question.id, "too late")

    assert sorted(status for status, _ in answers) == [200] + [409] * 7
    assert {body["code"] for status, body in answers if status == 409} == {"question_answered"}
    assert (late, told["code"]) == (409, "question_answered")
    logged = [each for each in await service.events(run_id) if each.type == "question.answered"]
    assert len(logged) == 1
    [taken] = [body["answer"] for status, body in answers if status == 200]
    assert isinstance(logged[0].data, ev.QuestionAnswered)
    assert logged[0].data.answer == taken


async def test_answers_that_do_not_fit_are_refused(service: Service, stub: StubProvider, api: Api) -> None:
    stub.on("work:junior", EMPTY_HANDED)
    stub.on("rule", asking("proceed", "this", "that"))

    run_id, other = [await service.submit(team=crew(), plan=ONE) for _ in range(2)]
    [question], [foreign] = await asked_in(service, run_id), await asked_in(service, other)
    refused = [
        await answer(api, run_id, question.id, "neither"),
        await answer(api, run_id, question.id, " "),
        await answer(api, run_id, question.id, 7),
        await answer(api, run_id, foreign.id, "this"),
        await answer(api, run_id, "q_0", "this"),
        await answer(api, "run_0", question.id, "this"),
    ]
    await service.cancel(run_id)
    await service.ended(run_id)
    refused.append(await answer(api, run_id, question.id, "this"))
    missing = await api.client.get("/v1/runs/run_0/questions")
    [closed] = (await api.get(f"/v1/runs/{run_id}/questions"))["data"]

    assert [(status, body["code"]) for status, body in refused] == [
        (422, "answer_not_offered"),
        (422, "request_invalid"),
        (422, "request_invalid"),
        (404, "question_not_found"),
        (404, "question_not_found"),
        (404, "run_not_found"),
        (409, "question_closed"),
    ]
    assert "this, that" in refused[0][1]["errors"][0]["detail"]
    assert (missing.status_code, closed["status"]) == (404, "closed")


@pytest.mark.parametrize(
    ("action", "status", "reason"),
    [("proceed", "succeeded", "completed"), ("skip", "failed", "no_results"), ("fail", "failed", "question_expired")],
)
async def test_when_nobody_answers_in_time_the_default_is_taken(
    service: Service, stub: StubProvider, api: Api, action: str, status: str, reason: str
) -> None:
    stub.on("work:junior", replies=[EMPTY_HANDED], reply=DONE)
    stub.on("rule", asking(action))

    run_id = await service.submit(team=impatient(), plan=ONE)
    run = await service.ended(run_id)
    [question] = (await api.get(f"/v1/runs/{run_id}/questions"))["data"]
    late, told = await answer(api, run_id, question["id"])

    assert (run["status"], run["stop_reason"], question["status"]) == (status, reason, "expired")
    assert (late, told["code"]) == (409, "question_expired")
    if action == "proceed":
        assert (
            "Take for granted: The calendar year is meant."
            in stub.of("work")[-1].body["messages"][0]["content"][0]["text"]
        )
        assert "The calendar year is meant." in run["result"]["answer"]
        assert run["result"]["assumptions"] == [
            {"task": "t1", "question": "Which year?", "assumption": "The calendar year is meant."}
        ]
    else:
        assert len(stub.of("work")) == 1


@pytest.mark.parametrize(
    ("on_question", "status", "reason"), [("default", "succeeded", "completed"), ("fail", "failed", "question_expired")]
)
async def test_a_job_may_wait_for_nobody(
    service: Service, stub: StubProvider, on_question: str, status: str, reason: str
) -> None:
    stub.on("work:junior", replies=[EMPTY_HANDED], reply=DONE)
    stub.on("rule", asking())

    run_id = await service.submit(team=crew(), plan=ONE, on_question=on_question)
    run = await service.ended(run_id)

    assert (run["status"], run["stop_reason"]) == (status, reason)
    assert "run.waiting" not in [event.type for event in await service.events(run_id)]


@pytest.mark.parametrize(("on_question", "asks"), [(None, True), ("default", False), ("fail", False)])
async def test_the_ladder_asks_a_person_where_the_job_allows_it(
    service: Service, stub: StubProvider, api: Api, on_question: str | None, asks: bool
) -> None:
    stub.on("work:local", replies=[EMPTY_HANDED], reply=DONE)
    stub.on("rule", ruling("ask_the_boss"))

    team = crew(ladder=("ask_human", "give_up"))
    run_id = await service.submit(team=team, plan=plan_of(task("t1", "local")), on_question=on_question)
    if asks:
        [question] = await asked_in(service, run_id)
        assert "Not mine." in question.question
        assert (question.default.action, question.decision) == ("skip", None)
        await answer(api, run_id, question.id, "Skip the second half.")
    run = await service.ended(run_id)

    assert run["status"] == ("succeeded" if asks else "failed")


async def test_nobody_is_asked_about_a_failure_that_no_worker_has_words_for(
    service: Service, stub: StubProvider
) -> None:
    stub.on("work", UNUSABLE)

    run_id = await service.submit(team=crew(ladder=("ask_human", "give_up")), plan=ONE)
    run = await service.ended(run_id)

    assert run["status"] == "failed"
    assert "question.asked" not in [event.type for event in await service.events(run_id)]


@pytest.mark.parametrize("bad", [asking(question=" "), asking("proceed", *"abcdefghijk"), asking("proceed", "x" * 300)])
async def test_a_question_that_nobody_could_answer_is_refused(
    service: Service, stub: StubProvider, bad: Answer
) -> None:
    stub.on("work:junior", EMPTY_HANDED)
    stub.on("rule", replies=[bad], reply=ruling("give_up"))

    run_id = await service.submit(team=crew(), plan=ONE)
    await service.ended(run_id)

    assert "ruling.rejected" in [event.type for event in await service.events(run_id)]


async def test_a_crash_neither_loses_nor_repeats_a_question(services: Services, stub: StubProvider, api: Api) -> None:
    first = await services.start(park_after_s=3_600)  # So that it keeps the run while it waits.
    stub.on("work:junior", replies=[EMPTY_HANDED], reply=DONE)
    stub.on("rule", asking())

    run_id = await first.submit(team=crew(), plan=ONE)
    [question] = await asked_in(first, run_id)
    await services.crash(first)
    status, _ = await answer(api, run_id, question.id)
    second = await services.start()
    run = await second.ended(run_id)

    assert (status, run["status"]) == (200, "succeeded")
    assert len(stub.of("rule")) == 1
    assert len(await asked_in(second, run_id)) == 1


async def test_a_question_leaves_time_for_what_is_done_with_the_answer(service: Service, stub: StubProvider) -> None:
    stub.on("work:junior", replies=[EMPTY_HANDED], reply=DONE)
    stub.on("rule", asking())

    run_id = await service.submit(team=crew(), plan=ONE, limits={"timeout_s": 100})
    [question] = await asked_in(service, run_id)
    run = await service.folded(run_id)

    assert run.wrap_up_at is not None
    asked_at = run.questions[question.id].asked_at
    left = (run.wrap_up_at - asked_at) * 0.25
    assert abs((run.wrap_up_at - question.expires_at - left).total_seconds()) < 1
    await service.cancel(run_id)
