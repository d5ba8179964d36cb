"""Questions over HTTP, of runs that a test plays."""

from datetime import UTC, datetime, timedelta

from app.domain import events as ev
from app.domain.events import Entry
from app.domain.questions import Default
from app.domain.results import Problem
from tests.support.api import Api

ASKED = ev.QuestionAsked(
    id="q_1",
    question="Which year?",
    default=Default(action="skip"),
    expires_at=datetime.now(UTC) + timedelta(hours=1),
    error=Problem(code="no_progress", message="it is not clear"),
)


async def test_a_question_whose_task_was_stopped_takes_no_answer(api: Api) -> None:
    play = await api.played()
    await play.start()
    await play.plan("t1", "t2")
    await play.start_task("t1")
    await play.record(Entry(ASKED, "t1", 1))
    path = f"/v1/runs/{play.run_id}/questions"
    [asked] = (await api.get(path))["data"]
    await play.record(Entry(ev.TaskCancelled(error=Problem(code="budget_exceeded", message="spent")), "t1"))

    answer = await api.client.post(f"{path}/q_1/answer", json={"answer": "2025"})
    [closed] = (await api.get(path))["data"]

    assert (asked["status"], closed["status"]) == ("open", "closed")
    assert (answer.status_code, answer.json()["code"]) == (409, "question_closed")


async def test_a_run_that_waits_for_a_person_is_on_no_critical_path(api: Api) -> None:
    play = await api.played()
    await play.start()
    await play.plan("t1")
    await play.start_task("t1")
    await play.record(Entry(ASKED, "t1", 1))
    await play.record(Entry(ev.RunWaiting(reason="answer", until=datetime.now(UTC) + timedelta(hours=1))))

    run = await api.get(f"/v1/runs/{play.run_id}")

    assert (run["status"], run["waiting_for"], run["phase"]) == ("waiting", "answer", None)
    stored = run["timing"]
    later = await api.get(f"/v1/runs/{play.run_id}")
    assert later["timing"]["critical_path_ms"] == stored["critical_path_ms"]
    assert later["timing"]["wall_ms"] >= stored["wall_ms"]
