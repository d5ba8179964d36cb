"""Runs that release 0.1 had under way, or had ended, when a later release came: each file is one at one moment."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta

import httpx2
import pytest

from app.api.app import create_app
from app.runtime import Runtime
from app.store.database import Database
from app.store.schema import migrate
from tests.support.effects import Ledger
from tests.support.fixtures import Services
from tests.support.postgres import Databases
from tests.support.rows import check_rows, without_news
from tests.support.service import Service
from tests.support.stub_provider import StubProvider
from tests.upgrade.left import RELEASE_0_1, LeftRun, left_run, put
from tests.upgrade.outcomes import Outcome, opening_of, outcomes_of

WORK = {"work:researcher": 1, "work:analyst": 1}
REST = {"work:writer": 1, "synthesize": 1}


@dataclass(frozen=True, slots=True)
class Course:
    """What is still to come of a run."""

    asked: Mapping[str, int]
    """Messages of the one request that each role sends."""
    goes_on: tuple[str, ...] = ()
    """Roles that go on with a conversation, whose opening is on record."""
    lost: int = 0
    """Calls that were under way."""
    repeats: tuple[str, ...] = ()
    """Tools that run once more, under the key on record."""
    end: tuple[str, str] = ("succeeded", "completed")


UNFINISHED = {
    "queued": Course({"plan": 1} | WORK | REST),
    "queued_with_plan": Course(WORK | REST),
    "planning": Course({"plan": 1} | WORK | REST, lost=1),
    "plan_rejected": Course({"plan": 3} | WORK | REST, ("plan",), lost=1),
    "planned": Course(WORK | REST),
    "waiting_to_plan": Course({"plan": 1} | WORK | REST, ("plan",)),
    "waited_once": Course({"plan": 1} | WORK | REST, ("plan",), lost=1),
    "waiting_to_work": Course(WORK | REST, tuple(WORK)),
    "owner_died": Course(WORK | REST, lost=2),
    "taken_over_once": Course({"work:researcher": 1} | REST, lost=1),
    "handed_back": Course({"work:analyst": 3} | REST, ("work:analyst",), repeats=("put_record",)),
    "tools_under_way": Course({"work:researcher": 3, "work:analyst": 3} | REST, tuple(WORK), repeats=("look_up",)),
    "idempotent_tool_under_way": Course({"work:analyst": 3} | REST, ("work:analyst",), repeats=("put_record",)),
    "call_after_tools": Course({"work:analyst": 3} | REST, ("work:analyst",), lost=1),
    "turn_paused": Course({"work:researcher": 2} | REST, ("work:researcher",), lost=1),
    "reply_cut": Course({"work:researcher": 1} | REST, ("work:researcher",), lost=1),
    "call_to_be_repeated": Course({"work:researcher": 1} | REST, ("work:researcher",)),
    "result_rejected": Course({"work:researcher": 3} | REST, ("work:researcher",), lost=1),
    "escalated": Course({"rule": 1, "work:researcher": 1} | REST, lost=1),
    "attempt_to_be_repeated": Course({"work:researcher": 1} | REST),
    "refinement_pending": Course({"refine": 1, "work:researcher": 1} | REST, lost=1),
    "refined": Course({"work:researcher": 1} | REST),
    "second_attempt_under_way": Course({"work:researcher": 1} | REST, lost=1),
    "task_failed": Course({"work:researcher": 1, "synthesize": 1}, lost=1, end=("partial", "gaps")),
    "tasks_ended": Course({"synthesize": 1}, lost=1),
    "synthesis_rejected": Course({"synthesize": 3}, ("synthesize",), lost=1),
    "synthesized": Course({}),
    "cancel_requested": Course({}, lost=1, end=("cancelled", "cancelled")),
    "cancel_requested_while_planning": Course({}, lost=1, end=("cancelled", "cancelled")),
}
ENDED = {
    "succeeded",
    "succeeded_alone",
    "succeeded_eventful",
    "free_form",
    "partial",
    "partial_without_answer",
    "failed_at_work",
    "failed_in_planning",
    "cancelled",
    "cancelled_in_the_queue",
}


@pytest.fixture(scope="module")
def outcomes(databases_of_0_1: Databases, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mapping[str, Outcome]]:
    """What becomes of the runs that had not ended, when a service of today finds all of them in its database."""
    with databases_of_0_1.fresh() as url:
        ledger = Ledger(tmp_path_factory.mktemp("tools") / "ledger")
        yield asyncio.run(outcomes_of({name: left_run(name) for name in UNFINISHED}, url, ledger))


def test_every_file_is_tried() -> None:
    assert {file.stem for file in RELEASE_0_1.glob("*.json")} == UNFINISHED.keys() | ENDED


@pytest.mark.parametrize("name", UNFINISHED)
def test_a_run_goes_on_where_it_stood_and_nothing_finished_is_asked_again(
    outcomes: Mapping[str, Outcome], name: str
) -> None:
    course, outcome = UNFINISHED[name], outcomes[name]

    assert (outcome.row["status"], outcome.row["stop_reason"]) == course.end
    asked = [(seen.role, len(seen.body["messages"])) for seen in outcome.requests]
    assert sorted(asked) == sorted(course.asked.items())
    on_record = [(opening["system"], opening["message"]) for opening in outcome.left.openings]
    assert {seen.role for seen in outcome.requests if opening_of(seen) in on_record} == set(course.goes_on)


@pytest.mark.parametrize("name", UNFINISHED)
def test_what_was_lost_is_counted_and_what_was_recorded_stays(outcomes: Mapping[str, Outcome], name: str) -> None:
    course, outcome = UNFINISHED[name], outcomes[name]
    left, known = outcome.left, len(outcome.left.events)

    assert [event["data"] for event in outcome.log[:known]] == [event["data"] for event in left.events]
    resumed = [event["data"] for event in outcome.log[known:] if event["type"] == "run.resumed"]
    assert sum(each["lost_calls"] for each in resumed) == course.lost
    counted = outcome.row["usage"]["llm_calls"] - left.row["usage"]["llm_calls"]
    assert counted == course.lost + len(outcome.requests)


@pytest.mark.parametrize("name", UNFINISHED)
def test_a_tool_runs_again_only_where_that_is_harmless_and_under_its_key(
    outcomes: Mapping[str, Outcome], name: str
) -> None:
    on_record = {call["name"]: call["key"] for call in outcomes[name].left.of_type("tool.started")}

    ran = {effect.tool: effect.key for effect in outcomes[name].effects}
    assert ran == {tool: on_record[tool] for tool in UNFINISHED[name].repeats}
    assert len(outcomes[name].effects) == len(ran)


@pytest.mark.parametrize("name", UNFINISHED)
async def test_the_rows_at_the_end_are_what_the_log_says(outcomes: Mapping[str, Outcome], name: str) -> None:
    database = Database(outcomes[name].url, pool=2)
    try:
        await check_rows(database, outcomes[name].left.id)
    finally:
        await database.close()


@pytest.mark.parametrize(
    ("name", "role", "type_", "field"),
    [
        ("waiting_to_plan", "plan", "run.waiting", "until"),
        ("waiting_to_work", "work:analyst", "run.waiting", "until"),
        ("call_to_be_repeated", "work:researcher", "llm.failed", "retry_at"),
        ("attempt_to_be_repeated", "work:researcher", "task.retrying", "not_before"),
    ],
)
def test_nobody_is_asked_earlier_than_was_said(
    outcomes: Mapping[str, Outcome], name: str, role: str, type_: str, field: str
) -> None:
    due = datetime.fromisoformat(outcomes[name].left.of_type(type_)[-1][field])

    assert outcomes[name].sent_at(role) >= due


def test_the_model_is_told_what_came_of_the_tools_it_had_called(outcomes: Mapping[str, Outcome]) -> None:
    shown = {
        block["tool_use_id"]: (block["content"], block["is_error"])
        for seen in outcomes["tools_under_way"].requests
        for block in seen.body["messages"][-1]["content"]
        if block["type"] == "tool_result"
    }

    assert shown["toolu_record"] == ("done", False)
    assert shown["toolu_facts"] == ("nothing about the facts", False)
    unknown, is_error = shown["toolu_mail"]
    assert "whether it took effect is not known" in unknown
    assert is_error is True


def test_a_reply_that_was_cut_is_asked_for_with_more_room(outcomes: Mapping[str, Outcome]) -> None:
    outcome = outcomes["reply_cut"]
    [cut] = [call for call in outcome.left.of_type("llm.completed") if call["stop_reason"] == "max_tokens"]

    assert outcome.request_of("work:researcher")["max_tokens"] == 2 * cut["max_tokens"]


def test_a_turn_that_was_paused_is_continued(outcomes: Mapping[str, Outcome]) -> None:
    outcome = outcomes["turn_paused"]
    [paused] = [call for call in outcome.left.of_type("llm.completed") if call["stop_reason"] == "pause_turn"]

    last = outcome.request_of("work:researcher")["messages"][-1]
    assert last == {"role": "assistant", "content": paused["content"]}


def test_the_next_attempt_has_the_instruction_on_record(outcomes: Mapping[str, Outcome]) -> None:
    outcome = outcomes["refined"]
    [refined] = outcome.left.of_type("task.refined")

    opening = outcome.request_of("work:researcher")["messages"][0]["content"][0]["text"]
    assert refined["instruction"] in opening


async def test_a_run_whose_time_ran_out_meanwhile_hands_over_what_it_has(
    database_url: str, services: Services, stub: StubProvider
) -> None:
    left = left_run("taken_over_once", since=timedelta(hours=1))
    put(database_url, left)
    migrate(database_url)

    service = await services.start(poll_seconds=0.1)
    run = await service.ended(left.id)

    assert (run["status"], run["stop_reason"]) == ("partial", "deadline_exceeded")
    assert [output["status"] for output in run["result"]["outputs"]] == ["cancelled", "succeeded", "cancelled"]
    assert stub.log == []


async def test_every_run_is_shown_as_it_was_left(database_url: str, services: Services) -> None:
    left = [left_run(name) for name in (*UNFINISHED, *sorted(ENDED))]
    for run in left:
        put(database_url, run)
    migrate(database_url)
    service = await services.start(engine=False)

    async with client_of(service) as client:
        for run in left:
            await check_rows(service.database, run.id)
            await check_shown(run, client)


@asynccontextmanager
async def client_of(service: Service) -> AsyncIterator[httpx2.AsyncClient]:
    """A client of the service's API."""

    @asynccontextmanager
    async def runtime() -> AsyncIterator[Runtime]:
        yield service.runtime

    app = create_app(runtime, body_limit_bytes=10_000)
    async with (
        app.router.lifespan_context(app),
        httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url="http://api.test") as client,
    ):
        yield client


async def check_shown(left: LeftRun, client: httpx2.AsyncClient) -> None:
    """The run with its plan, tasks, events, requests and replies."""
    path, row = f"/v1/runs/{left.id}", left.row
    run, plan, tasks, trace = [
        (await client.get(path + part)).json() for part in ("", "/plan", "/tasks", "/trace?include=content")
    ]
    fields = ("status", "stop_reason", "result", "error", "cancellation", "usage", "progress", "last_seq")
    assert without_news({name: run[name] for name in fields}) == {name: row[name] for name in fields}
    assert ([plan] if tasks["data"] else []) == [each["plan"] for each in left.rows["plans"]]
    shown = [
        (task["id"], task["status"], without_news(task["output"]), len(task["attempts"])) for task in tasks["data"]
    ]
    tried = Counter(attempt["task_id"] for attempt in left.rows["attempts"])
    assert shown == [
        (task["task_id"], task["status"], task["output"], tried[task["task_id"]]) for task in left.rows["tasks"]
    ]
    assert [event["data"] for event in trace["events"]] == [event["data"] for event in left.events]
    calls = {f"llm:{event['seq']}": event["data"] for event in left.events if event["type"].startswith("llm.")}
    contents = {span["id"]: span["content"] for span in trace["spans"] if "content" in span}
    assert {name: content["reply"] for name, content in contents.items()} == {
        name: call.get("content") for name, call in calls.items()
    }
    assert all(contents[name]["request"]["max_tokens"] == call["max_tokens"] for name, call in calls.items())
